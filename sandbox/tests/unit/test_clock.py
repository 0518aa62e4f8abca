from __future__ import annotations

import time

import pytest

from handloop_sandbox.clock import SettableClock


def test_it_starts_at_the_wall_clocks_time() -> None:
    """Unless it is told another one."""
    assert abs(SettableClock().time() - time.time()) < 5


def test_it_runs_until_it_is_frozen() -> None:
    """It goes on by itself, stands still when frozen, and never goes back."""
    clock = SettableClock(1000.0)
    assert clock.is_running
    assert 1000.0 <= clock.time() <= clock.time()
    clock.freeze()
    assert clock.time() == clock.time()
    before = clock.time()
    clock.run()
    assert clock.time() >= before


def test_it_is_set_and_moved_on() -> None:
    """Forward by seconds or to a time, frozen or not."""
    clock = SettableClock(1000.0, frozen=True)
    assert clock.advance(5) == clock.time() == 1005.0
    clock.set(2000.0)
    assert clock.time() == 2000.0
    clock.run()
    clock.set(3000.0)
    assert clock.time() >= 3000.0
    assert clock.advance(10) >= 3010.0


def test_it_does_not_go_back() -> None:
    """Neither by a step nor by a time that has passed."""
    clock = SettableClock(1000.0, frozen=True)
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)
    with pytest.raises(ValueError, match="does not go back"):
        clock.set(999.0)


def test_listeners_hear_when_it_was_moved() -> None:
    """Not when it merely runs or is frozen."""
    clock = SettableClock()
    heard: list[float] = []
    clock.listen(lambda: heard.append(clock.time()))
    clock.freeze()
    assert heard == []
    clock.advance(1)
    clock.set(clock.time() + 1)
    assert len(heard) == 2
