"""Keeps listeners, which are functions that are called after each change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import MethodType
from weakref import WeakMethod

Listener = Callable[[], None]


class Listeners:
    """
    The registered listeners, in the order in which they were added.

    State: for each listener, _found holds a function that returns the listener, or None once it has been
    garbage-collected. _lock guards _found.
    Threads: any thread can use the methods.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: list[Callable[[], Listener | None]] = []

    def __len__(self) -> int:
        return len(self._living())

    def add(self, listener: Listener) -> None:
        """Call listener after each change."""
        self._add(lambda: listener)

    def add_weakly(self, listener: Listener) -> None:
        """Call a method after each change until its object is garbage-collected."""
        assert isinstance(listener, MethodType)
        self._add(WeakMethod(listener))

    def remove(self, listener: Listener) -> None:
        """Stop calling listener."""
        with self._lock:
            self._found = [found for found in self._found if found() not in (None, listener)]

    def tell(self) -> None:
        """Call every listener. Locks: the caller must not hold any lock."""
        for listener in self._living():
            listener()

    def _living(self) -> list[Listener]:
        with self._lock:
            found = list(self._found)
        return [listener for one in found if (listener := one()) is not None]

    def _add(self, found: Callable[[], Listener | None]) -> None:
        with self._lock:
            # Also drop the entries of collected listeners, so that the list does not grow without bound.
            self._found = [*(one for one in self._found if one() is not None), found]
