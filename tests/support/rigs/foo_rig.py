"""The Foo controller on a fake API: caches are filled by hand, and syncs are called, not waited for."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, NoReturn, Self, TypeVar

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client
from handloop.controller.foo.production import ProductionFooController
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.informers.handlers import ResourceEventHandler
from handloop.informers.indexer import NAMESPACE_INDEX, namespace_index_func
from handloop.informers.keys import ObjectName
from handloop.informers.processor import Registration
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.seams import Seams
from handloop.seams.threads import Spawn, spawn_thread
from handloop.testing.fake_clock import FakeClock
from support.doubles.fake_api import FakeAPI, FooCRD

T = TypeVar("T", bound=Kind)

EXAMPLE = ObjectName("default", "example-foo")


class _NeverAsked(Generic[T]):
    """A server for informers that are never run."""

    supports_watch_list = False

    def list(self, options: ListOptions) -> NoReturn:
        raise AssertionError("caches are filled by hand")

    def watch(self, options: ListOptions) -> NoReturn:
        raise AssertionError("caches are filled by hand")


class HandInformer(SharedIndexInformer[T]):
    """An informer whose cache and handlers a test drives itself."""

    def __init__(self, kind: type[T]) -> None:
        self.handlers: list[ResourceEventHandler[T]] = []
        self.seen = 0
        super().__init__(_NeverAsked(), kind, indexers={NAMESPACE_INDEX: namespace_index_func})

    def add_event_handler(
        self, handler: ResourceEventHandler[T], *, resync_seconds: float | None = None
    ) -> Registration[T]:
        self.handlers.append(handler)
        return super().add_event_handler(handler, resync_seconds=resync_seconds)

    def has_seen(self, resource_version: str) -> bool:
        return self.seen >= int(resource_version)

    def see(self, api: FakeAPI) -> None:
        """Let the cache see what the API has."""
        self.indexer.replace(api.list(self.kind), "1")
        self.seen = api.version


class FooRig:
    """
    One controller process after the other on one API.

    Use with `with`: the queue's threads end with it.
    """

    controller_class = ProductionFooController

    def __init__(
        self,
        *objects: Kind,
        foo_crd: FooCRD = FooCRD.SUBRESOURCE,
        spawn: Spawn = spawn_thread,
        **options: Any,
    ) -> None:
        self.clock = FakeClock()
        self.api = FakeAPI(foo_crd=foo_crd)
        self.recorder = FakeRecorder()
        self._seams = Seams(clock=self.clock, spawn=spawn)
        self._options = options
        for obj in objects:
            self.api.put(obj)
        self.start()

    def start(self) -> None:
        """Start a controller with an empty memory, and fill its caches."""
        self.foos = HandInformer(Foo)
        self.deployments = HandInformer(Deployment)
        self.controller = self.controller_class(
            Client(self.api),
            MultiNamespaceInformer(Deployment, {"": self.deployments}),
            MultiNamespaceInformer(Foo, {"": self.foos}),
            self.recorder,
            seams=self._seams,
            **self._options,
        )
        self.sync_caches()

    def restart(self) -> None:
        """End the process and start another one."""
        self.queue.shut_down()
        self.start()

    @property
    def queue(self) -> Any:
        """The controller's workqueue."""
        return self.controller._workqueue

    def sync_caches(self) -> None:
        """Let both caches see what the API has."""
        self.foos.see(self.api)
        self.deployments.see(self.api)

    def sync(self, name: ObjectName = EXAMPLE) -> None:
        """Call sync_handler once."""
        self.controller.sync_handler(name)

    def work(self, name: ObjectName = EXAMPLE) -> None:
        """Queue a name and let a worker process one item."""
        self.queue.add(name)
        assert self.controller._process_next_work_item()

    def work_off(self, seconds: float = 0.0) -> None:
        """Let time pass and process the items due by then; for a rig without threads (spawn=no_thread)."""
        self.clock.advance(seconds)
        with self.queue._delays:
            self.queue._schedule._hand_over_due_locked()
        while len(self.queue):
            assert self.controller._process_next_work_item()

    def queued(self) -> list[ObjectName]:
        """Empty the queue."""
        names = []
        while len(self.queue):
            names.append(self.queue.get())
            self.queue.done(names[-1])
        return names

    @property
    def writes(self) -> list[tuple[str, str]]:
        """The requests so far as (method, target)."""
        return [(write.method, write.target) for write in self.api.writes]

    def name(self, name: str) -> ObjectName:
        """The name of a Foo in the default namespace."""
        return ObjectName(EXAMPLE.namespace, name)

    def foo(self, name: str = "example-foo") -> Foo:
        """A Foo as the API has it."""
        return self.api.get(Foo, name)

    def deployment(self, name: str = "example-foo-deployment") -> Deployment:
        """A Deployment as the API has it."""
        return self.api.get(Deployment, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.queue.shut_down()
