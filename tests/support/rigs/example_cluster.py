"""An API server for an example: its kind installed, its operator in this process, its objects by kind."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.config import load_config
from handloop.client.errors import ClientError, NotFound
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.roles import roles
from handloop.controller.runtime.reconciling.controller import Controller, ControllerOptions
from handloop.informers.informer_options import InformerOptions
from handloop.testing.eventually import eventually as until
from handloop.testing.request_trace import RequestTrace
from handloop.testing.role_grants import grants, refused
from handloop_sandbox.faults.faults import Faults
from support.checks.threads import Background
from support.doubles.held_watches import HeldWatches
from support.servers.cluster import CRDS, Cluster, RealCluster, SandboxCluster
from support.servers.turns import real_kubeconfig

K = TypeVar("K", bound=Kind)

OURS: Final[dict[str, Any]] = {"user_agent": "handloop/*"}
"""Chooses the operator's requests."""
LONGEST_LAG_SECONDS: Final = 60.0
RESYNC_SECONDS: Final = 1.0
RESYNCS: Final = 3
WORKERS: Final = 2


class ExampleCluster:
    """
    One namespace, with typed objects.

    Only the test's thread uses it. sandbox is None on a real server. client is
    an administrator's. watches are those of the operator that runs.
    """

    watches: HeldWatches

    def __init__(self, cluster: Cluster) -> None:
        self.namespace = cluster.namespace
        self.kubeconfig = cluster.kubeconfig
        self.sandbox = cluster.sandbox if isinstance(cluster, SandboxCluster) else None
        self._trace = cluster.trace if isinstance(cluster, SandboxCluster) else None
        self._cluster = cluster
        self.client = Client(cluster.transport, user_agent="somebody")

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
        return self.client.resource(type(obj)).create(obj, namespace=self.namespace)

    def get(self, kind: type[K], name: str) -> K | None:
        """The object of that name, or None."""
        try:
            return self.client.resource(kind).get(name, namespace=self.namespace)
        except NotFound:
            return None

    def all(self, kind: type[K]) -> list[K]:
        """The objects of the namespace, by name."""
        found = self.client.resource(kind).list(self.namespace).items
        return sorted(found, key=lambda obj: obj.metadata.name)

    def patch(self, kind: type[Kind], name: str, **fields: Any) -> None:
        """Merge fields into an object."""
        self.client.resource(kind).patch(name, fields, namespace=self.namespace)

    def delete(self, kind: type[Kind], name: str, *, grace_period_seconds: int | None = None) -> None:
        """Begin to delete an object."""
        self.client.resource(kind).delete(
            name, namespace=self.namespace, grace_period_seconds=grace_period_seconds
        )

    def assert_quiet(self, controller: Controller, *kinds: type[Kind]) -> None:
        """Reconcile some more; as assert_quiet_while."""
        self.assert_quiet_while(lambda: controller.statistics().succeeded, *kinds)

    def assert_quiet_while(self, reconciled: Callable[[], float], *kinds: type[Kind]) -> None:
        """
        While some more is reconciled nothing of these kinds changes, and on the sandbox nothing is written.

        The cluster's own controllers may still be at work, so it is tried until the deadline.
        """

        def is_quiet() -> bool:
            before, writes = self._versions(kinds), self._writes()
            enough = reconciled() + RESYNCS
            self.eventually(lambda: reconciled() >= enough, "resynced")
            return (before, writes) == (self._versions(kinds), self._writes())

        self.eventually(is_quiet, "quiet: nothing written while everything is as wanted")

    def asked(self, verb: str, resource: str) -> int:
        """How many such requests the operator made; on the sandbox."""
        assert self._trace is not None
        asked = self._trace.asked()
        return sum((each.verb, each.resource) == (verb, resource) for each in asked)

    def asked_in_all(self) -> int:
        """How many requests the operator made; on the sandbox."""
        assert self._trace is not None
        return len(self._trace.asked())

    def follow(self, user_agent: str) -> None:
        """From now on count the requests of a program of that name, in place of the operator's."""
        if self.sandbox is not None:
            self._trace = RequestTrace(self.sandbox.engine, self.sandbox.token, user_agent=user_agent)

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
        return self._trace.writes() if self._trace is not None else 0

    def eventually(self, look: Callable[[], object], what: str) -> None:
        """Wait until something is true."""
        until(look, what, seconds=self._cluster.seconds)

    @contextmanager
    def operator(self, set_up: Callable[[Manager], object], *, read_seconds: float = 2.0) -> Iterator[Any]:
        """
        Run an operator of one controller, or one runnable, for as long as the block lasts.

        Args: read_seconds of silence, and a watch is opened again.
        """
        config = load_config(kubeconfig=str(self._cluster.kubeconfig))
        stop = threading.Event()
        with closing(HTTPTransport(config, request_seconds=5.0, read_seconds=read_seconds)) as transport:
            self.watches = HeldWatches(transport)
            manager = Manager(
                Client(self.watches, stop=stop),
                namespaces=(self.namespace,),
                informer_options=InformerOptions(resync_seconds=RESYNC_SECONDS),
                controller_options=ControllerOptions(max_concurrent_reconciles=WORKERS),
            )
            set_up(manager)
            for runnable in manager.runnables().values():
                if isinstance(runnable, Controller):
                    # after this time it goes on without its own writes: later than any lag on a busy machine
                    runnable._writes.own_writes._timeout_seconds = LONGEST_LAG_SECONDS
            running = Background(lambda: manager.run(stop))
            try:
                (controller,) = manager.runnables().values()
                yield controller
            finally:
                self.watches.hold()
                stop.set()
                running.result()
            self._assert_declared(manager)

    def _assert_declared(self, manager: Manager) -> None:
        """The roles of the operator allow all that it asked for; known on the sandbox."""
        if self._trace is not None:
            asked = [one for one in self._trace.asked() if one.resource != "customresourcedefinitions"]
            assert not refused(asked, list(grants(roles(manager.access()))))

    def release(self, kind: type[Kind]) -> None:
        """Let the objects of a kind go without their operator, so that the namespace can go."""
        for obj in self.all(kind):
            self.patch(kind, obj.metadata.name, metadata={"finalizers": None})


@contextmanager
def example_cluster(server: str, folder: Path, *kinds: type[Kind]) -> Iterator[ExampleCluster]:
    """
    A cluster with some kinds.

    Args: server is "sandbox", or "real" for the one that TEST_KUBECONFIG names; skips the test without it.
    """
    with closing(RealCluster(real_kubeconfig()) if server == "real" else SandboxCluster(folder)) as cluster:
        example = ExampleCluster(cluster)
        for kind in kinds:
            example.install(kind)
        try:
            yield example
        finally:
            for kind in kinds:
                example.release(kind)
