from __future__ import annotations

import random

import pytest

from handloop.informers.backoff import ExponentialBackoff
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock

REFLECTOR_BASES = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30, 30]


def zero() -> float:
    return 0.0


def reflector_backoff(clock: FakeClock, seed: int | None = None) -> ExponentialBackoff:
    draw = zero if seed is None else random.Random(seed).random
    return ExponentialBackoff(0.8, 30, 120, seams=Seams(clock=clock, random=draw))


@pytest.mark.parametrize("seed", range(5))
def test_reflector_jitter_keeps_within_twice_the_base(seed: int) -> None:
    """Each delay lies in [base, 2 * base)."""
    backoff = reflector_backoff(FakeClock(), seed)

    for base in REFLECTOR_BASES:
        assert base <= backoff.next() < 2 * base


def test_reset_counts_from_the_last_reset_not_from_the_last_delay() -> None:
    """Under lasting failure the delay falls back once the reset interval has passed since it last did."""
    clock = FakeClock()
    backoff = reflector_backoff(clock)
    delays = []
    for _ in range(14):
        delays.append(backoff.next())
        clock.advance(delays[-1])

    # 0.8 + ... + 25.6 + 30 + 30 = 110.4 s; the next try comes 140.4 s after the start
    assert delays == pytest.approx([*REFLECTOR_BASES[:6], 30, 30, 30, *REFLECTOR_BASES[:5]])


def test_reset_needs_more_than_the_interval() -> None:
    """At exactly the interval the delay still grows; after it, it starts over, for another interval."""
    clock = FakeClock()
    backoff = reflector_backoff(clock)
    assert backoff.next() == pytest.approx(0.8)
    clock.advance(120)
    assert backoff.next() == pytest.approx(1.6)
    clock.advance(1)
    assert backoff.next() == pytest.approx(0.8)
    clock.advance(120)

    assert backoff.next() == pytest.approx(1.6)


def test_reset_starts_over_at_once() -> None:
    """The delay falls back to the shortest, and the interval is counted from there."""
    clock = FakeClock()
    backoff = reflector_backoff(clock)
    assert [backoff.next() for _ in range(3)] == pytest.approx([0.8, 1.6, 3.2])
    clock.advance(100)
    backoff.reset()
    assert backoff.next() == pytest.approx(0.8)
    clock.advance(30)
    assert backoff.next() == pytest.approx(1.6)
