from __future__ import annotations

import random

import pytest

from handloop.workqueue.item_backoff import ItemBackoff
from support.fake_clock import FakeClock


def next_after(backoff: ItemBackoff, clock: FakeClock, seconds: float) -> float:
    clock.advance(seconds)
    backoff.next("id", clock.now())
    return backoff.get("id")


def at_maximum(clock: FakeClock, **options: object) -> ItemBackoff:
    """From 1 s up to its maximum of 5 s, reached just now."""
    backoff = ItemBackoff(1, 5, clock=clock, **options)  # type: ignore[arg-type]
    while next_after(backoff, clock, 0) < 5:
        pass
    return backoff


def test_delays_double_up_to_the_maximum() -> None:
    """FC-01: get before each next; reset starts over. Follows TestSlowBackoff."""
    clock = FakeClock()
    backoff = ItemBackoff(1, 50, clock=clock)
    delays = []
    for _ in range(10):
        delays.append(backoff.get("id"))
        backoff.next("id", clock.now())
        clock.advance(1)
    assert delays == [0, 1, 2, 4, 8, 16, 32, 50, 50, 50]

    backoff.reset("id")
    assert backoff.get("id") == 0
    backoff.reset("id")


def test_a_quiet_id_is_not_in_backoff() -> None:
    """FC-02: at the maximum of 5 s, an event 11 s later is not held back. Follows TestBackoffReset."""
    clock = FakeClock()
    backoff = at_maximum(clock)
    assert backoff.is_in_backoff_since("id", clock.now())
    assert backoff.is_in_backoff_since_update("id", clock.now())
    clock.advance(11)

    assert not backoff.is_in_backoff_since("id", clock.now())
    assert not backoff.is_in_backoff_since_update("id", clock.now())


def test_the_maximum_is_kept_for_twice_its_length() -> None:
    """
    FC-03: 6 s after reaching 5 s the next delay is still 5 s; 11 s after, it is the first.

    Follows TestBackoffHighWaterMark.
    """
    clock = FakeClock()
    backoff = at_maximum(clock)

    assert next_after(backoff, clock, 6) == 5
    assert next_after(backoff, clock, 10) == 5
    assert next_after(backoff, clock, 11) == 1


def test_gc_removes_what_has_expired() -> None:
    """
    FC-04: with a maximum of 5 s, gc keeps an id for 6 s and removes it after 12 s.

    Follows TestBackoffGC.
    """
    clock = FakeClock()
    backoff = at_maximum(clock)
    clock.advance(6)
    backoff.gc()
    assert backoff.get("id") == 5
    clock.advance(6)
    backoff.gc()

    assert backoff.get("id") == 0


def test_a_custom_expiry_rules_next_and_gc() -> None:
    """FC-05: next starts over and gc removes when the given function says so."""
    clock = FakeClock()
    backoff = at_maximum(clock, has_expired=lambda event_at, updated_at, _max: event_at - updated_at >= 4)
    assert next_after(backoff, clock, 3) == 5
    clock.advance(3)
    backoff.gc()
    assert backoff.get("id") == 5

    assert next_after(backoff, clock, 1) == 1
    clock.advance(4)
    backoff.gc()
    assert backoff.get("id") == 0


@pytest.mark.parametrize("seed", range(5))
def test_jitter(seed: int) -> None:
    """
    FC-06: with a jitter of 0.1 each delay is 2 to 2.1 times the one before, or the maximum.

    Follows TestBackoffWithJitter.
    """
    clock = FakeClock()
    backoff = ItemBackoff(1, 1000, max_jitter=0.1, clock=clock, random=random.Random(seed).random)
    before = next_after(backoff, clock, 0)
    assert 1 < before <= 1.1
    for _ in range(15):
        delay = next_after(backoff, clock, 1)
        assert 2 * before < delay <= 2.1 * before or delay == 1000
        before = delay

    assert before == 1000


def test_in_backoff_by_event_and_by_update() -> None:
    """
    The delay counts from the event to now, or from the last try to the event.

    Follows TestIsInBackOffSinceUpdate.
    """
    clock = FakeClock()
    backoff = ItemBackoff(4, 40, clock=clock)
    assert not backoff.is_in_backoff_since("id", 0)
    assert not backoff.is_in_backoff_since_update("id", 0)
    backoff.next("id", clock.now())
    clock.advance(3)

    assert backoff.is_in_backoff_since("id", 0)
    assert backoff.is_in_backoff_since_update("id", 3.5)
    assert not backoff.is_in_backoff_since_update("id", 4)
    clock.advance(1)
    assert not backoff.is_in_backoff_since("id", 0)


def test_ids_are_independent() -> None:
    """The delay of one id does not touch that of another."""
    clock = FakeClock()
    backoff = ItemBackoff(1, 50, clock=clock)
    for _ in range(3):
        backoff.next("one", clock.now())
    backoff.next("two", clock.now())

    assert (backoff.get("one"), backoff.get("two")) == (4, 1)
