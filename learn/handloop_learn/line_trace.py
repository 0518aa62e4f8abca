"""Records the lines that threads execute, so that a chapter shows what really ran."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Self

from handloop.picture.steps import Place


class LineTrace:
    """
    Records each execution of the given lines, by this thread and by threads that start inside its `with`.

    State: hits contains the number of executions of each place. threads contains the thread that ran each
    place first. _active is whether executions are still recorded. Any traced thread writes hits and threads,
    without a lock.
    """

    def __init__(self, places: Iterable[Place]) -> None:
        self.hits: Counter[Place] = Counter()
        self.threads: dict[Place, str] = {}
        self._places = frozenset(places)
        self._files = frozenset(place.file for place in self._places)
        self._before: Callable[..., Any] | None = None
        self._active = False

    def __enter__(self) -> Self:
        self._before = sys.gettrace()
        self._active = True
        threading.settrace(self._call)
        sys.settrace(self._call)
        return self

    def __exit__(self, *_: object) -> None:
        # threads that keep running keep the trace function until their next call
        self._active = False
        threading.settrace(self._before)
        sys.settrace(self._before)

    def take(self) -> Counter[Place]:
        """Return the counts since the last call."""
        taken, self.hits = self.hits, Counter()
        return taken

    def _call(self, frame: FrameType, _event: str, _argument: object) -> Callable[..., Any] | None:
        if not self._active:
            return None
        return self._line if frame.f_code.co_filename in self._files else None

    def _line(self, frame: FrameType, event: str, _argument: object) -> Callable[..., Any] | None:
        place = Place(frame.f_code.co_filename, frame.f_lineno)
        if event == "line" and place in self._places and self._active:
            self.threads.setdefault(place, threading.current_thread().name)
            self.hits[place] += 1
        return self._line
