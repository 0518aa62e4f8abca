"""A sandbox whose faults only our own side meets, with an administrator who does not."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Event
from handloop.apis.crd import custom_resource_definition
from handloop.client.auth.credentials import StaticCredentials
from handloop.client.config import ClientConfig
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.controller import CachesNotSyncedError
from handloop.controller.foo.production import ProductionFooController
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.events.broadcaster import EventBroadcaster
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import DeletedFinalStateUnknown, deletion_handling_meta_namespace_key_func
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually as until
from handloop_sandbox.server import Sandbox
from support.checks.threads import Background
from support.doubles.fast_clock import FastClock
from support.servers.cluster import CRDS, Administrator, Object, foo

SECONDS: Final = 30.0
AGENT: Final = "under-test"
OURS: Final[dict[str, Any]] = {"user_agent": f"{AGENT}*"}
"""Chooses the requests of the side that is tested."""

FOOS: Final = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"


class FaultyCluster(Administrator):
    """
    A running sandbox with Foos, and one side that reads and writes under faults.

    The test's thread uses it; informers and the controller have theirs. The clock of that side races, so that
    its back-offs pass; sockets wait in real time, at most a second.
    """

    def __init__(self, *, seed: int = 1) -> None:
        self.sandbox = Sandbox(seed=seed, speed=100.0, bookmark_seconds=0.2)
        self.faults = self.sandbox.faults
        self.clock = FastClock()
        self.stop = threading.Event()
        way_in: Any = self.sandbox.transport()
        super().__init__(way_in)
        self._transport: HTTPTransport | None = None

    def open(self) -> None:
        """Serve, with the definition of Foo installed."""
        self.sandbox.start()
        self.create(CRDS, custom_resource_definition(Foo))
        until(lambda: self.transport.request("GET", FOOS).status == 200, "Foos served", seconds=SECONDS)
        config = ClientConfig(
            host=self.sandbox.url, credentials=StaticCredentials(f"Bearer {self.sandbox.token}")
        )
        self._transport = HTTPTransport(config, request_seconds=2.0, read_seconds=1.0)

    def close(self) -> None:
        """Stop everything."""
        self.stop.set()
        self.faults.clear()
        if self._transport is not None:
            self._transport.close()
        self.sandbox.stop()

    def client(self) -> Client:
        """The client of the side under test."""
        assert self._transport is not None
        return Client(self._transport, seams=Seams(clock=self.clock), user_agent=AGENT, stop=self.stop)

    def create_foo(self, name: str, *, replicas: int = 1) -> Object:
        """Create a Foo."""
        return self.create(FOOS, foo(name, {"deploymentName": name, "replicas": replicas}))

    def versions(self) -> dict[str, str]:
        """The resource versions of the Foos there are, by name."""
        return {name: obj["metadata"]["resourceVersion"] for name, obj in self.list(FOOS).items()}


class Mirror:
    """An informer of Foos on a cluster. deleted = the keys of those that its handler saw go."""

    def __init__(self, cluster: FaultyCluster) -> None:
        self._factory = SharedInformerFactory(cluster.client(), seams=Seams(clock=cluster.clock))
        self.informer = self._factory.informer_for(Foo)
        self.deleted: list[str] = []
        self.informer.add_event_handler(ResourceEventHandlerFuncs(delete_func=self._note_deleted))
        self._cluster = cluster
        self._factory.start(cluster.stop)

    def versions(self) -> dict[str, str]:
        """The resource versions of the Foos in the cache, by name."""
        return {foo.metadata.name: foo.metadata.resource_version for foo in self.informer.indexer.list()}

    def relists(self) -> Mapping[str, int]:
        """How often it listed again, by reason."""
        reflector = self.informer.statistics().reflector
        return reflector.relists if reflector else {}

    def watches(self) -> int:
        """How many streams it has opened."""
        reflector = self.informer.statistics().reflector
        return reflector.watches if reflector else 0

    def wait_equal(self) -> None:
        """Wait until the cache holds what the server does."""

        def is_equal() -> bool:
            return self.informer.has_synced() and self.versions() == self._cluster.versions()

        until(is_equal, "the cache equal to the server", seconds=SECONDS)

    def close(self) -> None:
        """Stop and join."""
        self._cluster.stop.set()
        self._factory.shutdown()

    def _note_deleted(self, obj: Foo | DeletedFinalStateUnknown[Foo]) -> None:
        self.deleted.append(deletion_handling_meta_namespace_key_func(obj))


@contextmanager
def faulty_cluster(*, seed: int = 1) -> Iterator[FaultyCluster]:
    """A cluster for as long as the context lasts."""
    cluster = FaultyCluster(seed=seed)
    try:
        cluster.open()
        yield cluster
    finally:
        cluster.close()


@contextmanager
def mirrored(cluster: FaultyCluster) -> Iterator[Mirror]:
    """An informer of Foos for as long as the context lasts."""
    mirror = Mirror(cluster)
    try:
        yield mirror
    finally:
        cluster.faults.clear()
        mirror.close()


@contextmanager
def foo_process(cluster: FaultyCluster) -> Iterator[None]:
    """The Foo controller with informers and events, for as long as the context lasts."""
    client, seams = cluster.client(), Seams(clock=cluster.clock)
    factory = SharedInformerFactory(client, options=InformerOptions(resync_seconds=60), seams=seams)
    broadcaster = EventBroadcaster(seams=seams)
    broadcaster.start_recording_to_sink(client.resource(Event))
    controller = ProductionFooController(
        client,
        MultiNamespaceInformer(Deployment, {"": factory.informer_for(Deployment)}),
        MultiNamespaceInformer(Foo, {"": factory.informer_for(Foo)}),
        broadcaster.new_recorder("sample-controller"),
        seams=seams,
    )

    def run() -> None:
        try:
            controller.run(2, cluster.stop)
        except CachesNotSyncedError:
            assert cluster.stop.is_set()

    factory.start(cluster.stop)
    running = Background(run)
    try:
        yield
    finally:
        cluster.faults.clear()
        cluster.stop.set()
        running.result()
        factory.shutdown()
        broadcaster.shutdown()
