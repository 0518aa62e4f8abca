"""Runnables of a manager that record what becomes of them."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Worker:
    """A runnable that records its begin and end."""

    def __init__(self, story: list[str], name: str, at_end: Callable[[], None] = lambda: None) -> None:
        self.name = name
        self._story = story
        self._at_end = at_end
        self.trouble: str | None = None

    def run(self, stop: threading.Event) -> None:
        self._story.append(f"{self.name} begins")
        stop.wait(20)
        self._at_end()
        self._story.append(f"{self.name} ends")

    def workers_check(self) -> str | None:
        return self.trouble


def expect(event: threading.Event) -> None:
    """Wait for something that will come."""
    assert event.wait(20)


class Free(Worker):
    """Runs without leading."""

    needs_leader_election = False


class Failing(Worker):
    """Raises at the stop, or at once."""

    def __init__(self, error: BaseException, name: str, *, at_once: bool = False) -> None:
        super().__init__([], name)
        self._error = error
        self._at_once = at_once

    def run(self, stop: threading.Event) -> None:
        if not self._at_once:
            stop.wait(20)
        raise self._error
