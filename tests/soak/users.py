"""The users of a soak, who create and change Foos and MyApps, and edit the program's objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from soak.plan import FOREIGN, Change
from support.rigs.myapp_story import MyApps, container_of, statuses
from support.servers.cluster import Cluster, Object, Objects, RequestRefusedError, foo, nobodys_deployment

EDITED: Final = "soak.example.com/edit"
_LEAST, _MOST = 1, 4
_ABSENT: Final = (": 404", ": 409")


class Users:
    """
    Carries out users' changes.

    State: done, how many changes of each sort the server accepted. Changes of objects that do not exist yet
    are not counted. Threads: used by one only.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.apps = MyApps(cluster)
        self.done: Counter[str] = Counter()
        self._scaled: set[str] = set()
        for name in FOREIGN:
            cluster.create(cluster.deployments, nobodys_deployment(name))

    def do(self, change: Change) -> None:
        """
        Carry out one change.

        Raises: RequestRefusedError if the server refuses it, except with a 404 or 409.
        """
        try:
            getattr(self, f"_{change.what.replace('-', '_')}")(change.name, change.number)
        except RequestRefusedError as error:
            if not any(code in str(error) for code in _ABSENT):
                raise
        else:
            self.done[change.what] += 1

    def delete_all(self) -> None:
        """Delete all of the users' objects, and wait until their children are deleted, too."""
        for collection in (self.cluster.foos, self.apps.apps):
            self.cluster.call("DELETE", collection)
        for collection in (self.cluster.foos, self.apps.apps, self.apps.services, self.apps.autoscalers):
            self.cluster.wait(collection, lambda found: not found, f"{collection} empty")
        for name in FOREIGN:
            self.cluster.delete(self.cluster.deployments, name)
        self.cluster.wait(self.cluster.deployments, lambda found: not found, "Deployments gone")

    def unsettled(self) -> list[str]:
        """Return sentences on the objects that are not in their final state."""
        cluster, apps = self.cluster, self.apps
        kinds = (cluster.foos, apps.apps, cluster.deployments, apps.services, apps.autoscalers)
        return list(differences(*map(cluster.list, kinds)))

    def counts(self) -> dict[str, int]:
        """Return how many objects the server has, by plural."""
        cluster, apps = self.cluster, self.apps
        kinds = (cluster.foos, apps.apps, cluster.deployments, apps.services, apps.autoscalers)
        return {kind.rpartition("/")[2]: len(cluster.list(kind)) for kind in kinds}

    def _create(self, name: str, number: int) -> None:
        if _is_foo(name):
            self.cluster.create(self.cluster.foos, foo(name, {"deploymentName": name, "replicas": 1}))
        else:
            self.apps.create(name, replicas=1 + number % 2)
            self._scaled.discard(name)

    def _change(self, name: str, number: int) -> None:
        if _is_foo(name):
            self.cluster.change(self.cluster.foos, name, {"spec": {"replicas": 1 + number % 3}})
        elif number % 3:
            self.apps.change(name, **({"port": 8000 + number}, {"replicas": 1 + number % 4})[number % 2])
        else:
            wanted = name not in self._scaled
            self.apps.change(
                name, autoScaling={"enabled": wanted, "minReplicas": _LEAST, "maxReplicas": _MOST}
            )
            (self._scaled.add if wanted else self._scaled.discard)(name)

    def _delete(self, name: str, _: int) -> None:
        self.cluster.delete(self.cluster.foos if _is_foo(name) else self.apps.apps, name)

    def _label(self, name: str, number: int) -> None:
        services = not _is_foo(name) and number % 2
        collection = self.apps.services if services else self.cluster.deployments
        self.cluster.change(collection, name, {"metadata": {"labels": {EDITED: str(number)}}})

    def _scale(self, name: str, number: int) -> None:
        """Scale a Deployment, as an autoscaler does, or as a drift that the program must repair."""
        self.apps.scale(name, _LEAST + number % _MOST)

    def _delete_child(self, name: str, _: int) -> None:
        if name not in FOREIGN:
            self.cluster.delete(self.cluster.deployments, name)


def _is_foo(name: str) -> bool:
    return name.startswith("foo")


def differences(
    foos: Objects, apps: Objects, deployments: Objects, services: Objects, autoscalers: Objects
) -> Iterator[str]:
    """Yield a sentence for each object in five collections that is missing, left over or wrong."""
    scaled = {name for name, app in apps.items() if (app["spec"].get("autoScaling") or {}).get("enabled")}
    expected = (
        ("Deployment", deployments, {*foos, *apps, *FOREIGN}),
        ("Service", services, set(apps)),
        ("HorizontalPodAutoscaler", autoscalers, scaled),
    )
    for kind, found, names in expected:
        yield from (f"{kind} {name} is missing" for name in sorted(names - found.keys()))
        yield from (f"{kind} {name} is left over" for name in sorted(found.keys() - names))
        for name in found.keys() & names - set(FOREIGN):
            owner = (foos if _is_foo(name) else apps).get(name, {"metadata": {"uid": ""}})
            if _owners(found[name]) != [owner["metadata"]["uid"]]:
                yield f"{kind} {name} is of another owner"
    for name in set(foos) - set(FOREIGN) & deployments.keys():
        yield from _differs(f"Foo {name}", _of_foo(foos[name], deployments.get(name, {})))
    for name in apps.keys() & deployments.keys() & services.keys():
        pairs = _of_app(apps[name], deployments[name], services[name], is_scaled=name in scaled)
        yield from _differs(f"MyApp {name}", pairs)


def _owners(obj: Object) -> list[str]:
    return [owner["uid"] for owner in obj["metadata"].get("ownerReferences", ())]


def _differs(what: str, pairs: Mapping[str, tuple[Any, Any]]) -> Iterator[str]:
    return (
        f"{what}: {name} is {is_} instead of {wanted}"
        for name, (is_, wanted) in pairs.items()
        if is_ != wanted
    )


def _of_foo(obj: Object, deployment: Object) -> Mapping[str, tuple[Any, Any]]:
    wanted = obj["spec"]["replicas"]
    return {
        "replicas": (deployment.get("spec", {}).get("replicas"), wanted),
        "status": (obj.get("status", {}).get("availableReplicas"), wanted),
    }


def _of_app(
    app: Object, deployment: Object, service: Object, *, is_scaled: bool
) -> Mapping[str, tuple[Any, Any]]:
    spec, status = app["spec"], app.get("status", {})
    port = {"containerPort": spec["port"], "name": "http"}
    return {
        "observed generation": (status.get("observedGeneration"), app["metadata"]["generation"]),
        "Ready": (statuses(status).get("Ready"), "True"),
        "replicas": (is_scaled or deployment["spec"]["replicas"], is_scaled or spec["replicas"]),
        "container's port": (
            {**port, **container_of(deployment)["ports"][0], "protocol": ""},
            port | {"protocol": ""},
        ),
        "Service's port": (service["spec"]["ports"][0]["port"], spec["port"]),
    }
