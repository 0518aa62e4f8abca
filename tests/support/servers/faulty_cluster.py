"""A sandbox whose faults only our own side meets, with an administrator who does not."""

from __future__ import annotations

import json
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
from handloop.controller.foo.controller import CachesNotSyncedError, FooController
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.events.broadcaster import EventBroadcaster
from handloop.controller.runtime.multi_namespace_informer import MultiNamespaceInformer
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import DeletedFinalStateUnknown, deletion_handling_meta_namespace_key_func
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually as until
from handloop_sandbox.server import Sandbox
from support.checks.threads import Background
from support.doubles.fast_clock import FastClock
from support.servers.cluster import foo

Object = dict[str, Any]

SECONDS: Final = 30.0
AGENT: Final = "under-test"
OURS: Final[dict[str, Any]] = {"user_agent": f"{AGENT}*"}
"""Chooses the requests of the side that is tested."""

FOOS: Final = "/apis/samplecontroller.k8s.io/v1alpha1/namespaces/default/foos"
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
_CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_MERGE: Final = "application/merge-patch+json"


class FaultyCluster:
    """
    A running sandbox with Foos, and one side that reads and writes under faults.

    Threads: the test's; informers and the controller have theirs. The clock of that side races, so that its
    back-offs pass; sockets wait in real time, at most a second.
    """

    def __init__(self, *, seed: int = 1) -> None:
        self.sandbox = Sandbox(seed=seed, speed=100.0, bookmark_seconds=0.2)
        self.faults = self.sandbox.faults
        self.clock = FastClock()
        self.stop = threading.Event()
        self._admin = self.sandbox.transport()
        self._transport: HTTPTransport | None = None

    def open(self) -> None:
        """Serve, with the definition of Foo installed."""
        self.sandbox.start()
        self.call("POST", _CRDS, custom_resource_definition(Foo))
        until(lambda: self._admin.request("GET", FOOS).status == 200, "Foos served", seconds=SECONDS)
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

    def call(self, method: str, path: str, body: Object | None = None, *, media_type: str = "") -> Object:
        """Do something as the administrator."""
        headers = {"Content-Type": media_type or "application/json", "User-Agent": "administrator"}
        content = None if body is None else json.dumps(body).encode()
        answer = self._admin.request(method, path, headers=headers, body=content)
        assert answer.status < 300, answer.body
        document: Object = json.loads(answer.body)
        return document

    def create_foo(self, name: str, *, replicas: int = 1) -> Object:
        """Create a Foo."""
        return self.call("POST", FOOS, foo(name, {"deploymentName": name, "replicas": replicas}))

    def change(self, collection: str, name: str, patch: Object) -> None:
        """Merge something into an object."""
        self.call("PATCH", f"{collection}/{name}", patch, media_type=_MERGE)

    def delete(self, collection: str, name: str) -> None:
        """Delete an object."""
        self.call("DELETE", f"{collection}/{name}")

    def objects(self, collection: str) -> dict[str, Object]:
        """What a collection holds, by name."""
        return {o["metadata"]["name"]: o for o in self.call("GET", collection)["items"]}

    def versions(self) -> dict[str, str]:
        """The resource versions of the Foos there are, by name."""
        return {name: obj["metadata"]["resourceVersion"] for name, obj in self.objects(FOOS).items()}


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


class FooProcess:
    """The Foo controller with informers and events, on a cluster."""

    def __init__(self, cluster: FaultyCluster) -> None:
        client = cluster.client()
        self._cluster = cluster
        self._factory = SharedInformerFactory(
            client, options=InformerOptions(resync_seconds=60), seams=Seams(clock=cluster.clock)
        )
        self._broadcaster = EventBroadcaster(seams=Seams(clock=cluster.clock))
        self._broadcaster.start_recording_to_sink(client.resource(Event))
        self._controller = FooController(
            client,
            MultiNamespaceInformer(Deployment, {"": self._factory.informer_for(Deployment)}),
            MultiNamespaceInformer(Foo, {"": self._factory.informer_for(Foo)}),
            self._broadcaster.new_recorder("sample-controller"),
            seams=Seams(clock=cluster.clock),
        )
        self._factory.start(cluster.stop)
        self._running = Background(self._run)

    def close(self) -> None:
        """Stop and join."""
        self._cluster.stop.set()
        self._running.result()
        self._factory.shutdown()
        self._broadcaster.shutdown()

    def _run(self) -> None:
        try:
            self._controller.run(2, self._cluster.stop)
        except CachesNotSyncedError:
            assert self._cluster.stop.is_set()


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
def foo_process(cluster: FaultyCluster) -> Iterator[FooProcess]:
    """The Foo controller for as long as the context lasts."""
    process = FooProcess(cluster)
    try:
        yield process
    finally:
        cluster.faults.clear()
        process.close()
