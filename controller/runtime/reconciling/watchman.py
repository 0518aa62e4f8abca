"""
Track a controller's running reconciles, and report those that block.

Decision: a controller has one thread for this while its reconciles are running, and none while it is idle.
The thread sleeps until the oldest reconcile reaches the limit. In a busy controller, the thread therefore
wakes up only once every limit_seconds, however many reconciles there are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple

from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.keys import ObjectName
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, outliving


class Running(NamedTuple):
    """A running reconcile: its name, context and start time, and its thread's ID."""

    name: ObjectName
    context: Context
    began_at: float
    thread_id: int


class Watchman:
    """
    Tracks which reconciles are running, and reports each one that runs too long, once.

    Fields: limit_seconds, how long a reconcile can run before it is reported, or None for no reports; stop,
    the event that ends the thread.
    State, under _lock: _running, name -> its reconcile; _told, the IDs of the reported reconciles; _thread,
    which is None while it is not needed.
    Threads: workers call begins and ended; the thread `<name>-watchman` in _thread reports; any thread can
    call the other methods.
    """

    def __init__(
        self,
        name: str,
        limit_seconds: float | None,
        blocks: Callable[[Running, float], None],
        seams: Seams,
    ) -> None:
        """Args: name is the controller's name; blocks reports a reconcile and how long it has run."""
        self.limit_seconds = limit_seconds
        self.stop = threading.Event()
        self._name = name
        self._blocks = blocks
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._lock = new_lock("Watchman._lock", 95)
        self._running: dict[ObjectName, Running] = {}
        self._told: set[str] = set()
        self._thread: Joinable | None = None

    def begins(self, running: Running) -> None:
        """Record that a reconcile starts. Raises: RuntimeError if the watchman's thread cannot be started."""
        with self._lock:
            self._running[running.name] = running
            if self._thread is None and self.limit_seconds is not None:
                self._thread = self._spawn(f"{self._name}-watchman", self._watch)

    def ended(self, name: ObjectName) -> None:
        """Record that the reconcile of a name has ended."""
        with self._lock:
            self._told.discard(self._running.pop(name).context.id)

    def names(self) -> list[ObjectName]:
        """Return the names that are being reconciled."""
        with self._lock:
            return list(self._running)

    def find(self, name: ObjectName) -> Running | None:
        """Return a name's running reconcile, or None."""
        with self._lock:
            return self._running.get(name)

    def late(self, limit_seconds: float) -> list[tuple[Running, float]]:
        """Return the reconciles that have run at least as long as the limit, each with its running time."""
        now = self._clock.now()
        with self._lock:
            running = [(each, now - each.began_at) for each in self._running.values()]
        return [(each, ran) for each, ran in running if ran >= limit_seconds]

    def _watch(self) -> None:
        """Report each blocked reconcile once. End when every running reconcile has been reported."""
        limit = self.limit_seconds or 0.0
        seconds: float | None = limit  # sleep first, because most reconciles end earlier
        while seconds is not None and not self._clock.sleep(seconds, self.stop):
            for running, ran in self.late(limit):
                with self._lock:
                    # It may have ended meanwhile, and its thread may be in another reconcile.
                    is_running = self._running.get(running.name) is running
                    is_news = is_running and running.context.id not in self._told
                    if is_news:
                        self._told.add(running.context.id)
                if is_news:
                    with outliving(get_logger(self._name), "Watchman failed"):
                        self._blocks(running, ran)
            seconds = self._seconds_to_next_look(limit)

    def _seconds_to_next_look(self, limit: float) -> float | None:
        now = self._clock.now()
        with self._lock:
            began = [each.began_at for each in self._running.values() if each.context.id not in self._told]
            if not began:
                self._thread = None
                return None
        return max(0.0, min(began) + limit - now)
