from __future__ import annotations

import threading
from functools import partial

import pytest

from handloop.seams.locks import (
    Lock,
    acquire_contended,
    condition_over,
    new_condition,
    new_lock,
    plain_lock,
    set_lock_factory,
)
from handloop_explore.virtual_threads import DeadlockError
from support.doubles.ranked_lock import LockOrderError, RankedLock
from support.rigs.interleaving import Interleaving, SteppedCondition


class BusyLock(RankedLock):
    """Refuses to be taken without blocking, so many times."""

    def __init__(self, refusals: int) -> None:
        super().__init__("BusyLock", 1)
        self.refusals = refusals
        self.blocked = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        if not blocking and self.refusals:
            self.refusals -= 1
            return False
        self.blocked += blocking
        return super().acquire(blocking, timeout)


def test_the_factory_makes_the_locks() -> None:
    """Locks come from the factory that is set; the one of the standard library is the usual one."""
    before = set_lock_factory(plain_lock)
    try:
        assert isinstance(new_lock("a", 1), type(threading.Lock()))
    finally:
        assert set_lock_factory(before) is plain_lock

    assert isinstance(new_lock("a", 1), RankedLock)


def test_a_condition_releases_its_lock_while_it_waits() -> None:
    """Conditions work over the locks of the factory."""
    condition = new_condition("a", 1)
    with condition:
        assert not condition.wait(0.001)
        condition.notify_all()


def test_a_lock_may_bring_its_own_condition() -> None:
    """A lock that knows how to make its condition is asked for it."""
    with Interleaving(0):
        assert isinstance(condition_over(new_lock("a", 1)), SteppedCondition)


def test_a_contended_lock_is_taken_without_blocking_when_it_comes_free() -> None:
    """After some refusals the lock is taken without blocking."""
    lock = BusyLock(refusals=5)
    acquire_contended(lock)
    lock.release()

    assert (lock.refusals, lock.blocked) == (0, 0)


def test_a_lock_that_stays_contended_is_waited_for() -> None:
    """After enough refusals the caller blocks."""
    lock = BusyLock(refusals=1000)
    acquire_contended(lock)
    lock.release()

    assert lock.blocked == 1
    assert lock.refusals > 0


@pytest.mark.parametrize("blocking", [True, False])
def test_ranks_must_rise(blocking: bool) -> None:
    """Taking a lock of the same or a lower rank raises, also without blocking; a higher one may be taken."""
    low, same, high = RankedLock("low", 1), RankedLock("same", 2), RankedLock("high", 2)
    with low, high:
        for wrong in (low, same):
            if wrong is low and not blocking:
                assert not wrong.acquire(blocking=False), "held by this thread already"
                continue
            with pytest.raises(LockOrderError, match="taken while holding"):
                wrong.acquire(blocking)
    with high:
        pass


def take_both(first: Lock, second: Lock) -> None:
    with first, second:
        pass


def test_an_interleaving_finds_a_deadlock() -> None:
    """Two tasks that take two locks in opposite orders deadlock under some seed, and the message shows it."""

    def run_all() -> None:
        for seed in range(50):
            with Interleaving(seed) as threads:
                a, b = new_lock("a", 1), new_lock("b", 2)
                threads.run(partial(take_both, a, b), partial(take_both, b, a))

    with pytest.raises(DeadlockError, match="each waits for another one: task-0, task-1"):
        run_all()


def test_an_interleaving_repeats_an_order_of_steps() -> None:
    """The same seed gives the same order, other seeds give others."""

    def order(seed: int) -> list[int]:
        steps: list[int] = []
        with Interleaving(seed) as threads:
            lock = new_lock("a", 1)

            def task(number: int) -> None:
                for _ in range(3):
                    with lock:
                        steps.append(number)

            threads.run(lambda: task(0), lambda: task(1))
        return steps

    assert order(7) == order(7)
    assert len({tuple(order(seed)) for seed in range(20)}) > 5


def test_an_interleaving_raises_what_a_task_raised() -> None:
    """An error in a task ends the run, and the other tasks with it."""

    def fail() -> None:
        raise ValueError("broken")

    with Interleaving(3) as threads, pytest.raises(ValueError, match="broken"):
        threads.run(fail, threads.park)
