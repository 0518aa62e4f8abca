"""What people see of a MyApp, from the API server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Service
from handloop.apis.crd import custom_resource_definition
from handloop.controller.myapp.types import MyApp
from handloop.testing.eventually import eventually as until
from support.servers.cluster import CRDS, INSTALL_SECONDS, Cluster, Object, Objects, RequestRefusedError

READY: Final = {"Ready": "True", "Progressing": "False", "Degraded": "False"}


class MyApps:
    """MyApps and their children in the namespace of a cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.apps = MyApp.resource.path(namespace=cluster.namespace)
        self.services = Service.resource.path(namespace=cluster.namespace)
        self.autoscalers = HorizontalPodAutoscaler.resource.path(namespace=cluster.namespace)

    def install(self) -> None:
        """Put the definition in place and wait until the server goes by it."""
        definition = custom_resource_definition(MyApp)
        path = f"{CRDS}/{definition['metadata']['name']}"
        try:
            before = self.cluster.call("GET", path)
        except RequestRefusedError:
            self.cluster.create(CRDS, definition)
        else:
            if before["spec"]["versions"][0]["schema"] != definition["spec"]["versions"][0]["schema"]:
                metadata = definition["metadata"] | {"resourceVersion": before["metadata"]["resourceVersion"]}
                self.cluster.call("PUT", path, definition | {"metadata": metadata})
        until(self._is_served, "MyApps served as defined", seconds=INSTALL_SECONDS)

    def create(self, name: str, **spec: Any) -> Object:
        """Create a MyApp; its image is nginx:1 unless given."""
        obj = {
            "apiVersion": "example.com/v1",
            "kind": "MyApp",
            "metadata": {"name": name},
            "spec": {"image": "nginx:1", **spec},
        }
        return self.cluster.create(self.apps, obj)

    def change(self, name: str, **spec: Any) -> Object:
        """Change fields of a spec; None removes one."""
        return self.cluster.change(self.apps, name, {"spec": spec})

    def wait_status(self, name: str, condition: Callable[[Object], object], what: str) -> Object:
        """Wait for a status of the spec as it is for which a condition is true; returns the MyApp."""

        def is_so(apps: Objects) -> bool:
            app = apps.get(name)
            if app is None or "status" not in app:
                return False
            current = app["status"]["observedGeneration"] == app["metadata"]["generation"]
            return bool(current and condition(app["status"]))

        return self.cluster.wait(self.apps, is_so, f"{name} {what}")[name]

    def wait_ready(self, name: str, replicas: int) -> Object:
        """Wait until the status of a MyApp shows that it is up with so many."""
        return self.wait_status(
            name,
            lambda status: statuses(status) == READY and status["readyReplicas"] == replicas,
            f"ready with {replicas}",
        )

    def wait_degraded(self, name: str, words: str) -> Object:
        """Wait until the status of a MyApp is Degraded, with these words."""
        return self.wait_status(name, lambda status: words in degraded(status), f"degraded with {words!r}")

    def wait_service(self, name: str, condition: Callable[[Object], object], what: str) -> Object:
        """Wait until the spec of a Service is so; returns it."""
        found = self.cluster.wait(
            self.services, lambda services: name in services and condition(services[name]["spec"]), what
        )
        spec: Object = found[name]["spec"]
        return spec

    def wait_container(self, name: str, condition: Callable[[Object], object], what: str) -> Object:
        """Wait until the container of a Deployment is so; returns the Deployment."""
        collection = self.cluster.deployments
        return self.cluster.wait(
            collection, lambda found: name in found and condition(container_of(found[name])), what
        )[name]

    def scale(self, name: str, replicas: int) -> None:
        """Scale a Deployment through its scale subresource, as an autoscaler does."""
        path = f"{self.cluster.deployments}/{name}"
        self.cluster.change(path, "scale", {"spec": {"replicas": replicas}})

    def _is_served(self) -> bool:
        """Whether a dry run gets the defaults of the schema."""
        probe = {
            "apiVersion": "example.com/v1",
            "kind": "MyApp",
            "metadata": {"name": "probe"},
            "spec": {"image": "nginx"},
        }
        try:
            kept = self.cluster.call("POST", self.apps, probe, query={"dryRun": "All"})
            # refused until the server's cache of the changed kind is filled
            self.cluster.call("GET", self.apps)
        except RequestRefusedError:
            return False
        return bool(kept["spec"].get("port") == 8080)


def statuses(status: Object) -> dict[str, str]:
    """The status of each condition by its type."""
    return {condition["type"]: condition["status"] for condition in status.get("conditions", ())}


def degraded(status: Object) -> str:
    """Why it is Degraded, "" when it is not."""
    found = [
        c["message"] for c in status.get("conditions", ()) if (c["type"], c["status"]) == ("Degraded", "True")
    ]
    return found[0] if found else ""


def container_of(deployment: Object) -> Object:
    """The container that a MyApp is about."""
    containers = deployment["spec"]["template"]["spec"]["containers"]
    found: Object = next(container for container in containers if container["name"] == "app")
    return found
