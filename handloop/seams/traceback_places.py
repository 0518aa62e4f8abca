"""Remembers where errors were raised, so that each place shows its traceback only once."""

from __future__ import annotations

import threading
from typing import Final

_MAX_REMEMBERED: Final = 1000


class TracebackPlaces:
    """
    The places whose tracebacks have already been shown.

    State, under _lock: _seen, with the type of each error and the file and line that raised it.
    Threads: usable from any thread.

    The lock is a leaf, because no function is called while it is held.
    """

    def __init__(self) -> None:
        # Do not use new_lock here, because logging imports this module, and new_lock's module sets up
        # logging.
        self._lock = threading.Lock()
        self._seen: set[tuple[type[BaseException], str, int]] = set()

    def is_new(self, error: BaseException) -> bool:
        """Return whether this is the first error of its type at its place."""
        place = _place(error)
        with self._lock:
            if place in self._seen:
                return False
            if len(self._seen) >= _MAX_REMEMBERED:
                self._seen.clear()
            self._seen.add(place)
            return True


def _place(error: BaseException) -> tuple[type[BaseException], str, int]:
    trace = error.__traceback__
    if trace is None:
        return type(error), "", 0
    while trace.tb_next is not None:
        trace = trace.tb_next
    return type(error), trace.tb_frame.f_code.co_filename, trace.tb_lineno
