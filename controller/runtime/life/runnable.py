"""
Runnables: controllers, and all other parts of a manager that run until a stop event is set.

Decision: You can add your own runnable.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Protocol

from handloop.controller.runtime.caching.cache_wait import READER
from handloop.controller.runtime.election.leader_election import StopTimeoutError
from handloop.seams.locks import new_lock
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import Joinable, join_all


class Runnable(Protocol):
    """
    A part of a manager that runs on its own thread.

    Six more members are optional:
      * `needs_leader_election`: if True, the runnable runs only while this process leads; True if missing.
      * `shards_by`: the ways to divide the work, "namespace" or "uid", that the runnable supports. It then
        runs in every replica, and works on that replica's slots; () if missing.
      * `workers_check`: a health check for the runnable's threads, as in serving/health.py.
      * `ready_check`: a check that can make the process unready, but not dead.
      * `ends_first`: if True, the other runnables keep running during a stop until this one has ended,
        because it may need them; False if missing.
      * `explain`: explains the state of a name, like Controller.explain.
    """

    @property
    def name(self) -> str:
        """The name for logs and threads. It is unique in its manager."""

    def run(self, stop: threading.Event) -> None:
        """
        Work until stop is set.

        Raises: any error, which ends the whole process; StopTimeoutError if some work did not end before the
        timeout of a stop.
        """


class DividedWork:
    """A runnable that runs in every replica, on that replica's share, for every way to divide the work."""

    shards_by: Sequence[str] = ("namespace", "uid")


class WorkersBusyError(StopTimeoutError):
    """Some workers of a controller did not end their reconcile before the timeout."""

    def __init__(self, name: str, workers: int, seconds: float) -> None:
        super().__init__(f"{name}: {workers} workers did not end in {seconds:g}s")


def needs_leader_election(runnable: Runnable) -> bool:
    """Return whether the runnable may run only while this process leads."""
    return bool(getattr(runnable, "needs_leader_election", True))


OnFailure = Callable[[str, BaseException], None]
"""(name of the runnable, its error)"""


class RunnableGroup:
    """
    Runnables that are started and stopped as a group, each on a thread `run-<name>`.

    State, under _lock: _threads, by name; _first, the names of the runnables with ends_first.
    """

    def __init__(
        self,
        runnables: Sequence[Runnable],
        *,
        on_failure: OnFailure,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Args: on_failure is called when a runnable raises an error, on that runnable's thread."""
        self._runnables = tuple(runnables)
        self._on_failure = on_failure
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._lock = new_lock("RunnableGroup._lock", 4)
        self._threads: dict[str, Joinable] = {}
        self._first = {each.name for each in runnables if getattr(each, "ends_first", False)}

    def start(self, stop: threading.Event, stop_rest: threading.Event) -> None:
        """
        Start all runnables, once.

        Runnables with ends_first run until stop is set, and the others until stop_rest is set.
        """
        with self._lock:
            for runnable in self._runnables:
                its_stop = stop if runnable.name in self._first else stop_rest
                run = partial(self._run, runnable, its_stop)
                self._threads[runnable.name] = self._spawn(f"run-{runnable.name}", run)

    def join(self, seconds: float = math.inf, *, first: bool = False) -> list[str]:
        """
        Wait until all runnables have ended. If first is set, wait only for the ones with ends_first.

        Args: seconds limits the whole wait; infinity means no limit.
        Returns: the names of the runnables that have not ended.
        """
        with self._lock:
            threads = {name: its for name, its in self._threads.items() if name in self._first or not first}
        return join_all(threads, seconds, self._clock)

    def _run(self, runnable: Runnable, stop: threading.Event) -> None:
        before = READER.set("runnable")
        try:
            runnable.run(stop)
        except BaseException as error:  # noqa: BLE001 - the process must not live on without a runnable
            self._on_failure(runnable.name, error)
        finally:
            READER.reset(before)
