"""A whole informer, its handlers and those who ask it, in many orders of their steps."""

from __future__ import annotations

import math
import random
import threading
from collections import deque
from collections.abc import Callable
from typing import Final, TypeAlias

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.watch_stream import WatchEvent
from handloop.client.errors import StreamClosed
from handloop.client.options import ListOptions
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.informers.processor import Registration
from handloop.informers.shared_informer import SharedIndexInformer
from support.builders.deployments import added, deleted, deployment, modified
from support.rigs.interleaving import Interleaving

NAMES: Final = "abcd"
LAST_VERSION: Final = 25


Block: TypeAlias = list[WatchEvent[Deployment]]


class Source:
    """
    One page, then a block of random changes for each read; then silence until the stream is closed.

    states = for each version of the server, the versions of the objects there are.
    """

    supports_watch_list = False

    def __init__(self, threads: Interleaving, seed: int) -> None:
        self._threads = threads
        self._closed = threading.Event()
        self._page = ListPage([deployment(name) for name in NAMES[:2]], "1", None)
        self.states = {1: dict.fromkeys(NAMES[:2], "1")}
        choose = random.Random(seed)
        events = [self._change(choose, version) for version in range(2, LAST_VERSION + 1)]
        self._blocks = deque(events[start : start + 3] for start in range(0, len(events), 3))

    def list(self, _options: ListOptions) -> ListPage[Deployment]:
        return self._page

    def watch(self, _options: ListOptions) -> Source:
        return self

    def read(self) -> Block:
        if self._blocks:
            return self._blocks.popleft()
        self._threads.clock.sleep(math.inf, self._closed)
        raise StreamClosed("closed from this side")

    def close(self) -> None:
        self._closed.set()

    def _change(self, choose: random.Random, version: int) -> WatchEvent[Deployment]:
        obj = deployment(choose.choice(NAMES), version)
        before = self.states[version - 1]
        others = {name: rv for name, rv in before.items() if name != obj.metadata.name}
        exists = len(others) < len(before)
        if exists and choose.random() < 0.3:
            self.states[version] = others
            return deleted(obj)
        self.states[version] = others | {obj.metadata.name: str(version)}
        return modified(obj) if exists else added(obj)


class Mirror:
    """
    A handler that follows each object's versions.

    faults = notifications that do not continue the former ones. Others run while a call lasts.
    """

    def __init__(self, threads: Interleaving) -> None:
        self.versions: dict[str, str] = {}
        self.faults: list[str] = []
        self.calls = 0
        self.is_called = False
        self._threads = threads

    def on_add(self, obj: Deployment, is_in_initial_list: bool) -> None:
        self._told("add", obj.metadata.name, None, obj.metadata.resource_version)

    def on_update(self, old: Deployment, new: Deployment) -> None:
        self._told("update", new.metadata.name, old.metadata.resource_version, new.metadata.resource_version)

    def on_delete(self, obj: Deployment | DeletedFinalStateUnknown[Deployment]) -> None:
        assert isinstance(obj, Deployment)
        self._told("delete", obj.metadata.name, self.versions.get(obj.metadata.name, "some"), None)

    def _told(self, word: str, name: str, before: str | None, after: str | None) -> None:
        self.calls, self.is_called = self.calls + 1, True
        known = self.versions.pop(name, None)
        if known != before:
            self.faults.append(f"{word} {name}: was {before}, known {known}")
        if after is not None:
            self.versions[name] = after
        self._threads.clock.sleep(0.001, threading.Event())
        self.is_called = False


class Rig:
    """An informer whose every step is the scheduler's; its tasks are methods."""

    def __init__(self, threads: Interleaving) -> None:
        self.threads = threads
        self.source = Source(threads, threads.seed)
        self.informer: SharedIndexInformer[Deployment] = SharedIndexInformer(
            self.source, Deployment, seams=self.threads.seams
        )
        self.stayed: list[Mirror] = []
        self.left: list[Mirror] = []

    def run(self) -> None:
        self.informer.run(threading.Event())

    def join(self) -> tuple[Mirror, Registration[Deployment]]:
        """Add a handler."""
        handler = Mirror(self.threads)
        return handler, self.informer.add_event_handler(handler)

    def join_and_leave(self) -> None:
        """Add handlers one after the other; every second one leaves again."""
        for _ in range(2):
            self.stayed.append(self.join()[0])
            handler, registration = self.join()
            self.left.append(handler)
            self.informer.remove_event_handler(registration)

    def stop_when_quiet(self) -> None:
        """Stop once all was read and delivered: time passes only when every thread waits."""
        while not self._all_was_read() and not self.informer.statistics().stopped:
            self.threads.clock.sleep(1, threading.Event())
        self.threads.clock.sleep(10, threading.Event())
        self.informer.stop()

    def _all_was_read(self) -> bool:
        return self.informer.last_sync_resource_version() == str(LAST_VERSION)

    def pause(self) -> None:
        """Let others run."""
        self.threads.step()


@pytest.mark.parametrize("interleaving", range(40), indirect=True)
def test_handlers_that_join_during_changes_miss_nothing_and_see_nothing_twice(
    interleaving: Interleaving,
) -> None:
    """Whenever a handler joins, its snapshot and its events fit, and it ends as the server is."""
    rig = Rig(interleaving)
    rig.threads.run(rig.run, rig.join_and_leave, rig.join_and_leave, rig.stop_when_quiet)
    assert [handler.faults for handler in rig.stayed + rig.left] == [[]] * 8
    assert [handler.versions for handler in rig.stayed] == [rig.source.states[LAST_VERSION]] * 4


@pytest.mark.parametrize("interleaving", range(40), indirect=True)
def test_what_was_seen_is_in_the_store(interleaving: Interleaving) -> None:
    """The own-write floor: once an informer reports a version as seen, its store is as new."""
    rig = Rig(interleaving)

    def ask() -> None:
        for version in range(1, LAST_VERSION + 1):
            while not rig.informer.has_seen(str(version)):
                rig.pause()
            stored = {o.metadata.name: o.metadata.resource_version for o in rig.informer.indexer.list()}
            assert stored in [rig.source.states[later] for later in range(version, LAST_VERSION + 1)]

    rig.threads.run(rig.run, ask, rig.stop_when_quiet)


@pytest.mark.parametrize("interleaving", range(10), indirect=True)
@pytest.mark.parametrize("meanwhile", ["nothing", "removed", "shut down as well", "informer stops"])
def test_shutting_down_a_handler_returns_after_its_last_call(
    interleaving: Interleaving, meanwhile: str
) -> None:
    """Whoever else removes the handler, shuts it down or stops the informer, before or meanwhile."""
    rig = Rig(interleaving)
    handler, registration = rig.join()
    calls_at_return: list[int] = []

    def after_first_call(act: Callable[[], None]) -> Callable[[], None]:
        def wait_and_act() -> None:
            while not handler.calls:
                rig.pause()
            act()

        return wait_and_act

    def shut_down() -> None:
        rig.informer.shut_down_event_handler(registration)
        assert not handler.is_called
        calls_at_return.append(handler.calls)

    others = {
        "nothing": rig.stop_when_quiet,
        "removed": lambda: rig.informer.remove_event_handler(registration),
        "shut down as well": shut_down,
        "informer stops": rig.informer.stop,
    }
    tasks = map(after_first_call, (shut_down, others[meanwhile], rig.stop_when_quiet))
    rig.threads.run(rig.run, *tasks)
    assert set(calls_at_return) == {handler.calls}
