from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf

import pytest

from handloop.testing.shared_clock import SharedClock
from handloop_sandbox.clock import SettableClock
from support.checks.threads import Background


@pytest.fixture
def moved() -> SettableClock:
    return SettableClock(1_700_000_000.0, frozen=True)


def test_it_has_the_servers_time(moved: SettableClock) -> None:
    """Both of its readings."""
    clock = SharedClock(moved)
    moved.advance(60)
    assert clock.now() == clock.time() == moved.time() == 1_700_000_060.0


def test_a_sleep_ends_when_the_server_is_there(moved: SettableClock) -> None:
    """However long it is to be; or with its event."""
    clock, stop = SharedClock(moved), threading.Event()
    sleeping = Background(lambda: clock.sleep(86400, stop))
    moved.advance(86400)
    assert sleeping.result() is False
    stop.set()
    assert clock.sleep(86400, stop) is True


class _TimedOut(threading.Condition):
    """Each wait times out, after something has happened."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._happens = happens
        self._waited = False

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        assert not self._waited, "waited twice"
        self._waited = True
        self._happens()
        return False


@pytest.mark.parametrize("until", [False, True])
def test_a_wait_ends_with_time_or_with_a_word(moved: SettableClock, until: bool) -> None:
    """False when its time has come, else True: a word that comes as a wait times out is lost on the wait."""
    clock = SharedClock(moved)

    def wait(condition: threading.Condition) -> bool:
        with condition:
            at = moved.time() + 86400
            return clock.wait_until(condition, at) if until else clock.wait(condition, 86400)

    assert wait(_TimedOut(lambda: None)) is True
    assert wait(_TimedOut(lambda: moved.advance(86400))) is False


@pytest.mark.parametrize("at", [None, inf])
def test_a_wait_without_an_end_ends_with_a_word(moved: SettableClock, at: float | None) -> None:
    """It has no time to look for."""
    clock, condition = SharedClock(moved), threading.Condition()

    def notify() -> None:
        with condition:
            condition.notify()

    with condition:
        telling = Background(notify)
        assert clock.wait_until(condition, at) is True
    telling.result()
