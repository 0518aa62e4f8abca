from __future__ import annotations

import gc
import weakref
from functools import partial

import pytest

from handloop.seams.locks import Lock
from handloop.workqueue.queue import BlockingQueue, Queue, QueueStatistics, ShutDown
from support.builders.queues import AnyQueue, NewQueue, both_queues
from support.checks.threads import Background, Waits
from support.doubles.recording_metrics import QueueMetricsProvider


def get_in_flight(queue: AnyQueue, *items: str) -> None:
    for item in items:
        queue.add(item)
        assert queue.get() == item


@pytest.fixture
def queue(new_queue: NewQueue) -> AnyQueue:
    """Either queue, empty."""
    return new_queue()


@both_queues
def test_drain_waits_for_what_is_in_flight(queue: AnyQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A drain returns only after the last done, and get raises ShutDown meanwhile.

    Follows TestQueueDrainageUsingShutDownWithDrain.
    """
    get_in_flight(queue, "foo", "bar")
    waits = Waits(monkeypatch, queue._drained)
    order: list[str] = []

    def drain() -> None:
        queue.shut_down_with_drain()
        order.append("drained")

    drainer = Background(drain)
    waits.wait_for()
    with pytest.raises(ShutDown):
        queue.get()
    queue.done("foo")
    order.append("foo done")
    order.append("bar done")
    queue.done("bar")
    drainer.result()

    assert order == ["foo done", "bar done", "drained"]


@both_queues
def test_shut_down_does_not_wait_for_what_is_in_flight(queue: AnyQueue) -> None:
    """shut_down returns although nothing is ever done. Follows TestNoQueueDrainageUsingShutDown."""
    get_in_flight(queue, "foo", "bar")
    Background(queue.shut_down).result()

    assert queue.statistics() == QueueStatistics(queued=0, in_flight=2, readded=0, delayed=0)
    with pytest.raises(ShutDown):
        queue.get()


@both_queues
def test_shut_down_releases_a_drain(queue: AnyQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    shut_down from elsewhere ends blocked drains at once.

    Follows TestForceQueueShutdownUsingShutDown.
    """
    get_in_flight(queue, "foo", "bar")
    waits = Waits(monkeypatch, queue._drained)
    drainers = [Background(queue.shut_down_with_drain) for _ in range(2)]
    waits.wait_for(2)
    queue.shut_down()
    for drainer in drainers:
        drainer.result()

    assert queue.statistics().in_flight == 2


@both_queues
def test_drain_with_an_item_added_again(queue: AnyQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An item added again before the drain is still delivered, also after a ShutDown.

    Follows TestQueueDrainageUsingShutDownWithDrainWithDirtyItem.
    """
    get_in_flight(queue, "foo")
    queue.add("foo")
    waits = Waits(monkeypatch, queue._drained)
    drainer = Background(queue.shut_down_with_drain)
    waits.wait_for()
    with pytest.raises(ShutDown):
        queue.get()
    queue.done("foo")

    assert queue.get() == "foo"
    queue.done("foo")
    with pytest.raises(ShutDown):
        queue.get()
    drainer.result()


class Big:
    """An item that can be watched being collected."""


@both_queues
def test_a_done_item_can_be_collected(queue: AnyQueue) -> None:
    """The queue keeps no reference to an item that is done. Follows TestGarbageCollection."""
    big = Big()
    alive = weakref.ref(big)
    queue.add(big)
    got = queue.get()
    queue.done(got)
    del big, got
    gc.collect()

    assert alive() is None
    assert len(queue) == 0


@both_queues
def test_add_is_ignored_while_shutting_down(new_queue: NewQueue) -> None:
    """An add after the shutdown changes neither the queue nor a metric."""
    provider = QueueMetricsProvider()
    queue = new_queue(name="test", metrics_provider=provider)
    queue.add("before")
    queue.shut_down()
    queue.add("late")
    queue.add_all(["later"])

    assert queue.shutting_down()
    assert len(queue) == 1
    assert (provider.adds.value, provider.depth.value) == (1, 1)


@both_queues
def test_done_without_get_does_nothing(queue: AnyQueue) -> None:
    """Done of an unknown item is no error; of a waiting one it does not queue it twice."""
    queue.done("unknown")
    assert len(queue) == 0
    queue.add("waiting")
    queue.done("waiting")

    assert queue.statistics() == QueueStatistics(queued=1, in_flight=0, readded=0, delayed=0)


@both_queues
def test_shut_down_ends_blocked_getters(queue: AnyQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """All getters that wait on an empty queue get ShutDown."""
    waits = Waits(monkeypatch, queue._item_ready)
    getters = [Background(queue.get) for _ in range(5)]
    waits.wait_for(5)
    queue.shut_down()

    for getter in getters:
        with pytest.raises(ShutDown):
            getter.result()


def test_add_all_wakes_a_getter_per_item(monkeypatch: pytest.MonkeyPatch) -> None:
    """One add_all serves all getters that wait, each with another item, in the rules of add."""
    queue: Queue[str] = Queue()
    waits = Waits(monkeypatch, queue._item_ready)
    getters = [Background(queue.get) for _ in range(3)]
    waits.wait_for(3)
    queue.add_all(["a", "b", "a", "c"])

    assert sorted(getter.result() for getter in getters) == ["a", "b", "c"]


@both_queues
def test_done_wakes_a_getter_for_what_was_added_again(
    queue: AnyQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Adds during the work make one more delivery, which the done hands to a getter that waits.

    Follows TestCollapseWhileProcessing.
    """
    get_in_flight(queue, "foo")
    waits = Waits(monkeypatch, queue._item_ready)
    getter = Background(queue.get)
    waits.wait_for()
    queue.add("foo")
    queue.add("foo")
    assert not getter.has_ended()
    queue.done("foo")

    assert getter.result() == "foo"
    queue.done("foo")
    assert len(queue) == 0


@both_queues
def test_add_all_wakes_getters_also_when_an_item_is_bad(
    queue: AnyQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Items before one that cannot be hashed reach the getter that waits."""
    waits = Waits(monkeypatch, queue._item_ready)
    getter = Background(queue.get)
    waits.wait_for()
    with pytest.raises(TypeError, match="unhashable"):
        queue.add_all(["good", ["bad"]])

    assert getter.result() == "good"


@both_queues
def test_a_getter_that_is_interrupted_passes_its_wake_up_on(
    queue: AnyQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wake-up that reaches a thread which is being interrupted goes to another getter."""
    waits = Waits(monkeypatch, queue._item_ready)
    other = Background(queue.get)
    waits.wait_for()

    def interrupted(_timeout: float | None = None) -> bool:
        # as if the add had woken this thread: the item is there, and the other getter was not notified
        with monkeypatch.context() as unnotified:
            unnotified.setattr(queue._item_ready, "notify", lambda _count=1: None)
            add_locked("foo")
        raise KeyboardInterrupt

    add_locked = queue._accept_locked if isinstance(queue, Queue) else partial(queue._add_locked, priority=0)
    monkeypatch.setattr(queue._item_ready, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        queue.get()

    assert other.result() == "foo"
    assert queue._waiting == 0


@both_queues
def test_leaving_the_context_shuts_down(new_queue: NewQueue) -> None:
    """A queue used as a context manager is shut down at its end."""
    with new_queue() as queue:
        assert not queue.shutting_down()

    assert queue.shutting_down()


@both_queues
def test_the_states_are_distinguished(queue: AnyQueue) -> None:
    """Waiting, in flight, and added again while in flight: counted, and as items, at most so many of each."""
    get_in_flight(queue, "a", "b")
    queue.add_all(["a", "c", "d", "e"])
    assert queue.statistics() == QueueStatistics(queued=3, in_flight=2, readded=1, delayed=0)
    items = queue.items(10)
    assert (set(items.queued), set(items.in_flight), set(items.readded)) == ({*"cde"}, {*"ab"}, {"a"})
    assert [len(part) for part in queue.items(1)] == [1, 1, 1, 0]


@both_queues
def test_operations_wait_for_a_taken_lock(queue: AnyQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Add, get and done that find the lock taken go the way that waits for it."""
    contended: list[object] = []
    acquire = queue._lock.acquire

    def take(lock: Lock) -> None:
        contended.append(lock)
        acquire()

    monkeypatch.setattr(queue._lock, "acquire", lambda blocking=True: blocking and acquire())
    for home in {type(queue).__module__, BlockingQueue.__module__}:
        monkeypatch.setattr(f"{home}.acquire_contended", take)
    queue.add("foo")
    queue.done(queue.get())

    assert contended == [queue._lock] * 3
    assert queue.statistics() == QueueStatistics(0, 0, 0, 0)
