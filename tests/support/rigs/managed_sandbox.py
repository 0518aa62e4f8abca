"""A sandbox without sockets, and managers on it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.errors import ConnectionBroken, DeadlineExceeded, StreamClosed
from handloop.client.resource_client import Client
from handloop.client.transport import Transport
from handloop.controller.foo.access import FOO_ACCESS
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.roles import roles
from handloop_sandbox.server import Sandbox
from support.checks.threads import Background

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"


def post(sandbox: Sandbox, path: str, document: Mapping[str, Any]) -> None:
    """Create an object as the administrator."""
    headers = {"Content-Type": "application/json"}
    made = sandbox.transport().request("POST", path, headers=headers, body=json.dumps(document).encode())
    assert made.status == 201, made.body


def allow_foos(sandbox: Sandbox, user: str, namespace: str = "") -> None:
    """Give a user the role of `manifests rbac --controllers=foo`; in a namespace, "" = everywhere."""
    where = f"{_RBAC}/namespaces/{namespace}/role" if namespace else f"{_RBAC}/clusterrole"
    (made,) = roles(FOO_ACCESS, namespaces=(namespace,) if namespace else ())
    post(sandbox, f"{where}s", made)
    subject = {"kind": "User", "name": user, "apiGroup": "rbac.authorization.k8s.io"}
    reference = {"kind": made["kind"], "name": "handloop", "apiGroup": "rbac.authorization.k8s.io"}
    binding = {"metadata": {"name": "handloop"}, "roleRef": reference, "subjects": [subject]}
    post(sandbox, f"{where}bindings", binding)


class ManagedSandbox:
    """One cluster; `client` is the controllers', `post` acts as another client."""

    def __init__(self, *kinds: type[Kind], lifelike: bool = False) -> None:
        """
        Install CRDs.

        Args: lifelike = with the cluster's own controllers, which work when `sandbox.tick()` is called.
        """
        self.sandbox = Sandbox(token="admin", controllers=None if lifelike else (), seed=1)
        self.stop = threading.Event()
        self.registry = CollectorRegistry()
        self.client = Client(self.transport(), stop=self.stop)
        self.install(*kinds)

    def transport(self) -> Transport:
        """An administrator's way in."""
        made: Transport = self.sandbox.transport(  # type: ignore[assignment] # the same shapes
            token="admin", closed=StreamClosed, silent=DeadlineExceeded, broken=ConnectionBroken
        )
        return made

    def manager(self, **options: Any) -> Manager:
        """The one manager of this cluster's registry."""
        return Manager(self.client, registry=self.registry, **options)

    def post(self, path: str, document: dict[str, Any]) -> None:
        """Create an object."""
        post(self.sandbox, path, document)

    def install(self, *kinds: type[Kind]) -> None:
        """Install CRDs."""
        for kind in kinds:
            self.post(_CRDS, custom_resource_definition(kind))

    def foo(self, name: str, replicas: int = 1, *, deployment: str = "", **metadata: Any) -> None:
        """Create a Foo; its Deployment has its name unless given."""
        head = {"apiVersion": Foo.resource.api_version, "kind": "Foo", "metadata": {"name": name, **metadata}}
        spec = {"deploymentName": deployment or name, "replicas": replicas}
        self.post(Foo.resource.path(namespace="default"), {**head, "spec": spec})

    def namespace(self, name: str) -> None:
        """Create a namespace."""
        self.post("/api/v1/namespaces", {"metadata": {"name": name}})

    def config_map(self, name: str, *, namespace: str = "default", **metadata: Any) -> None:
        """Create a ConfigMap."""
        path = f"/api/v1/namespaces/{namespace}/configmaps"
        self.post(path, {"metadata": {"name": name, **metadata}, "data": {}})

    def metric(self, name: str, **labels: str) -> float:
        """A value of the registry; 0 without one."""
        return self.registry.get_sample_value(name, labels) or 0.0

    @contextmanager
    def running(self, manager: Manager) -> Iterator[Background[None]]:
        """Run a manager for as long as the block lasts."""
        background = Background(lambda: manager.run(self.stop))
        try:
            yield background
        finally:
            self.stop.set()
            background.result()
