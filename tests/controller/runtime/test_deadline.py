"""Until when a reconcile may work."""

from __future__ import annotations

import math
import threading

import pytest

from handloop.controller.runtime.deadline import Deadline
from handloop.controller.runtime.reconcile_errors import DeadlineExceededError
from support.fake_clock import FakeClock
from support.threads import Background


def test_time_runs_out() -> None:
    """remaining() counts down to 0, and check() raises from then on."""
    clock = FakeClock()
    deadline = Deadline(10, clock=clock)
    clock.advance(4)
    assert deadline.remaining() == 6
    deadline.check()
    clock.advance(7)
    assert (deadline.remaining(), deadline.passed(), deadline.exceeded()) == (0, True, True)
    with pytest.raises(DeadlineExceededError, match="deadline exceeded"):
        deadline.check()


def test_without_seconds_only_the_stop_counts() -> None:
    """No limit, until the program stops: then there is no time left, though no deadline has passed."""
    stop = threading.Event()
    deadline = Deadline(stop=stop, clock=FakeClock())
    assert deadline.remaining() == math.inf
    stop.set()
    assert (deadline.remaining(), deadline.passed(), deadline.exceeded()) == (0, False, True)
    with pytest.raises(DeadlineExceededError, match="stopping"):
        deadline.check()


def test_a_sleep_ends_at_the_deadline() -> None:
    """Asking for more than there is waits for what there is, and says that it was too much."""
    clock = FakeClock()
    deadline = Deadline(3, clock=clock)
    short = Background(lambda: deadline.sleep(1))
    clock.wait_for_deadline(1)
    clock.advance(1)
    assert short.result()
    long = Background(lambda: deadline.sleep(60))
    clock.wait_for_deadline(3)
    clock.advance(2)
    assert not long.result()
