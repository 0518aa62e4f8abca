"""
Whether every status that a MyApp ever showed was true.

Each version of each MyApp and Deployment is watched. A status must report a Deployment as it was at one
moment before the status was written, never of an earlier moment than the status before it; what it claims
about it must hold there. A Deployment that is not controlled by that very MyApp, by UID, counts as none.
Versions are compared across kinds, which one store behind the server allows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NamedTuple

from support.rigs.myapp_story import MyApps, container_of, statuses
from support.servers.api_server import APIServer, Watch, endpoint_of
from support.servers.cluster import Cluster, Object, RealCluster

NO_DEPLOYMENT: Final[Object] = {"metadata": {}, "spec": {"replicas": 0}, "status": {}}
_COUNT: Final = re.compile(r"Ready replicas: (\d+)/(\d+)")


class Version(NamedTuple):
    """An object from a moment on; None = it was gone."""

    number: int
    obj: Object


class Observed:
    """Everything that was watched in a namespace."""

    def __init__(self, cluster: Cluster, apps: Watch, deployments: Watch) -> None:
        self._cluster = cluster
        self._apps = apps
        self._deployments = deployments

    def check(self, version: str) -> int:
        """
        Compare all statuses up to a resource version of a MyApp, which has to be seen.

        Returns: how many statuses there were. Raises: AssertionError for an untrue one.
        """
        self._apps.until(partial(_reach, version=int(version)))
        # a stream of its own, which may be behind: its events up to then are there
        deployments_now = self._cluster.list(self._cluster.deployments).values()
        self._deployments.until(partial(_reach, version=max(map(_number, deployments_now), default=0)))
        apps = _by_name(self._apps.events)
        deployments = _by_name(self._deployments.events)
        return sum(
            _check(name, versions, deployments.get(name, [])) for name, versions in sorted(apps.items())
        )


@contextmanager
def observing(cluster: Cluster, myapps: MyApps) -> Iterator[Observed]:
    """Watch MyApps and Deployments from here on."""
    server = APIServer(endpoint_of(cluster.kubeconfig), real=isinstance(cluster, RealCluster))
    version = cluster.call("GET", cluster.deployments)["metadata"]["resourceVersion"]
    query = f"watch=1&timeoutSeconds=300&resourceVersion={version}"
    with (
        server.watch(f"{myapps.apps}?{query}") as apps,
        server.watch(f"{cluster.deployments}?{query}") as deployments,
    ):
        yield Observed(cluster, apps, deployments)


def _reach(events: Sequence[Object], *, version: int) -> bool:
    return max((_number(event["object"]) for event in events), default=0) >= version


def _by_name(events: Sequence[Object]) -> dict[str, list[Version]]:
    found: dict[str, list[Version]] = {}
    for event in list(events):
        if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
            obj = event["object"]
            gone = event["type"] == "DELETED"
            version = Version(_number(obj), {**NO_DEPLOYMENT, "gone": True} if gone else obj)
            found.setdefault(obj["metadata"]["name"], []).append(version)
    return found


def _number(obj: Object) -> int:
    return int(obj["metadata"]["resourceVersion"])


def _check(name: str, versions: Sequence[Version], deployments: Sequence[Version]) -> int:
    specs: dict[int, Object] = {}
    last: Object = {}
    at, count = 0, 0
    seen = [Version(0, NO_DEPLOYMENT), *deployments]
    for number, app in versions:
        if app.get("gone"):
            specs, last = {}, {}
            continue
        specs[app["metadata"]["generation"]] = app["spec"]
        status = app.get("status") or {}
        if status == last or "conditions" not in status:  # a new one
            continue
        _check_itself(name, status, last, going="deletionTimestamp" in app["metadata"])
        spec, uid = specs[status["observedGeneration"]], app["metadata"]["uid"]
        possible = {i: _of(uid, seen[i].obj) for i in range(at, len(seen)) if seen[i].number < number}
        fitting = [i for i, deployment in possible.items() if _tells_of(status, spec, deployment)]
        shown = [_counts(deployment) for deployment in possible.values()]
        assert fitting, f"{name} at {number} says {status} of {spec}; its Deployment was {shown}"
        at, last, count = fitting[0], status, count + 1
    return count


def _check_itself(name: str, status: Object, last: Object, *, going: bool) -> None:
    """Invariants between the parts of a status, and between it and the one before."""
    reasons = {condition["type"]: condition["reason"] for condition in status["conditions"]}
    conditions = statuses(status)
    assert conditions.keys() == {"Ready", "Progressing", "Degraded"}, (name, status)
    if conditions["Ready"] == "True":
        assert (conditions["Progressing"], conditions["Degraded"]) == ("False", "False"), (name, status)
    elif reasons["Ready"] == "Deleting":
        assert going, (name, status)
        assert conditions["Progressing"] == "False", (name, status)
    else:
        assert "True" in (conditions["Progressing"], conditions["Degraded"]), (name, status)
    generations = {condition["observedGeneration"] for condition in status["conditions"]}
    assert generations == {status["observedGeneration"]}, (name, status)
    without_time = [{**each, "lastUpdateTime": ""} for each in (status, last)]
    assert without_time[0] != without_time[1], (name, status, last)


def _of(uid: str, deployment: Object) -> Object:
    """The Deployment if it is that of the MyApp with this UID."""
    owners = deployment["metadata"].get("ownerReferences") or ()
    return deployment if any(o["uid"] == uid and o.get("controller") for o in owners) else NO_DEPLOYMENT


def _tells_of(status: Object, spec: Object, deployment: Object) -> bool:
    counts = _counts(deployment)
    if (status.get("readyReplicas", 0), status.get("availableReplicas", 0)) != (
        counts["readyReplicas"],
        counts["availableReplicas"],
    ):
        return False
    said = {c["type"]: c["message"] for c in status["conditions"]}
    match = _COUNT.match(said["Progressing"])
    if match and (int(match[1]), int(match[2])) != (counts["readyReplicas"], counts["wanted"]):
        return False
    claims, is_up = statuses(status), _is_up(spec, deployment, counts)
    if claims["Ready"] == "True":
        return is_up
    # a MyApp that is up is Progressing only while it waits for something else, which it reports
    return claims["Progressing"] == "False" or not is_up or "; " in said["Progressing"]


def _is_up(spec: Object, deployment: Object, counts: dict[str, int]) -> bool:
    """Whether a Deployment runs this very spec with all its replicas, and no others."""
    if deployment.get("gone") or "uid" not in deployment["metadata"]:
        return False
    seen = deployment["status"].get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    alike = {counts[name] for name in ("replicas", "updatedReplicas", "readyReplicas", "wanted")}
    scaled = (spec.get("autoScaling") or {}).get("enabled", False)
    container = container_of(deployment)
    return (
        seen
        and len(alike) == 1
        and (scaled or counts["wanted"] == spec["replicas"])
        and container["image"] == spec["image"]
        and {port["name"]: port["containerPort"] for port in container["ports"]}["http"] == spec["port"]
        and [v["name"] for v in container.get("env", [])] == [v["name"] for v in spec.get("env", [])]
    )


def _counts(deployment: Object) -> dict[str, int]:
    status: dict[str, Any] = deployment.get("status") or {}
    names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    return {name: status.get(name, 0) for name in names} | {"wanted": deployment["spec"]["replicas"]}
