"""Threads whose outcome a test waits for, with a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Generic, TypeVar

import pytest

from handloop.testing.fake_clock import FakeClock

R = TypeVar("R")

DEADLINE_SECONDS: Final = 20.0


class Background(Generic[R]):
    """Runs a function in a thread; `result` waits for it and returns or raises what it did."""

    def __init__(self, function: Callable[[], R]) -> None:
        self._function = function
        self._results: list[R] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=f"background-{function}", daemon=True)
        self._thread.start()

    def result(self) -> R:
        """What the function returned; raises what it raised, or AssertionError after the deadline."""
        self._thread.join(DEADLINE_SECONDS)
        assert not self._thread.is_alive(), f"{self._thread.name} still runs"
        if self._error is not None:
            raise self._error
        return self._results[0]

    def has_ended(self) -> bool:
        """Whether the function has returned or raised."""
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            self._results.append(self._function())
        except BaseException as err:
            self._error = err


class Waits:
    """Counts the waits on a condition, so that a test can act once a thread is blocked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, condition: threading.Condition) -> None:
        self._begun = threading.Semaphore(0)
        self._wait = condition.wait
        monkeypatch.setattr(condition, "wait", self._announced)

    def wait_for(self, count: int = 1) -> None:
        """Block until count more waits have begun. Who then takes the condition's lock finds them waiting."""
        for _ in range(count):
            assert self._begun.acquire(timeout=DEADLINE_SECONDS), "nobody waits on the condition"

    def _announced(self, timeout: float | None = None) -> bool:
        self._begun.release()
        return self._wait(timeout)


class Gate:
    """A function that holds each caller until it is opened."""

    def __init__(self) -> None:
        self._entered = threading.Event()
        self._opened = threading.Event()

    def __call__(self, *_: object) -> None:
        self._entered.set()
        assert self._opened.wait(DEADLINE_SECONDS), "nobody opens it"

    def wait_entered(self) -> None:
        """Block until somebody is held."""
        assert self._entered.wait(DEADLINE_SECONDS), "nobody comes"

    def open(self) -> None:
        """Let all callers go, for good."""
        self._opened.set()


class StuckThread:
    """Implements handloop.seams.threads.Joinable: it never ends. A wait for it makes the clock go on."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock

    def join(self, timeout: float | None = None) -> None:
        assert timeout is not None, "would wait for ever"
        self._clock.advance(timeout)

    def is_alive(self) -> bool:
        return True
