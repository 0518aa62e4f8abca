from __future__ import annotations

import threading

import pytest

from handloop.testing import FakeClock
from handloop.testing import fake_clock as module
from support.checks.threads import Background


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


def test_a_wait_ends_by_time_or_by_notify() -> None:
    """False for time, as threading.Condition."""
    clock, condition = FakeClock(), threading.Condition()

    def wait() -> bool:
        with condition:
            return clock.wait(condition, 10)

    timed_out = Background(wait)
    clock.wait_for_waiters(1)
    clock.advance(10)
    assert timed_out.result() is False
    notified = Background(wait)
    clock.wait_for_waiters(1)
    with condition:
        condition.notify()
    assert notified.result() is True
    with condition:
        assert clock.wait_until(condition, 10) is False


def test_a_stop_ends_a_sleep() -> None:
    """Also on a clock that moves itself, which notes each sleep."""
    stop = threading.Event()
    clock = FakeClock(moves_itself=True)
    assert clock.sleep(3, stop) is False
    stop.set()
    assert clock.sleep(4, stop) is True
    assert (clock.slept, clock.now()) == ([3], 3)
    assert FakeClock().sleep(3, stop) is True


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
    with pytest.raises(TimeoutError, match="nobody waits for 1"):
        clock.wait_for_deadline(1)
