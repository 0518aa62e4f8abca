"""
A sandbox without sockets, with kinds installed and managers on it. It is ready in a millisecond.

    sandbox = ManagedSandbox(Greeting)
    manager = sandbox.manager()
    set_up(manager)
    with sandbox.running(manager):
        sandbox.client.resource(Greeting).create(...)
        eventually(lambda: ..., "greeted")

To run a set-up as `main` does, over HTTP and with checks at its end, see running_operator.py.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from prometheus_client import CollectorRegistry

from handloop.apis.converter import conversions_of
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.errors import ConnectionBroken, DeadlineExceeded, StreamClosed
from handloop.client.resource_client import Client
from handloop.client.transport import Transport
from handloop.controller.runtime.manager import Manager
from handloop.testing.manager_thread import ManagerThread
from handloop.testing.running_sandbox import RefusedError
from handloop_sandbox.server import Sandbox

_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_ADMIN: Final = "admin"
_CREATED: Final = 201


class ManagedSandbox:
    """
    A sandbox without sockets, and the managers that run on it.

    Fields: sandbox is the server; client is an administrator's client, which the managers use; registry is
    for the managers' metrics; setting stop shuts down the managers, and ends waits in the client's requests.
    """

    def __init__(self, *kinds: type[Kind], lifelike: bool = False) -> None:
        """
        Create the sandbox, and install the kinds' CRDs.

        Args: lifelike also runs the cluster's own controllers. They work whenever `sandbox.tick()` is called.
        """
        self.sandbox = Sandbox(token=_ADMIN, controllers=None if lifelike else (), seed=1)
        self.stop = threading.Event()
        self.registry = CollectorRegistry()
        self.client = Client(self.transport(), stop=self.stop)
        self.install(*kinds)

    def transport(self) -> Transport:
        """Return an administrator's transport, for another program's client."""
        made: Transport = self.sandbox.transport(  # type: ignore[assignment] # it has the same methods
            token=_ADMIN, closed=StreamClosed, silent=DeadlineExceeded, broken=ConnectionBroken
        )
        return made

    def manager(self, **options: Any) -> Manager:
        """Create a manager with Manager's options. Create only one, because it registers its metrics."""
        return Manager(self.client, registry=self.registry, **options)

    def post(self, path: str, document: Mapping[str, Any]) -> None:
        """Create an object, as JSON. Raises: RefusedError."""
        post(self.sandbox, path, document)

    def install(self, *kinds: type[Kind]) -> None:
        """Install CRDs. Raises: RefusedError."""
        self.sandbox.conversions |= conversions_of(kinds)
        for kind in kinds:
            self.post(_CRDS, custom_resource_definition(kind))

    def namespace(self, name: str) -> None:
        """Create a namespace. Raises: RefusedError."""
        self.post("/api/v1/namespaces", {"metadata": {"name": name}})

    def metric(self, name: str, **labels: str) -> float:
        """Return a metric's value in the registry, or 0 if it has none."""
        return self.registry.get_sample_value(name, labels) or 0.0

    @contextmanager
    def running(self, manager: Manager) -> Iterator[ManagerThread]:
        """Run a manager for the duration of the block. Raises: the same errors as Manager.run."""
        running = ManagerThread(manager, "manager", self.stop)
        running.start()
        try:
            yield running
        finally:
            running.end()


def post(sandbox: Sandbox, path: str, document: Mapping[str, Any]) -> None:
    """Create an object as the administrator. Raises: RefusedError."""
    headers = {"Content-Type": "application/json"}
    made = sandbox.transport().request("POST", path, headers=headers, body=json.dumps(document).encode())
    if made.status != _CREATED:
        raise RefusedError(f"POST {path}: {made.body.decode(errors='replace')}")
