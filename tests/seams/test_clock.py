from __future__ import annotations

import math
import threading
import time

import pytest

from handloop.seams.clock import REAL_CLOCK
from handloop.testing.fake_clock import FakeClock
from support.checks.threads import Background, Waits


def wait_until_notified(
    condition: threading.Condition, wait: str, argument: float | None
) -> Background[bool]:
    """A thread in that wait of the real clock."""

    def run() -> bool:
        with condition:
            result: bool = getattr(REAL_CLOCK, wait)(condition, argument)
            return result

    return Background(run)


def test_the_real_clock_is_the_machines() -> None:
    """Now never goes back, time is unix."""
    before = REAL_CLOCK.now(), time.time()
    now, unix = REAL_CLOCK.now(), REAL_CLOCK.time()

    assert before[0] <= now <= REAL_CLOCK.now()
    assert before[1] - 1 <= unix <= time.time() + 1


@pytest.mark.skipif(not hasattr(time, "CLOCK_BOOTTIME"), reason="no clock here counts sleep")
def test_now_counts_what_the_machine_slept() -> None:
    """A leader whose machine was suspended must not think that its lease is fresh."""
    before = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert before <= REAL_CLOCK.now() <= time.clock_gettime(time.CLOCK_BOOTTIME)


def test_waits_end_when_their_time_has_passed() -> None:
    """A timeout that is over and a point in the past return False; a stop that is set ends a sleep."""
    condition = threading.Condition()
    stop = threading.Event()
    with condition:
        assert not REAL_CLOCK.wait(condition, 0)
        assert not REAL_CLOCK.wait(condition, -1)
        assert not REAL_CLOCK.wait_until(condition, REAL_CLOCK.now() - 1)
        assert not REAL_CLOCK.wait_until(condition, REAL_CLOCK.now() + 0.001)
    assert not REAL_CLOCK.sleep(-1, stop)
    assert not REAL_CLOCK.sleep(0.001, stop)
    stop.set()

    assert REAL_CLOCK.sleep(math.inf, stop)


@pytest.mark.parametrize("wait", ["wait", "wait_until"])
@pytest.mark.parametrize("argument", [None, math.inf, 1e12])
def test_long_waits_end_when_notified(
    monkeypatch: pytest.MonkeyPatch, wait: str, argument: float | None
) -> None:
    """Waits for ever, and longer than the standard library can count, end by a notification."""
    condition = threading.Condition()
    waits = Waits(monkeypatch, condition)
    thread = wait_until_notified(condition, wait, argument)
    waits.wait_for()
    with condition:
        condition.notify()

    assert thread.result()


def test_fake_time_moves_only_by_advance() -> None:
    """Both counts of the fake clock move together, by what advance says."""
    clock = FakeClock(start=5, unix=1000)
    assert (clock.now(), clock.time()) == (5, 1000)
    clock.advance(2.5)

    assert (clock.now(), clock.time()) == (7.5, 1002.5)


def test_fake_waits_end_in_virtual_time() -> None:
    """A wait returns False once virtual time has reached its end, at once if it has already."""
    clock = FakeClock()
    condition = threading.Condition()

    def wait() -> bool:
        with condition:
            return clock.wait(condition, 1)

    with condition:
        assert not clock.wait(condition, 0)
        assert not clock.wait_until(condition, 0)
    thread = Background(wait)
    clock.wait_for_deadline(1)
    assert clock.deadlines() == [1]
    clock.advance(1)

    assert not thread.result()
    assert clock.deadlines() == []


def test_fake_waits_end_when_notified() -> None:
    """A notification ends a wait before its time, and one without a time."""
    clock = FakeClock()
    for timeout in (1, None):
        condition = threading.Condition()
        begun = threading.Event()

        def wait(
            condition: threading.Condition = condition,
            begun: threading.Event = begun,
            timeout: float | None = timeout,
        ) -> bool:
            with condition:
                begun.set()
                return clock.wait(condition, timeout)

        thread = Background(wait)
        assert begun.wait(20)
        with condition:
            condition.notify()
        assert thread.result()


def test_a_step_between_deciding_and_waiting_is_not_lost() -> None:
    """A thread that decided to wait for a point in time does not miss a step that reaches it first."""
    clock = FakeClock()
    condition = threading.Condition()
    with condition:
        at = clock.now() + 1
        clock_moved = Background(lambda: FakeClock.advance(clock, 2))
        clock_moved.result()

        assert not clock.wait_until(condition, at)


def test_fake_sleep_ends_with_time_or_stop() -> None:
    """A sleep ends when virtual time has passed, or returns True when stop is set."""
    clock = FakeClock()
    stop = threading.Event()
    thread = Background(lambda: clock.sleep(3, stop))
    clock.wait_for_waiters(1)
    clock.advance(3)
    assert not thread.result()

    thread = Background(lambda: clock.sleep(3, stop))
    clock.wait_for_deadline(6)
    stop.set()
    assert thread.result()


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
