"""Queues under threads whose every lock operation is scheduled by a seed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import methodcaller

import pytest

from handloop.workqueue.priority_queue import PriorityQueue
from handloop.workqueue.queue import BlockingQueue, Queue, QueueOptions, ShutDown
from handloop.workqueue.rate_limiting_queue import DelayingQueue
from handloop_explore.virtual_threads import DeadlockError
from support.builders.queues import AnyQueue, NewQueue, both_queues, priority_queue
from support.rigs.interleaving import Interleaving, SteppedCondition, SteppedLock

SEEDS = range(60)


class Crew:
    """Producers and workers on one queue, and what they saw."""

    def __init__(self, queue: AnyQueue, producers: int, shut_down: Callable[[AnyQueue], None]) -> None:
        self.queue = queue
        self._shut_down = shut_down
        self.in_hand: set[str] = set()
        self.latest: dict[str, int] = {}
        self.delivered: dict[str, int] = {}
        self._left = producers
        self._version = 0

    def produce(self, items: str, *, batch: bool) -> Callable[[], None]:
        def run() -> None:
            for item in items:
                # the version stands for the change that the add announces: it is made before the add
                self._version += 1
                self.latest[item] = self._version
                if not batch:
                    self.queue.add(item)
            if batch:
                self.queue.add_all(items)
            self._left -= 1
            if self._left == 0:
                self._shut_down(self.queue)

        return run

    def work(self) -> None:
        while True:
            try:
                item = self.queue.get()
            except ShutDown:
                return
            assert item not in self.in_hand, f"{item} is with two workers"
            self.in_hand.add(item)
            self.delivered[item] = self.latest[item]
            # a step in the middle of the work: len takes the lock
            len(self.queue)
            self.in_hand.remove(item)
            self.queue.done(item)


def check(queue: AnyQueue) -> None:
    """What each queue promises."""
    if isinstance(queue, Queue):
        check_queue(queue)
    else:
        check_priority_queue(queue)


def is_free(queue: BlockingQueue[str]) -> bool:
    """Whether the lock is free, and then each waiting item has a getter: see BlockingQueue."""
    lock, ready = queue._lock, queue._item_ready
    assert isinstance(lock, SteppedLock)
    assert isinstance(ready, SteppedCondition)
    if lock.locked():
        return False
    not_woken = ready.asleep
    assert queue._waiting >= not_woken
    assert not_woken == 0 or queue._waiting - not_woken >= len(queue._container), "a wake-up was lost"
    return True


def check_queue(queue: Queue[str]) -> None:
    """The invariants whenever the lock is free: see the docstring of Queue."""
    if is_free(queue):
        container = list(queue._container)
        assert len(container) == len(set(container)), "an item waits twice"
        assert set(container) == queue._dirty - queue._processing


@pytest.mark.parametrize("interleaving", SEEDS, indirect=True)
@pytest.mark.parametrize("shut_down", ["shut_down", "shut_down_with_drain"])
@both_queues
def test_no_update_is_lost_in_any_order_of_steps(
    new_queue: NewQueue, shut_down: str, interleaving: Interleaving
) -> None:
    """
    Two producers and three workers: one worker per item, the last change is seen, all threads end.

    Follows TestBasic and TestAddWhileProcessing.
    """
    queue = new_queue()
    crew = Crew(queue, producers=2, shut_down=methodcaller(shut_down))
    interleaving.after_step = lambda: check(queue)
    interleaving.run(
        crew.produce("abac", batch=False), crew.produce("bbcd", batch=True), *[crew.work for _ in range(3)]
    )

    assert crew.delivered == crew.latest
    assert len(queue) == 0


@pytest.mark.parametrize("interleaving", SEEDS, indirect=True)
def test_delayed_items_come_on_time_in_any_order_of_steps(interleaving: Interleaving) -> None:
    """
    Delayed items come once each, in the order of their earliest times, at those times.

    Follows TestAddTwoFireEarly.
    """
    queue: DelayingQueue[str] = DelayingQueue(QueueOptions(seams=interleaving.seams))
    delivered: list[tuple[str, float]] = []

    def produce() -> None:
        for item, delay in (("a", 5.0), ("b", 3.0), ("a", 1.0), ("c", 0.0), ("b", 9.0)):
            queue.add_after(item, delay)

    def work() -> None:
        for _ in range(3):
            item = queue.get()
            delivered.append((item, interleaving.now))
            queue.done(item)
        queue.shut_down()

    interleaving.after_step = lambda: check_queue(queue)
    interleaving.run(produce, work)

    assert [(item, round(at, 3)) for item, at in delivered] == [("c", 0.0), ("a", 1.0), ("b", 3.0)]
    assert queue.statistics().delayed == 0


def check_priority_queue(queue: PriorityQueue[str]) -> None:
    """The invariants whenever the lock is free: see the docstring of PriorityQueue."""
    if not is_free(queue):
        return
    places = [*queue._container, *queue._schedule.seconds_left_locked(10), *queue._readded]
    assert len(places) == len(set(places)), "an item waits twice"
    assert not {*queue._container} & queue._in_flight.keys(), "an item waits and is with a worker"
    assert queue._readded.keys() <= queue._in_flight.keys()
    assert queue._delayed.keys() == queue._schedule.seconds_left_locked(10).keys()


@pytest.mark.parametrize("interleaving", SEEDS, indirect=True)
def test_adds_with_and_without_delay_join_in_any_order_of_steps(interleaving: Interleaving) -> None:
    """One producer delays what the other adds, on and off: no item is twice on its way, none is lost."""
    queue = priority_queue(seams=interleaving.seams)
    wanted = {"a": 0, "b": 0}
    seen: dict[str, int] = {}

    def produce(*delays: float) -> None:
        for delay in delays:
            for item in "ab":
                # before the add: it stands for the change that the add announces
                wanted[item] += 1
                queue.add_after(item, delay)

    def work() -> None:
        while wanted != {"a": 6, "b": 6} or seen != wanted or queue.statistics().delayed:
            item = queue.get()
            seen[item] = wanted[item]
            queue.done(item)
        queue.shut_down()

    interleaving.after_step = lambda: check_priority_queue(queue)
    interleaving.run(partial(produce, 0.0, 5.0, 0.0), partial(produce, 5.0, 0.0, 5.0), work)

    assert seen == wanted


def test_the_scheduler_finds_a_lost_wake_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the notify of add, some seed deadlocks: the checks above can fail."""
    monkeypatch.setattr(SteppedCondition, "notify", lambda _condition, _count=1: None)

    def run_all() -> None:
        for seed in SEEDS:
            with Interleaving(seed) as threads:
                queue: Queue[str] = Queue()
                threads.run(partial(queue.add, "a"), queue.get)

    with pytest.raises(DeadlockError, match="seed"):
        run_all()
