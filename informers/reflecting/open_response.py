"""
The one stream that a reflector has open, and the only thing of it that another thread touches: to close it.

A thread that is blocked in a read cannot see an event, so closing the response under it is how it is stopped.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from handloop.client.decoding.watch_events import WatchEvent
from handloop.client.options import ListOptions
from handloop.informers.listwatch import Watch
from handloop.workqueue.clock import Clock
from handloop.workqueue.locks import new_lock

T = TypeVar("T")


class OpenResponse(Generic[T]):
    """
    At most one open stream.

    State: _watch, guarded by _lock (15). opened_at = Clock.now() just before the stream was asked for.
    Threads: the reflector's; stop from any.
    """

    def __init__(
        self, watch: Callable[[ListOptions], Watch[T]], *, stopped: threading.Event, clock: Clock
    ) -> None:
        self._ask = watch
        self._stopped = stopped
        self._clock = clock
        self._lock = new_lock("OpenResponse._lock", 15)
        self._watch: Watch[T] | None = None
        self.opened_at = 0.0

    def open(self, options: ListOptions) -> None:
        """
        Ask for a stream.

        Raises: whatever asking raises; nothing is open then.
        """
        opened_at = self._clock.now()
        watch = self._ask(options)
        with self._lock:
            assert self._watch is None
            self._watch = watch
        self.opened_at = opened_at
        if self._stopped.is_set():
            watch.close()  # stop() may have looked before the stream was there

    def read(self) -> list[WatchEvent[T]]:
        """
        The next events of the open stream, [] at its end.

        Blocks: until there are some; stop() ends it.
        Raises: see Watch.
        """
        watch = self._watch  # only this thread replaces it
        assert watch is not None
        return watch.read()

    def seconds_open(self) -> float:
        """How long ago the stream was asked for."""
        return self._clock.now() - self.opened_at

    def close(self) -> None:
        """Close the stream, if any, and forget it."""
        with self._lock:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.close()

    def stop(self) -> None:
        """Close the stream under its reader, from any thread, after stopped was set."""
        with self._lock:
            watch = self._watch
        if watch is not None:
            watch.close()
