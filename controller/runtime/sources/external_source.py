"""
Trigger reconciles from events outside the cluster, such as messages, socket data, or the results of polling.

    function(wake, stop), on a separate thread --wake(name)--> ReconcileQueue

The author's function waits for such events, and wakes the names that they concern. It runs while its
controller runs. With leader election, it therefore runs only in the leader.
Follows: controller-runtime pkg/source (Channel, Func), differs: a source has to wait while many names wait.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Protocol, TypeAlias

from handloop.controller.runtime.life.runnable import DividedWork
from handloop.controller.runtime.sources.informer_source import Sink
from handloop.controller.runtime.sources.reconcile_queue import Cause
from handloop.informers.backoff import ExponentialBackoff
from handloop.informers.keys import ObjectName
from handloop.seams.logs import get_logger, in_words
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.workqueue.priority_queue import DEFAULT_PRIORITY

log = get_logger("source")

MOST_QUEUED: Final = 1000
"""While at least this many names are waiting for a worker, wake blocks."""
_LOOK_SECONDS: Final = 0.05
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 60.0


class Wake(Protocol):
    """Queues a name for the workers. A SourceFunc receives it as its first argument."""

    def __call__(self, name: ObjectName, detail: str = "", *, priority: int = DEFAULT_PRIORITY) -> bool:
        """
        Queue a name. `context.causes` shows the source and the detail.

        Returns: True, or False if stop is set. The name is then not queued, and the function should return.
        Blocks: while MOST_QUEUED or more names wait for a worker and stop is not set.
        """


SourceFunc: TypeAlias = Callable[[Wake, threading.Event], None]
"""Waits for events and wakes names until stop is set. If it fails, it is called again after 1 to 60 s."""


class ExternalSource(DividedWork):
    """
    Runs one external `source` of a controller. Implements handloop.controller.runtime.life.runnable.Runnable.

    If replicas divide the work, the function runs in each replica. Each replica's controller then drops the
    names that belong to other replicas.
    Fields: name, needs_leader_election and ends_first are those of Runnable.
    Threads: `run-<name>` calls run.
    """

    ends_first = True

    def __init__(
        self,
        name: str,
        function: SourceFunc,
        *,
        controller: str,
        sink: Sink,
        queued: Callable[[], int],
        needs_leader_election: bool,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Args: queued returns the number of names that are waiting for a worker."""
        self.name = f"{controller}-{name}"
        self.needs_leader_election = needs_leader_election
        self._source = name
        self._function = function
        self._sink = sink
        self._queued = queued
        self._clock = seams.clock
        self._seams = seams

    def run(self, stop: threading.Event) -> None:
        """Call the function until it returns or stop is set. If it fails, log the error and call it again."""
        backoff = ExponentialBackoff(
            _FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS, 2 * _LONGEST_PAUSE_SECONDS, seams=self._seams
        )
        while not stop.is_set():
            try:
                self._function(self._wake_until(stop), stop)
            except BaseException as error:
                pause = backoff.next()
                log.exception(
                    "Source failed", source=self.name, err=in_words(error, repr), retryIn=f"{pause:.1f} s"
                )
                self._clock.sleep(pause, stop)
            else:
                if not stop.is_set():
                    log.info("Source has ended", source=self.name)
                return

    def _wake_until(self, stop: threading.Event) -> Wake:
        def wake(name: ObjectName, detail: str = "", *, priority: int = DEFAULT_PRIORITY) -> bool:
            if not isinstance(name, ObjectName):
                raise TypeError(f"wake needs an ObjectName, not {name!r}")
            while self._queued() >= MOST_QUEUED:
                if self._clock.sleep(_LOOK_SECONDS, stop):
                    return False
            if stop.is_set():
                return False
            self._sink.add(name, Cause(self._source, detail=detail), priority=priority)
            return True

        return wake
