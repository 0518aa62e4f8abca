"""Notes the lines that threads execute, so that a chapter shows what happened, not what should have."""

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
    Notes each time that one of the given lines is executed by this thread or by one that starts meanwhile.

    State: hits counts the executions by place; threads names the thread of the first; _active says whether
    we still take notes. Any traced thread writes these, and each write is one interpreter operation.
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
        """The counts since the last call."""
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
