"""A Foo controller without workers: its caches follow the server, and a chapter calls sync_handler itself."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, Self

from handloop.apis.apps_v1 import Deployment
from handloop.controller.foo.controller import FooController
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.events.fake_recorder import FakeRecorder
from handloop.controller.runtime.multi_namespace_informer import MultiNamespaceInformer
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.keys import ObjectName
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.walkthrough.line_trace import LineTrace
from handloop.walkthrough.source import Place, cut
from handloop.walkthrough.stage import DEPLOYMENTS, FOOS, Stage
from handloop.walkthrough.waiting import until

_WIDTH: Final = 66
DECISIONS: Final = {
    Place(line.file, line.line): line.lines[0]
    if len(line.lines[0]) < _WIDTH
    else line.lines[0][:_WIDTH] + " ..."
    for line in (
        cut(FooController.sync_handler, "log.info("),
        cut(FooController._sync_deployment, "self._deployments.create("),
        cut(FooController._sync_deployment, "raise self._report_foreign"),
        cut(FooController._sync_deployment, "return deployment, False"),
        cut(FooController._sync_deployment, "scaled = "),
        cut(FooController.update_foo_status, "write = "),
        cut(FooController.sync_handler, "self._recorder.event"),
    )
}
"""The lines between which a sync chooses, and how they begin."""


class Sync:
    """
    What one call of sync_handler did.

    lines = the places that it executed; requests = what it asked of the server, by method; events = the
    Events that it recorded; error = what it raised, "" for nothing.
    """

    def __init__(self) -> None:
        self.lines: set[Place] = set()
        self.requests: dict[str, int] = {}
        self.events: list[str] = []
        self.error = ""

    @property
    def asked(self) -> str:
        """The requests in words."""
        return (
            ", ".join(f"{count} {method}" for method, count in sorted(self.requests.items())) or "no request"
        )


class HandSyncedFoo:
    """The controller and its two informers, for the length of a `with`. Threads: the chapter's."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._factory = SharedInformerFactory(stage.client)
        foos, deployments = self._factory.informer_for(Foo), self._factory.informer_for(Deployment)
        self._informers: dict[str, SharedIndexInformer[Any]] = {FOOS: foos, DEPLOYMENTS: deployments}
        self._recorder = FakeRecorder()
        self._controller = FooController(
            stage.client,
            MultiNamespaceInformer(Deployment, {"": deployments}),
            MultiNamespaceInformer(Foo, {"": foos}),
            self._recorder,
        )

    def __enter__(self) -> Self:
        self._factory.start(threading.Event())
        return self

    def __exit__(self, *_: object) -> None:
        self._factory.shutdown()

    def sync(self, name: str, watched: Iterable[Place] = ()) -> Sync:
        """Let the caches see what the server has, then call sync_handler once. Blocks: until then."""
        for path in self._informers:
            until(lambda path=path: self._is_mirrored(path), f"the cache of {path}")  # type: ignore[misc]
        sync, before = Sync(), Counter(self._stage.counts)
        with LineTrace(watched) as trace:
            try:
                self._controller.sync_handler(ObjectName("default", name))
            except Exception as error:  # noqa: BLE001 - whatever it raises, the worker would try again
                sync.error = f"{type(error).__name__}: {error}"
        sync.lines = set(trace.hits)
        sync.requests = dict(self._stage.counts - before)
        sync.events = self._recorder.take()
        return sync

    def _is_mirrored(self, path: str) -> bool:
        informer = self._informers[path]
        stored = {obj.metadata.uid: obj.metadata.resource_version for obj in informer.indexer.list()}
        return informer.has_synced() and stored == {
            obj["metadata"]["uid"]: obj["metadata"]["resourceVersion"]
            for obj in self._stage.send("GET", path)["items"]
        }
