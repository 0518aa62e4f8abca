"""
Start and stop a process: caches, lease, runnables and Events, in order and within one deadline.

    start:  caches --> (leader election) --> controllers --> (this process's part)
    stop:   controllers --> other runnables --> (the leases) --> caches --> Events

With leader election, the caches are filled first, so that a standby can act as soon as it takes over. The
start does not wait for a cache that cannot be filled.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from handloop.controller.runtime.caching.caches import Caches
from handloop.controller.runtime.election.leader_election import (
    LeaderElector,
    LeadershipLost,
    StopTimeoutError,
)
from handloop.controller.runtime.events.recorders import Recorders
from handloop.controller.runtime.life.runnable import Runnable, RunnableGroup, needs_leader_election
from handloop.controller.runtime.reconcile import Deadline, DeadlineExceededError
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger, in_words
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import Joinable, as_error, join_within

log = get_logger("manager")

# The time for ending the lease, caches and Events, in addition to shutdown_timeout_seconds.
_GRACE_SECONDS: Final = 5.0
# Caches and Events get at least this time, even if the runnables have used up theirs (idle threads end
# sooner). Late runnables also get it, so that a controller can log which work did not end.
_LEAST_SECONDS: Final = 0.5


class Lifetime:
    """
    Runs a manager's parts until all of them have ended.

    A request can wait longer than a stop may take, because of the rate limit or because the server demands
    it. Setting _work_stop therefore cancels the requests of runnables that took too long or lost the lease,
    and setting _caches_stop cancels the lists.
    Fields, set before run: elector, the candidate in the election, or None; part, which acquires this
    process's share of the work, or None.
    State: stop, the event passed to run; _failures, under _lock, in order, of which the first is the reason
    why run ends; _guarded, the runnables that need leadership, which run sets before another thread reads it;
    _stop_rest, which is set when the runnables with ends_first have ended, or have used up their time.
    Threads: `run` is called on main; each runnable runs on `run-<name>`; `lease`, or a thread named after the
    part, renews the Leases.
    """

    def __init__(
        self,
        caches: Caches,
        recorders: Recorders,
        *,
        work_stop: threading.Event,
        caches_stop: threading.Event,
        shutdown_timeout_seconds: float,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Args: shutdown_timeout_seconds limits the wait for all runnables; 0 means not to wait."""
        self.stop = threading.Event()
        self._work_stop = work_stop
        self._caches_stop = caches_stop
        self._caches = caches
        self._recorders = recorders
        self._shutdown_timeout_seconds = shutdown_timeout_seconds
        self._seams = seams
        self._lock = new_lock("Lifetime._lock", 3)
        self._failures: list[BaseException] = []
        self.elector: LeaderElector | None = None
        self.part: Runnable | None = None
        self._guarded = self._group(())
        self._stop_rest = threading.Event()

    def run(self, runnables: Sequence[Runnable], stop: threading.Event) -> None:
        """
        Start all parts, wait until stop is set, and shut all parts down. Call this once. If a runnable fails,
        stop is set.

        Raises: the same errors as Manager.run.
        Blocks: as long as Manager.run.
        """
        with self._lock:
            self.stop = stop
        self._guarded = self._group([each for each in runnables if needs_leader_election(each)])
        free = self._group([each for each in runnables if not needs_leader_election(each)])
        lease: Joinable | None = None
        try:
            self._recorders.start()
            self._caches.start(self._caches_stop)
            free.start(stop, self._stop_rest)
            if self.elector is None:
                self._guarded.start(stop, self._stop_rest)
            else:
                self._caches.warm_up(stop)
                lease = self._start("lease", "leader election", partial(self.elector.run, stop))
            if self.part is not None:
                lease = self._start(self.part.name, self.part.name, partial(self.part.run, stop))
            self._caches.report(stop)
            stop.wait()
        finally:
            stop.set()
            self._end(free, lease)
        self._raise_failures()

    def _group(self, runnables: Sequence[Runnable]) -> RunnableGroup:
        return RunnableGroup(runnables, on_failure=self.fail, seams=self._seams)

    def _end(self, free: RunnableGroup, lease: Joinable | None) -> None:
        """
        Shut down all parts within one deadline.

        Runnables with ends_first end first, because they may still use other runnables while they finish
        their work. The election ends after all runnables that need leadership.
        """
        seconds = self.seconds_to_stop()
        deadline = Deadline(seconds, clock=self._seams.clock)
        leading = self._join_runnables(free, min(self._shutdown_timeout_seconds, seconds), deadline)
        self._work_stop.set()
        left_behind: list[str] = []
        if lease is not None:
            # The election ends after the runnables that need leadership.
            join_within(lease, 0.0 if leading else deadline.remaining())
            left_behind += ["lease" if self.part is None else self.part.name] * lease.is_alive()
        self._caches.stop()
        self._caches_stop.set()
        late = self._caches.shutdown(max(deadline.remaining(), _LEAST_SECONDS))
        left_behind += [f"cache of {plural}" for plural in late]
        events = self._recorders.shutdown(max(deadline.remaining(), _LEAST_SECONDS))
        left_behind += [f"{events} Event{'s' * (events > 1)}"] if events else []
        if left_behind:
            log.warning("Left behind at shutdown", what=left_behind)

    def _join_runnables(self, free: RunnableGroup, seconds: float, end: Deadline) -> list[str]:
        """
        Wait until all runnables have ended.

        Args: seconds limits the wait; 0 means not to wait.
        Returns: the names of the runnables that need leadership and have not ended.
        """
        patience = min(seconds + _LEAST_SECONDS, end.remaining()) if seconds else 0.0
        deadline = Deadline(patience, clock=self._seams.clock)
        leading = self._guarded.join(deadline.remaining(), first=True)
        busy = leading + free.join(deadline.remaining(), first=True)
        self._stop_rest.set()
        if not busy:
            leading = self._guarded.join(deadline.remaining())
            busy = leading + free.join(deadline.remaining())
        if busy and self._shutdown_timeout_seconds:
            log.error("Controllers did not end in time", controllers=busy)
            text = f"{', '.join(busy)} did not end within {seconds:g}s of the stop"
            with self._lock:
                self._failures.append(StopTimeoutError(text))
        return leading

    def seconds_to_stop(self) -> float:
        """
        Return how many seconds a stop may take. If the lease is lost, the stop ends before another process
        leads.
        """
        if self._lost_the_lease() and self.elector is not None:
            config = self.elector.config
            return (config.written_seconds - config.renew_deadline_seconds) / 2
        return self._shutdown_timeout_seconds + _GRACE_SECONDS

    def _lost_the_lease(self) -> bool:
        with self._lock:
            return any(isinstance(failure, LeadershipLost) for failure in self._failures)

    def fail(self, name: str, error: BaseException) -> None:
        """
        Log an error of a runnable or the elector, and shut down the process.

        After stop is set, an error is only logged, unless it is a StopTimeoutError or LeadershipLost.
        """
        with self._lock:
            stop = self.stop
            is_news = error not in self._failures
            counts = not stop.is_set() or isinstance(error, StopTimeoutError | LeadershipLost)
            if is_news and counts:
                self._failures.append(error)
        # Set stop before logging, because logging can block if its output is not read.
        stop.set()
        if is_news:
            say = log.info if not counts and isinstance(error, DeadlineExceededError) else log.error
            say("Controller failed", controller=name, err=in_words(as_error(error)) or in_words(error, repr))

    def stopped_check(self) -> str | None:
        """A health check: stop is not set."""
        return "shutting down" if self.stop.is_set() else None

    def _raise_failures(self) -> None:
        with self._lock:
            failures = tuple(self._failures)
        if self._lost_the_lease() or not self._shutdown_timeout_seconds:
            # In these cases, run does not wait for all work to end, so work that is still running is not a
            # failure.
            failures = tuple(each for each in failures if not isinstance(each, StopTimeoutError))
        if len(failures) == 1:
            raise failures[0]
        if failures:
            text = "; ".join(in_words(failure) or in_words(failure, repr) for failure in failures)
            raise BaseExceptionGroup(f"{len(failures)} failures: {text}", failures)

    # leader election, and this process's part

    def lost(self, tell: Callable[[LeadershipLost], None] | None, lost: LeadershipLost) -> None:
        """Cancel waiting writes, and report that the lease is lost. Threads: the elector's thread."""
        self._work_stop.set()
        if tell is not None:
            tell(lost)

    def _start(self, thread: str, name: str, take_part: Callable[[], None]) -> Joinable:
        def run() -> None:
            try:
                take_part()
            except BaseException as error:  # noqa: BLE001 - main raises it
                self.fail(name, error)

        return self._seams.spawn(thread, run)

    def lead(self, stop: threading.Event) -> None:
        """
        Run the controllers until stop is set. Called on the thread `leading`.

        Raises: a runnable's StopTimeoutError, so that the lease is not released while workers still run.
        """
        self._caches.catch_up(stop)
        self._guarded.start(stop, self._stop_rest)
        self._guarded.join()
        with self._lock:
            busy = [failure for failure in self._failures if isinstance(failure, StopTimeoutError)]
        if busy:
            raise busy[0]
