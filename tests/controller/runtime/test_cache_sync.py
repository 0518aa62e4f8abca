"""Waiting for caches."""

from __future__ import annotations

import math
import threading

import pytest

from handloop.controller.runtime.caches import CacheSyncTimeoutError, wait_for_caches
from support.fake_clock import FakeClock
from support.fast_clock import FastClock
from support.threads import Background


def test_filled_caches_are_not_waited_for() -> None:
    """The answer comes at once."""
    assert wait_for_caches("c", list, threading.Event(), timeout_seconds=0, clock=FakeClock())


def test_the_error_names_the_kind_and_what_the_server_said() -> None:
    """Whoever reads it knows which CRD or which permission is missing."""
    troubles = ["foos.example.com: the server could not find the requested resource", "services: no list yet"]
    clock = FakeClock(moves_itself=True)
    with pytest.raises(CacheSyncTimeoutError) as caught:
        wait_for_caches("controller c", lambda: troubles, threading.Event(), timeout_seconds=120, clock=clock)
    assert str(caught.value) == (
        "controller c: timed out after 120s waiting for caches to sync: "
        "foos.example.com: the server could not find the requested resource; services: no list yet"
    )
    assert caught.value.troubles == tuple(troubles)


def test_it_goes_on_as_soon_as_nothing_is_wrong() -> None:
    """Asked ten times a second."""
    clock, stop = FakeClock(), threading.Event()
    troubles = ["foos: not yet"]
    waiting = Background(
        lambda: wait_for_caches("c", lambda: list(troubles), stop, timeout_seconds=120, clock=clock)
    )
    clock.wait_for_deadline(0.1)
    troubles.clear()
    clock.advance(0.1)
    assert waiting.result() is True


def test_a_stop_ends_the_wait() -> None:
    """False, and no error: nobody waits for it any more."""
    stop = threading.Event()
    stop.set()
    assert not wait_for_caches(
        "c", lambda: ["x"], stop, timeout_seconds=math.inf, clock=FastClock(only_sleeps=True)
    )
    assert not wait_for_caches("c", list, stop, timeout_seconds=math.inf, clock=FastClock(only_sleeps=True))
