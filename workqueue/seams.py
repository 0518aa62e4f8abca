"""
Parts that tests replace: the clock, the source of random numbers, the start of threads, and locks.

A component takes the first three as one `Seams`, and hands it on whole. A part that only reads the time takes
a `Clock`. Locks come from `new_lock`, so that a test can put in locks that check the order of taking.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from contextvars import Context
from dataclasses import dataclass
from random import random as random_number
from types import TracebackType
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


# on Linux, a clock that goes on while the machine sleeps: foreign leases, tokens and connections go on, too
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
    """A timeout for the standard library, which raises for infinity and for more than 292 years."""
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
    # a free-threaded Python would hand on the context variables of the thread that happens to start it
    thread = threading.Thread(target=Context().run, args=(target,), name=name, daemon=True)
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
    A component's access to time, chance and threads.

    random returns a number in [0, 1). All three are called from any thread.
    """

    clock: Clock = REAL_CLOCK
    random: Callable[[], float] = random_number
    spawn: Spawn = spawn_thread

    def __post_init__(self) -> None:
        """Raises: TypeError for a clock that lacks a method, before threads die of it."""
        methods = ("now", "time", "wait", "wait_until", "sleep")
        missing = [name for name in methods if not callable(getattr(self.clock, name, None))]
        if missing:
            raise TypeError(f"{self.clock!r} is no handloop Clock: it lacks {', '.join(missing)}")


REAL_SEAMS: Final = Seams()


_YIELDS_BEFORE_BLOCKING: Final = 64


class Lock(Protocol):
    """The methods that `threading.Lock` and the ranked lock of the tests share."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:  # noqa: FBT001, FBT002 - threading's own signature
        """Take the lock."""

    def release(self) -> None:
        """Give the lock back."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


LockFactory = Callable[[str, int], Lock]


def plain_lock(_name: str, _rank: int) -> Lock:
    """A lock of the standard library."""
    return threading.Lock()


_factory: LockFactory = plain_lock


def set_lock_factory(factory: LockFactory) -> LockFactory:
    """Use factory for locks made from here on; returns the one before. For tests."""
    global _factory
    before, _factory = _factory, factory
    return before


def new_lock(name: str, rank: int) -> Lock:
    """
    A lock that a thread may take only while it holds none of the same or a higher rank.

    Args: name as `Class._field`; rank from the table in ARCHITECTURE.md.
    """
    return _factory(name, rank)


def new_condition(name: str, rank: int) -> threading.Condition:
    """A condition over such a lock."""
    return condition_over(new_lock(name, rank))


def condition_over(lock: Lock) -> threading.Condition:
    """
    A condition over a lock that guards more than this condition.

    A lock with a `new_condition()` of its own makes it: so a test can decide which thread a wake-up lets run.
    """
    own: Callable[[], threading.Condition] | None = getattr(lock, "new_condition", None)
    return own() if own is not None else threading.Condition(lock)  # type: ignore[arg-type]


def acquire_contended(lock: Lock) -> None:
    """
    Take a lock that an attempt without blocking has just found taken.

    Yields a few times before it blocks. A thread that blocks is given the lock while it still has to wait for
    the interpreter's own lock; the running thread comes back for the lock meanwhile, blocks as well, and from
    there on every operation of a busy lock costs a switch of threads. A thread that yields instead lets the
    owner finish.
    """
    for _ in range(_YIELDS_BEFORE_BLOCKING):
        time.sleep(0)
        if lock.acquire(blocking=False):
            return
    lock.acquire()
