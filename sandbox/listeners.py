"""Who hears that something has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import MethodType
from weakref import WeakMethod

Listener = Callable[[], None]


class Listeners:
    """
    Listeners in the order in which they came.

    State: _found, guarded by _lock: what gives each of them, None for one that is gone. Threads: any.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: list[Callable[[], Listener | None]] = []

    def __len__(self) -> int:
        return len(self._living())

    def add(self, listener: Listener) -> None:
        """Tell it from here on, for ever."""
        self._add(lambda: listener)

    def add_weakly(self, listener: Listener) -> None:
        """Tell a method for as long as anybody else knows its object."""
        assert isinstance(listener, MethodType)
        self._add(WeakMethod(listener))

    def remove(self, listener: Listener) -> None:
        """Tell it no more."""
        with self._lock:
            self._found = [found for found in self._found if found() not in (None, listener)]

    def tell(self) -> None:
        """Call each. Locks: none is held."""
        for listener in self._living():
            listener()

    def _living(self) -> list[Listener]:
        with self._lock:
            found = list(self._found)
        return [listener for one in found if (listener := one()) is not None]

    def _add(self, found: Callable[[], Listener | None]) -> None:
        with self._lock:
            # those that are gone go here: their number stays bounded without anybody being told
            self._found = [*(one for one in self._found if one() is not None), found]
