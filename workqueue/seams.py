"""
What tests replace: the clock, the source of random numbers, and the start of threads.

A component takes them as one `Seams`, and hands it on whole. A part that only reads the time takes a `Clock`.
Locks are made in one place, too: see locks.py.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import random as random_number
from typing import Final, Protocol, TypeVar

K = TypeVar("K")


class Clock(Protocol):
    """Every wait and every timestamp goes through one of these, so that a test can move time itself."""

    def now(self) -> float:
        """Monotonic seconds; only differences mean anything."""

    def time(self) -> float:
        """Seconds since the Unix epoch."""

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        """
        Wait once on condition; the caller loops on its predicate.

        Returns: False when the timeout has passed. May return True without cause.
        Locks: expects condition held.
        """

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """
        Wait once on condition, at most until now() reaches at; the caller loops on its predicate.

        Unlike a timeout, a point in time does not slip when time passes between computing it and waiting.

        Args: at as `now()` counts; None or `math.inf` waits for ever.
        Returns: False when that point has been reached. May return True without cause.
        Locks: expects condition held.
        """

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """
        Wait until the time has passed or stop is set.

        Returns: True when stop is set.
        """


def _boot_seconds() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


# on Linux, one that goes on while the machine sleeps: others' leases, tokens and connections do
_monotonic: Final[Callable[[], float]] = _boot_seconds if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic


class RealClock:
    """The machine's clock."""

    def now(self) -> float:
        """Monotonic seconds, with those that the machine slept where that can be known (Linux)."""
        return _monotonic()

    def time(self) -> float:
        """Seconds since the Unix epoch."""
        return time.time()

    def wait(self, condition: threading.Condition, timeout_seconds: float | None) -> bool:
        """Wait once on condition, at most timeout_seconds; None waits for ever."""
        return condition.wait(None if timeout_seconds is None else _bounded(timeout_seconds))

    def wait_until(self, condition: threading.Condition, at: float | None) -> bool:
        """Wait once on condition, at most until now() reaches at; None waits for ever."""
        if at is None:
            return condition.wait()
        condition.wait(_bounded(at - _monotonic()))
        return _monotonic() < at

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        """Wait until the time has passed or stop is set; True when stop is set."""
        return stop.wait(_bounded(seconds))


def _bounded(seconds: float) -> float:
    """What the standard library accepts as a timeout: it raises for infinity and for more than 292 years."""
    return min(max(seconds, 0.0), threading.TIMEOUT_MAX)


REAL_CLOCK = RealClock()


class Joinable(Protocol):
    """A started thread."""

    def join(self, timeout: float | None = None) -> None:
        """Wait for its end."""

    def is_alive(self) -> bool:
        """Whether it still runs."""


Spawn = Callable[[str, Callable[[], None]], Joinable]
"""Start a thread: (name, target) -> handle. Names are `<role>-<resource or index>`."""


def spawn_thread(name: str, target: Callable[[], None]) -> Joinable:
    """Start a daemon thread: an interpreter that exits does not wait for a stuck one."""
    thread = threading.Thread(target=target, name=name, daemon=True)
    thread.start()
    return thread


def join_all(threads: Mapping[K, Joinable], seconds: float, clock: Clock) -> list[K]:
    """
    Wait until all have ended, together at most so long; infinity = as long as it takes.

    Returns: the keys of those that have not.
    """
    deadline = clock.now() + seconds
    for thread in threads.values():
        thread.join(None if deadline == math.inf else max(0.0, deadline - clock.now()))
    return [key for key, thread in threads.items() if thread.is_alive()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seams:
    """
    Where a component meets time, chance and threads.

    random returns a number in [0, 1). All three are called from any thread.
    """

    clock: Clock = REAL_CLOCK
    random: Callable[[], float] = random_number
    spawn: Spawn = spawn_thread


REAL_SEAMS: Final = Seams()
