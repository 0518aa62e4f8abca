from __future__ import annotations

import random

import pytest

from handloop.seams.locks import new_lock
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.schedule import Schedule
from support.rigs.reconcile_rig import no_thread


class Rig:
    """A schedule without a thread, and what it handed over."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.handed_over: list[str] = []
        self.schedule: Schedule[str] = Schedule(
            new_lock("test", 80),
            self.handed_over.extend,
            name="",
            seams=Seams(clock=self.clock, spawn=no_thread),
        )

    def pass_time(self, seconds: float) -> list[str]:
        """Plays the thread. Returns: the due items."""
        self.clock.advance(seconds)
        self.handed_over.clear()
        with self.schedule._changed:
            self.schedule._hand_over_due_locked()
        return list(self.handed_over)


@pytest.fixture
def rig() -> Rig:
    return Rig()


def test_an_item_is_handed_over_once_at_the_earliest_time_asked_for(rig: Rig) -> None:
    """A later time changes nothing; the entry of a time that gave way is skipped."""
    with rig.schedule._changed:
        for seconds in (3, 2, 5):
            rig.schedule.put_locked("a", seconds)
        assert rig.schedule.seconds_left_locked(1) == {"a": 2}

    assert [rig.pass_time(1) for _ in range(5)] == [[], ["a"], [], [], []]


def test_the_loop_waits_for_an_earlier_item_as_soon_as_there_is_one() -> None:
    """And no more for the one that it knew."""
    clock, lock = FakeClock(), new_lock("test", 80)
    schedule: Schedule[str] = Schedule(lock, lambda _items: None, name="", seams=Seams(clock=clock))
    for seconds in (100, 1):
        with lock:
            schedule.put_locked(f"in {seconds} s", seconds)
        clock.wait_for_deadline(seconds)
    with lock:
        schedule.stop_locked()
    schedule.join()


def test_an_item_that_is_discarded_can_be_put_again(rig: Rig) -> None:
    """Its first time does not count any more."""
    with rig.schedule._changed:
        rig.schedule.put_locked("a", 1)
        rig.schedule.discard_locked("a")
        rig.schedule.discard_locked("unknown")
        assert len(rig.schedule) == 0
        rig.schedule.put_locked("a", 2)

    assert [rig.pass_time(1), rig.pass_time(1)] == [[], ["a"]]


def test_a_stop_drops_all(rig: Rig) -> None:
    """A later put is not taken."""
    with rig.schedule._changed:
        rig.schedule.put_locked("a", 1)
        rig.schedule.stop_locked()
        rig.schedule.put_locked("b", 1)

    assert len(rig.schedule) == 0
    assert rig.pass_time(1) == []


def test_entries_that_do_not_count_are_swept(rig: Rig) -> None:
    """Moving an item up or discarding it again and again does not let the heap grow, and loses no item."""
    with rig.schedule._changed:
        rig.schedule.put_locked("other", 500)
        for n in range(1000):
            rig.schedule.put_locked("x", 1000 - n)
            rig.schedule.put_locked("y", 1)
            rig.schedule.discard_locked("y")
        assert len(rig.schedule._heap) < 100

    assert rig.pass_time(1000) == ["x", "other"]


def test_a_sweep_keeps_the_order_of_times(rig: Rig) -> None:
    """Items that are moved up again and again, and so swept, come in the order of their times."""
    rng = random.Random(1)
    delays = {f"item-{n}": 1000.0 for n in range(50)}
    with rig.schedule._changed:
        for _ in range(300):
            item = rng.choice(sorted(delays))
            delays[item] *= rng.uniform(0.5, 1)
            rig.schedule.put_locked(item, delays[item])

    in_time = sorted(rig.schedule._ready_at, key=lambda item: delays[item])
    assert rig.pass_time(1000) == in_time
    assert len(in_time) == len({item for item in delays if delays[item] < 1000})
