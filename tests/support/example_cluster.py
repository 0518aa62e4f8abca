"""An API server for an example: its kind installed, its operator in this process, its objects by kind."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.config import load_config
from handloop.client.errors import ClientError, NotFound
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.controller import Controller
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.roles import roles
from handloop.sandbox.faults.faults import Faults
from handloop.testing.role_grants import grants, refused
from support.cluster import CRDS, Cluster, RealCluster, SandboxCluster
from support.deadline import until
from support.recording_proxy import RecordingProxy, recording
from support.threads import Background

K = TypeVar("K", bound=Kind)

OURS: Final[dict[str, Any]] = {"user_agent": "handloop/*"}
"""Chooses the operator's requests."""
RESYNC_SECONDS: Final = 1.0
RESYNCS: Final = 3
WORKERS: Final = 2


class ExampleCluster:
    """
    One namespace, with typed objects.

    Threads: the test's. sandbox is None on a real server.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.namespace = cluster.namespace
        self.sandbox = cluster.sandbox if isinstance(cluster, SandboxCluster) else None
        self._cluster = cluster
        self._client = Client(cluster.transport, user_agent="somebody")

    def install(self, kind: type[Kind]) -> None:
        """Define a kind, and wait until it is served."""
        name = f"{kind.resource.plural}.{kind.resource.group}"
        query = {"fieldManager": "tests", "force": "true"}
        document = custom_resource_definition(kind)
        self._cluster.call(
            "PATCH", f"{CRDS}/{name}", document, query=query, content_type="application/apply-patch+yaml"
        )

        def served() -> bool:
            try:
                self.all(kind)
            except ClientError:
                return False
            return True

        self.eventually(served, f"{name} served")

    def create(self, obj: K) -> K:
        """Create an object in the namespace."""
        return self._client.resource(type(obj)).create(obj, namespace=self.namespace)

    def get(self, kind: type[K], name: str) -> K | None:
        """The object of that name, or None."""
        try:
            return self._client.resource(kind).get(name, namespace=self.namespace)
        except NotFound:
            return None

    def all(self, kind: type[K]) -> list[K]:
        """The objects of the namespace, by name."""
        found = self._client.resource(kind).list(self.namespace).items
        return sorted(found, key=lambda obj: obj.metadata.name)

    def patch(self, kind: type[Kind], name: str, **fields: Any) -> None:
        """Merge fields into an object."""
        self._client.resource(kind).patch(name, fields, namespace=self.namespace)

    def delete(self, kind: type[Kind], name: str, *, grace_period_seconds: int | None = None) -> None:
        """Begin to delete an object."""
        self._client.resource(kind).delete(
            name, namespace=self.namespace, grace_period_seconds=grace_period_seconds
        )

    def assert_quiet(self, controller: Controller, *kinds: type[Kind]) -> None:
        """
        Reconcile some more: nothing of these kinds changes, and on the sandbox nothing is written at all.

        The cluster's own controllers may still be at work, so it is tried until the deadline.
        """

        def is_quiet() -> bool:
            before, writes = self._versions(kinds), self._writes()
            succeeded = controller.statistics().succeeded
            self.eventually(lambda: controller.statistics().succeeded >= succeeded + RESYNCS, "resynced")
            return (before, writes) == (self._versions(kinds), self._writes())

        self.eventually(is_quiet, "quiet: nothing written while everything is as wanted")

    def asked(self, verb: str, resource: str) -> int:
        """How many such requests the operator made; on the sandbox."""
        assert isinstance(self._cluster, SandboxCluster)
        asked = self._cluster.trace.asked()
        return sum((each.verb, each.resource) == (verb, resource) for each in asked)

    @property
    def faults(self) -> Faults:
        """The faults of the sandbox."""
        assert self.sandbox is not None
        return self.sandbox.faults

    def _versions(self, kinds: Sequence[type[Kind]]) -> dict[str, str]:
        """The resource versions of the namespace's objects, by UID: any change shows."""
        found = [obj for kind in kinds for obj in self.all(kind)]
        return {obj.metadata.uid: obj.metadata.resource_version for obj in found}

    def _writes(self) -> int:
        return self._cluster.trace.writes() if isinstance(self._cluster, SandboxCluster) else 0

    def eventually(self, look: Callable[[], object], what: str) -> None:
        """Wait until something is true."""
        until(look, what, seconds=self._cluster.seconds)

    def proxy(self) -> AbstractContextManager[RecordingProxy]:
        """A proxy before the server, for an operator."""
        return recording("operator", self._cluster.transport)

    @contextmanager
    def operator(
        self, set_up: Callable[[Manager], object], *, kubeconfig: Path | None = None
    ) -> Iterator[Controller]:
        """Run an operator of one controller for as long as the block lasts. kubeconfig may be a proxy's."""
        config = load_config(kubeconfig=str(kubeconfig or self._cluster.kubeconfig))
        stop = threading.Event()
        with closing(HTTPTransport(config, request_seconds=5.0, read_seconds=2.0)) as transport:
            manager = Manager(
                Client(transport, stop=stop),
                namespaces=(self.namespace,),
                max_concurrent_reconciles=WORKERS,
                resync_seconds=RESYNC_SECONDS,
            )
            set_up(manager)
            running = Background(lambda: manager.run(stop))
            try:
                (controller,) = manager.runnables().values()
                yield cast("Controller", controller)
            finally:
                stop.set()
                running.result()
            self._assert_declared(manager)

    def _assert_declared(self, manager: Manager) -> None:
        """The roles of the operator allow all that it asked for; known on the sandbox."""
        if isinstance(self._cluster, SandboxCluster):
            asked = [
                one for one in self._cluster.trace.asked() if one.resource != "customresourcedefinitions"
            ]
            assert not refused(asked, list(grants(roles(manager.access()))))

    def release(self, kind: type[Kind]) -> None:
        """Let the objects of a kind go without their operator, so that the namespace can go."""
        for obj in self.all(kind):
            self.patch(kind, obj.metadata.name, metadata={"finalizers": None})


@contextmanager
def example_cluster(server: str, folder: Path, kind: type[Kind]) -> Iterator[ExampleCluster]:
    """
    A cluster with a kind.

    Args: server is "sandbox", or "real" for the one that TEST_KUBECONFIG names; skips the test without it.
    """
    if server == "real" and not os.environ.get("TEST_KUBECONFIG"):
        pytest.skip("TEST_KUBECONFIG names no cluster")
    real = server == "real"
    with closing(
        RealCluster(Path(os.environ["TEST_KUBECONFIG"])) if real else SandboxCluster(folder)
    ) as cluster:
        example = ExampleCluster(cluster)
        example.install(kind)
        try:
            yield example
        finally:
            example.release(kind)
