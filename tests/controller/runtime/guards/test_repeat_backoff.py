"""Repeating a change ever more rarely if it is undone each time."""

from __future__ import annotations

from contextlib import suppress

import pytest

from handloop.client.errors import ConnectionBroken
from handloop.controller.runtime.guards.repeat_backoff import (
    FIRST_SECONDS,
    MAX_SECONDS,
    QUIET_SECONDS,
    HeldBackError,
    RepeatBackoff,
)
from handloop.informers.keys import ObjectName
from handloop.testing.fake_clock import FakeClock

NAME = ObjectName("default", "a")


class Writes:
    """A RepeatBackoff, and how often something was done behind it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.backoff = RepeatBackoff("undone", clock=self.clock)
        self.done = 0

    def write(self, value: object = 1, name: ObjectName = NAME) -> bool:
        """Try to do it."""

        def do() -> bool:
            self.done += 1
            return True

        return self.backoff.attempt(name, value, do)

    def held_back(self) -> bool:
        """Whether it is too early for the same again."""
        before = self.done
        with pytest.raises(HeldBackError, match=r"^undone: held back for 10\.0 s$"):
            self.write()
        return self.done == before

    def wait_written(self) -> float:
        """Try every second until it is done again; returns how long that took."""
        began_at, before = self.clock.now(), self.done
        while self.done == before:
            self.clock.advance(1)
            with suppress(HeldBackError):
                self.write()
        return self.clock.now() - began_at


def test_repetitions_come_ever_more_rarely() -> None:
    """After 10 s, 20 s, 40 s, ... 300 s; the first one, and another key, at once."""
    writes = Writes()
    assert writes.write()
    assert writes.held_back()
    assert writes.write(name=ObjectName("default", "b"))
    waits = [writes.wait_written() for _ in range(7)]
    assert waits == [FIRST_SECONDS, 20, 40, 80, 160, MAX_SECONDS, MAX_SECONDS]


def test_another_value_is_no_repetition() -> None:
    """Nor is the first one after it."""
    writes = Writes()
    assert writes.write(1)
    assert writes.write(2)
    assert writes.write(1)
    assert writes.held_back()


def test_a_quiet_time_starts_over() -> None:
    """A user who undoes something every few minutes is not held back for longer and longer."""
    writes = Writes()
    writes.write()
    for _ in range(3):
        writes.clock.advance(2 * FIRST_SECONDS + QUIET_SECONDS)
        assert writes.write()
    assert writes.wait_written() == FIRST_SECONDS


def test_what_failed_or_was_not_done_is_no_repetition() -> None:
    """It was not undone: the next try is the caller's decision."""
    writes = Writes()

    def fail() -> bool:
        raise ConnectionBroken("reset by peer", outcome_unknown=True)

    for _ in range(2):
        with pytest.raises(ConnectionBroken):
            writes.backoff.attempt(NAME, 1, fail)
        assert not writes.backoff.attempt(NAME, 1, lambda: False)
    assert writes.write()
    with pytest.raises(ConnectionBroken):
        writes.backoff.attempt(NAME, 2, fail)
    assert writes.write()
