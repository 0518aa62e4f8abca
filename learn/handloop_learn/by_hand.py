"""A Foo controller whose caches, handlers, workers and clock are driven by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Self, TypeVar

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind
from handloop.controller.foo.controller import FooController
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.informers.indexer import NAMESPACE_INDEX, namespace_index_func
from handloop.informers.keys import ObjectName
from handloop.informers.listwatch import ListWatch
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.seams import Seams
from handloop_learn.clocks import HandClock
from handloop_learn.stage import Stage

T = TypeVar("T", bound=Kind)

NAME: Final = ObjectName("default", "foo")


class HandInformer(SharedIndexInformer[T]):
    """An informer that never runs. Its cache contains what the server had when `see` was last called."""

    def __init__(self, stage: Stage, kind: type[T]) -> None:
        self._client = stage.client.resource(kind)
        self._seen = 0
        indexers = {NAMESPACE_INDEX: namespace_index_func}
        super().__init__(ListWatch(stage.client.resource(kind)), kind, indexers=indexers)

    def see(self) -> None:
        """Bring the cache up to date with the server."""
        page = self._client.list("default")
        self.indexer.replace(page.items, page.resource_version)
        self._seen = int(page.resource_version)

    def has_seen(self, resource_version: str) -> bool:
        """Return whether the last `see` read that version or a later one."""
        return int(resource_version) <= self._seen


class ByHand:
    """
    A controller whose caches, handlers, workers and clock are driven by the chapter. Use it with `with`.

    Threads: used on the chapter's thread. Another thread serves the queue's delays.
    """

    def __init__(self, stage: Stage, controller: type[FooController]) -> None:
        self.stage = stage
        self.clock = HandClock()
        self.recorder = FakeRecorder()
        self.foos, self.deployments = HandInformer(stage, Foo), HandInformer(stage, Deployment)
        self.controller = controller(
            stage.client,
            MultiNamespaceInformer(Deployment, {"": self.deployments}),
            MultiNamespaceInformer(Foo, {"": self.foos}),
            self.recorder,
            seams=Seams(clock=self.clock),
        )
        self.queue = self.controller._workqueue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.queue.shut_down()

    def see(self) -> None:
        """Bring both caches up to date with the server."""
        self.foos.see()
        self.deployments.see()

    def work(self) -> int:
        """Sync the queued names, or the Foo if the queue is empty. Returns: the number of requests sent."""
        before = self.stage.counts.total()
        if not len(self.queue):
            self.queue.add(NAME)
        while len(self.queue):
            self.controller._process_next_work_item()
        return self.stage.counts.total() - before

    def settled(self) -> None:
        """Create a Foo, and sync until nothing is left to do."""
        self.stage.apply(NAME.name)
        for _ in range(3):
            self.see()
            self.work()

    def delays(self) -> Sequence[float]:
        """Return the seconds until the Foo is retried; empty if no retry is planned."""
        return [at for item, at in self.queue.items(1).delayed.items() if item == NAME]
