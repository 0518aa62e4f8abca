"""docs/walkthrough.md, steps (7), (8), (11) and (12): the failures when a part of the queue is missing."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.controller.foo.types import Foo
from handloop.informers.keys import ObjectName, object_name
from handloop.workqueue.queue import Queue
from support.builders.foo_builders import new_foo
from support.rigs.foo_rig import EXAMPLE, FooRig
from support.rigs.reconcile_rig import no_thread


def test_with_objects_for_keys_two_workers_have_one_foo() -> None:
    """Two states of a Foo are two items, the older one first; as names they are one."""
    before, after = new_foo(resource_version="1"), new_foo(resource_version="2", replicas=3)
    objects: Queue[Foo] = Queue()
    objects.add_all([before, after])
    assert [objects.get(), objects.get()] == [before, after]
    names: Queue[ObjectName] = Queue()
    names.add_all([object_name(before), object_name(after)])
    assert names.get() == EXAMPLE
    assert len(names) == 0


class WithoutProcessing(Queue[str]):
    def _accept_locked(self, item: str) -> bool:
        self._container.append(item)
        return True


class WithoutDirty(Queue[str]):
    def _accept_locked(self, item: str) -> bool:
        return item not in self._processing and super()._accept_locked(item)


def test_without_the_processing_set_two_workers_have_one_key(whole: bool) -> None:
    """A key that is added while a worker has it can be taken by a second one."""
    queue = Queue[str]() if whole else WithoutProcessing()
    queue.add("default/example-foo")
    assert queue.get() == "default/example-foo"
    queue.add("default/example-foo")
    assert len(queue) == (0 if whole else 1)
    if not whole:
        assert queue.get() == "default/example-foo"


def test_without_the_dirty_set_a_change_during_a_sync_is_lost(whole: bool) -> None:
    """A key that is added while a worker has it comes again after done, or never."""
    queue = Queue[str]() if whole else WithoutDirty()
    queue.add("default/example-foo")
    item = queue.get()
    queue.add(item)
    queue.done(item)
    assert len(queue) == (1 if whole else 0)


def test_without_done_a_key_is_stuck_for_ever(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    """The queue believes that a worker still has the key, and hands it out no more."""
    with FooRig(new_foo()) as rig:
        if not whole:
            monkeypatch.setattr(rig.queue, "done", lambda _item: None)
        rig.work()
        for _ in range(100):
            rig.queue.add(EXAMPLE)
        assert len(rig.queue) == (1 if whole else 0)
        assert rig.queue.statistics().readded == (0 if whole else 1)


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that the queues of the test are asked to hold a key back."""
    seconds: list[float] = []
    monkeypatch.setattr(
        "handloop.workqueue.rate_limiting_queue.DelayingQueue.add_after",
        lambda _queue, _item, delay_seconds: seconds.append(delay_seconds),
    )
    return seconds


def refuse(*_: Any) -> None:
    raise RuntimeError("the server is away")


def test_without_forget_the_back_off_stays_high(
    monkeypatch: pytest.MonkeyPatch, delays: list[float], whole: bool
) -> None:
    """After a success, the first failure waits as long as if there had been no success."""
    with FooRig(new_foo()) as rig:
        if not whole:
            monkeypatch.setattr(rig.queue, "forget", lambda _item: None)
        works = rig.controller.sync_handler
        for sync in (refuse, refuse, refuse, works, refuse):
            monkeypatch.setattr(rig.controller, "sync_handler", sync)
            rig.sync_caches()
            rig.work()
        assert delays == [0.005, 0.01, 0.02, 0.005 if whole else 0.04]


def test_without_a_rate_limit_a_foo_that_fails_keeps_its_worker_busy(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """In no time at all a failing Foo is tried as often as the worker can."""
    with FooRig(new_foo(), spawn=no_thread) as rig:
        monkeypatch.setattr(rig.controller, "sync_handler", refuse)
        if not whole:
            monkeypatch.setattr(rig.queue, "add_rate_limited", lambda item, **_: rig.queue.add(item))
        rig.queue.add(EXAMPLE)
        tries = 0
        while len(rig.queue) and tries < 1000:
            assert rig.controller._process_next_work_item()
            tries += 1
        assert tries == (1 if whole else 1000)
        assert rig.clock.now() == 0


def test_without_adding_it_back_a_foo_that_failed_is_never_tried_again(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """One refused request, and the Foo has no Deployment until it is changed."""
    with FooRig(new_foo(), spawn=no_thread) as rig:
        if not whole:
            monkeypatch.setattr(rig.queue, "add_rate_limited", lambda *_args, **_options: None)
        works = rig.controller.sync_handler
        monkeypatch.setattr(rig.controller, "sync_handler", refuse)
        rig.work()
        monkeypatch.setattr(rig.controller, "sync_handler", works)
        rig.work_off(2000)
        assert rig.writes == (
            [("POST", "deployments"), ("PATCH", "foos/example-foo/status")] if whole else []
        )
