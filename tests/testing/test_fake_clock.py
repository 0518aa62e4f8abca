from __future__ import annotations

import threading

import pytest

from handloop.testing import FakeClock
from handloop.testing import fake_clock as module
from support.checks.threads import Background, Waits


def test_a_sleep_ends_when_the_test_moves_time() -> None:
    """Not before its time, and at once then; both kinds of time move."""
    clock = FakeClock(start=5, unix=100)
    sleeper = Background(lambda: clock.sleep(10, threading.Event()))
    clock.wait_for_deadline(15)
    clock.advance(9)
    assert clock.deadlines() == [15]
    clock.advance(1)
    assert sleeper.result() is False
    assert (clock.now(), clock.time()) == (15, 110)


def wait(clock: FakeClock, condition: threading.Condition, seconds: float | None) -> bool:
    with condition:
        return clock.wait(condition, seconds)


def test_a_wait_ends_by_time() -> None:
    """False then, as from threading.Condition; at once when that time is over."""
    clock, condition = FakeClock(), threading.Condition()
    timed_out = Background(lambda: wait(clock, condition, 10))
    clock.wait_for_waiters(1)
    clock.advance(10)
    assert timed_out.result() is False
    assert clock.deadlines() == []
    assert wait(clock, condition, 0) is False
    with condition:
        assert clock.wait_until(condition, 10) is False


@pytest.mark.parametrize("seconds", [10, None])
def test_a_wait_ends_by_notify(monkeypatch: pytest.MonkeyPatch, seconds: float | None) -> None:
    """Before its time, or without one."""
    clock, condition = FakeClock(), threading.Condition()
    waits = Waits(monkeypatch, condition)
    notified = Background(lambda: wait(clock, condition, seconds))
    waits.wait_for()
    with condition:
        condition.notify()
    assert notified.result() is True


def test_a_step_between_deciding_and_waiting_is_not_lost() -> None:
    """A thread that decided to wait for a point in time does not miss a step that reaches it first."""
    clock = FakeClock()
    condition = threading.Condition()
    with condition:
        at = clock.now() + 1
        clock_moved = Background(lambda: FakeClock.advance(clock, 2))
        clock_moved.result()

        assert not clock.wait_until(condition, at)


def test_a_reached_deadline_counts_no_more() -> None:
    """After advance a sleeper is a waiter again only once it sleeps anew."""
    clock = FakeClock()
    stop = threading.Event()

    def sleep_twice() -> float:
        clock.sleep(1, stop)
        clock.sleep(1, stop)
        return clock.now()

    thread = Background(sleep_twice)
    for _ in range(2):
        clock.wait_for_waiters(1)
        clock.advance(1)

    assert thread.result() == 2


def test_a_stop_ends_a_sleep() -> None:
    """One under way, or that would begin; also on a clock that moves itself, which notes each sleep."""
    stop, still = threading.Event(), FakeClock()
    sleeper = Background(lambda: still.sleep(3, stop))
    still.wait_for_deadline(3)
    stop.set()
    assert sleeper.result() is True
    assert still.sleep(3, stop) is True
    stop.clear()
    clock = FakeClock(moves_itself=True)
    assert clock.sleep(3, stop) is False
    stop.set()
    assert clock.sleep(4, stop) is True
    assert (clock.slept, clock.now()) == ([3], 3)


def test_a_wrong_test_fails_and_does_not_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wait has a limit in real time."""
    monkeypatch.setattr(module, "_HARD_LIMIT_SECONDS", 0.01)
    clock, condition = FakeClock(), threading.Condition()
    with condition, pytest.raises(TimeoutError, match="took more than"):
        clock.wait(condition, None)
    with pytest.raises(TimeoutError, match="took more than"):
        clock.sleep(1, threading.Event())
    with pytest.raises(TimeoutError, match="0 of 1 expected waiters"):
        clock.wait_for_waiters(1)
    with pytest.raises(TimeoutError, match="no thread waits for 1"):
        clock.wait_for_deadline(1)
