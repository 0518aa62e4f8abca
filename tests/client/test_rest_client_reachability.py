"""Waiting for a server to come back."""

from __future__ import annotations

import threading

from handloop.client.rest_client import Reachability
from support.fake_clock import FakeClock
from support.threads import Background


class _Rig:
    """One who waits for up to 30 s."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.stop = threading.Event()
        self.reachability = Reachability(clock=self.clock)
        self.waiter = Background(lambda: self.reachability.wait_for_return(30, self.stop))
        self.clock.wait_for_deadline(30)


def test_the_first_answer_after_a_loss_ends_the_wait() -> None:
    """Whoever made the request."""
    rig = _Rig()
    rig.reachability.lost()
    rig.reachability.answered()
    assert rig.waiter.result() is True


def test_answers_of_a_server_that_was_not_gone_wake_nobody() -> None:
    """Only a return counts, not every answer; the wait ends with its time."""
    rig = _Rig()
    rig.reachability.answered()
    rig.clock.advance(29)
    rig.reachability.answered()
    rig.clock.advance(1)
    assert rig.waiter.result() is False


def test_a_return_before_the_wait_does_not_count() -> None:
    """Who waits had no answer after that."""
    reachability = Reachability(clock=FakeClock())
    reachability.lost()
    reachability.answered()
    assert not reachability.wait_for_return(0, threading.Event())


def test_stop_ends_the_wait() -> None:
    """Set, and then wake: no return."""
    rig = _Rig()
    rig.stop.set()
    rig.reachability.wake()
    assert rig.waiter.result() is False


def test_all_who_wait_are_told() -> None:
    """One answer is enough for any number of them."""
    rig = _Rig()
    others = [Background(lambda: rig.reachability.wait_for_return(20, rig.stop)) for _ in range(3)]
    rig.clock.wait_for_waiters(4)
    rig.reachability.lost()
    rig.reachability.lost()
    rig.reachability.answered()
    assert [waiter.result() for waiter in (rig.waiter, *others)] == [True] * 4
