"""MyApps in the middle of their lives, and objects in their way."""

from __future__ import annotations

from typing import Any, Final

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Service
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.testing.eventually import eventually
from support.rigs.managed_sandbox import ManagedSandbox
from support.rigs.myapp_rig import CRDS, NAMESPACE, MyAppRig, Object
from support.rigs.myapp_rig import app as new_app

CHILDREN: Final[tuple[type[Kind], ...]] = (Deployment, Service, HorizontalPodAutoscaler)
SCALING: Final = {"enabled": True, "minReplicas": 2, "maxReplicas": 6}
READY: Final = {
    "Ready": ("True", "DeploymentReady"),
    "Progressing": ("False", "ReconcileSuccess"),
    "Degraded": ("False", "ReconcileSuccess"),
}
DELETING: Final = dict.fromkeys(("Ready", "Progressing", "Degraded"), ("False", "Deleting"))
FULL: Final[Object] = {
    "env": [
        {"name": "PLAIN", "value": "x"},
        {"name": "EMPTY"},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
        {"name": "SETTING", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
    ],
    "resources": {
        "requests": {"cpu": "0.1", "memory": "0.5Gi"},
        "limits": {"cpu": "1000m", "memory": "1024Mi"},
    },
    "serviceType": "NodePort",
    "autoScaling": SCALING,
}


def with_sources(rig: MyAppRig) -> None:
    """The Secret and the ConfigMap that FULL reads."""
    rig.call(
        "POST", f"/api/v1/namespaces/{NAMESPACE}/secrets", {"metadata": {"name": "s"}, "data": {"k": "eA=="}}
    )
    rig.call(
        "POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", {"metadata": {"name": "c"}, "data": {"k": "x"}}
    )


def settled(**spec: Any) -> MyAppRig:
    """A rig with a MyApp whose children are up."""
    rig = MyAppRig()
    with_sources(rig)
    rig.create_app(**spec)
    rig.settle()
    rig.events()
    return rig


def new_owner(rig: MyAppRig, name: str) -> Object:
    """The reference of a ConfigMap that owns things."""
    path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
    uid = rig.call("POST", path, {"metadata": {"name": name}})["metadata"]["uid"]
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "controller": True}


def somebodys(kind: type[Kind], owner: Object | None = None, *, name: str = "a") -> Object:
    """An object of that name that is not the MyApp's."""
    labels = {"app": "theirs"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "theirs:1"}]}}
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "theirs"}
    specs: dict[type[Kind], Object] = {
        Deployment: {"replicas": 1, "selector": {"matchLabels": labels}, "template": template},
        Service: {"selector": labels, "ports": [{"port": 1}]},
        HorizontalPodAutoscaler: {"scaleTargetRef": target, "maxReplicas": 2},
    }
    references = {"ownerReferences": [owner]} if owner else {}
    return {
        "apiVersion": kind.resource.api_version,
        "kind": kind.resource.kind,
        "metadata": {"name": name, **references},
        "spec": specs[kind],
    }


def container_of(deployment: Object) -> Object:
    """Its only container."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    found: Object = container
    return found


def older_definition() -> Object:
    """The definition without defaults and rules, as an earlier release might have had it."""
    definition = custom_resource_definition(MyApp)
    version = definition["spec"]["versions"][0]
    version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return definition


class Managed:
    """The controller in a manager, on a sandbox where the test plays the Deployment controller."""

    def __init__(self, definition: Object, **options: Any) -> None:
        """Args: options are the manager's."""
        self.cluster = ManagedSandbox()
        self.cluster.post(CRDS, definition)
        self.manager = self.cluster.manager(**options)
        self.controller = add_myapp(self.manager, workers=2)
        self.apps = self.cluster.client.resource(MyApp)
        self.deployments = self.cluster.client.resource(Deployment)

    def create_app(self, name: str, **spec: Any) -> None:
        """Create a MyApp."""
        self.cluster.post(MyApp.resource.path(namespace=NAMESPACE), new_app(name, **spec))

    def wait_deployment(self, name: str = "a") -> None:
        """Wait for the Deployment of a MyApp."""
        eventually(lambda: name in [found.metadata.name for found in self.deployments.list().items], name)

    def wait_ready_replicas(self, count: int) -> None:
        """Wait until MyApp a has so many."""
        eventually(
            lambda: self.apps.get("a", namespace=NAMESPACE).status.ready_replicas == count, f"{count} ready"
        )
