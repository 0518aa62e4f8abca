"""
Leader election: several processes compete for a lease, and only its holder works.

    candidate --acquire--> leader --renew every retry period--> ... --stop--> drain --> release --> end
                                |--not renewed for the renew deadline, or held by another--> lost --> end

A request that is in progress when the lease is lost may still reach the server. Every write therefore carries
a resource version. candidacy.py states the other guarantees.
Follows: client-go tools/leaderelection/leaderelection.go @32ce75a7d, differs:
  * the renew deadline counts from the last renewal; upstream counts it from the next attempt, which is one
    retry period later.
  * a lease is lost as soon as another candidate holds it, not at the end of the deadline.
  * a standby watches the lease, and tries to acquire it as soon as it is free. It takes over within the
    lease's duration and one retry period, and immediately after a release. If the lease cannot be watched, or
    the process holds many leases, the standby reads the lease several times per retry period.
  * a stop first ends the guarded work, while renewals continue, and then releases the lease. A lost lease is
    not released, because work may still be in progress.
  * an error in a callback other than on_new_leader ends the election; new leaders are reported in order, on
    the elector's thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Final

from handloop.client.errors import Forbidden
from handloop.controller.runtime.election.candidacy import Candidacy, ElectionStatistics
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.durations import LOOKS_PER_RETRY
from handloop.controller.runtime.election.election_metrics import ElectionReports
from handloop.controller.runtime.election.lease_watch import LeaseWatch
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams

log = get_logger("leaderelection")

_SILENT_PERIODS: Final = 3
"""A watch that has delivered a renewal counts as broken after this many retry periods without another."""


class LeadershipLost(Exception):  # noqa: N818 - an event, not a mistake
    """
    Leadership ended although no stop was requested.

    Fields: seconds, the time since the last renewal; why, the reason as text.
    """

    def __init__(self, lease: str, seconds: float, why: str) -> None:
        super().__init__(f"lost leadership of lease {lease}: not renewed for {seconds:.0f} s ({why})")
        self.lease = lease
        self.seconds = seconds
        self.why = why


class StopTimeoutError(Exception):
    """
    The guarded work did not end before the shutdown timeout.

    The lease is not released, because the work may still write.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderCallbacks:
    """
    The functions that an elector calls.

    on_started_leading does the guarded work on its own thread, and must return soon after its event is set.
    on_stopped_leading is called at the end of every run, even if the run never led.

    The other three run on the elector's thread and must not block. on_waiting is called after every failed
    attempt and after every change that a watch reports. on_new_leader is called with each new holder ("" =
    none). on_lost is called as soon as the lease is lost, before any work is stopped.
    """

    on_started_leading: Callable[[threading.Event], None]
    on_stopped_leading: Callable[[], None] = lambda: None
    on_waiting: Callable[[ElectionStatistics], None] | None = None
    on_new_leader: Callable[[str], None] | None = None
    on_lost: Callable[[LeadershipLost], None] | None = None


class GuardedWork:
    """
    The work that only a leader does: a function that runs on its own thread until stop is set.

    State: stop, the event that ends the work; ended, which is set once the work has ended; _error, the error
    that the work raised, which is written before ended is set.
    """

    def __init__(self, work: Callable[[threading.Event], None]) -> None:
        self._work = work
        self._error: BaseException | None = None
        self.stop = threading.Event()
        self.ended = threading.Event()

    def run(self) -> None:
        """Do the work. Runs on the thread `leading`."""
        try:
            self._work(self.stop)
        except BaseException as error:  # noqa: BLE001 - raised again on the elector's thread
            self._error = error
        finally:
            self.ended.set()

    def raise_error(self) -> None:
        """Raise the error that the work raised, if any."""
        if self.ended.is_set() and self._error is not None:
            raise self._error


class LeaderElector:
    """
    Takes part in one election.

    Fields: config. State: candidacy, which has its own lock. Used only on the elector's thread: _reported,
    the last holder that was passed to on_new_leader; _watch_at, the time before which the lease is not
    watched; _is_refused, True if the last watch failed because of a missing permission; _opening, a watch
    that the server has not answered yet, or None.
    Threads: one thread calls `run`, which also renews the lease; `leading`, or the thread named by
    work_thread, does the guarded work; any thread may call the queries.
    """

    def __init__(
        self,
        config: LeaderElectionConfig,
        callbacks: LeaderCallbacks,
        *,
        metrics: ElectionReports,
        work_thread: str = "leading",
        candidacy: Candidacy | None = None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Prepare the elector. No request is sent.

        Args: work_thread names the thread that does the guarded work. If candidacy is None, it is created
        from config.
        Raises: ValueError if the durations in the configuration conflict.
        """
        config.validate()
        self.config = config
        self._callbacks = callbacks
        self._clock = seams.clock
        self._seams = seams
        self.candidacy = candidacy or Candidacy(config, clock=seams.clock, metrics=metrics)
        self._work_thread = work_thread
        self._reported = ""
        self._watch_at = inf if config.of_many else -inf
        self._is_refused = False
        self._opening: LeaseWatch | None = None

    def run(self, stop: threading.Event) -> None:
        """
        Wait until this process leads, do the guarded work, and renew the lease until the work has ended.

        Blocks: until stop is set and the guarded work has ended, or until the lease is lost. If this process
        holds many leases, run also waits until the work of a lost lease has ended.
        Raises: LeadershipLost if the lease is lost; any error that the guarded work raises.
        """
        try:
            try:
                is_ours = self._acquire(stop)
            finally:
                self._close_opening()
            if is_ours:
                self._lead(stop)
        finally:
            self._callbacks.on_stopped_leading()

    # The stages of a run. All of them are executed on the elector's thread.

    def _acquire(self, stop: threading.Event) -> bool:
        """Try until the lease is acquired. Returns: False if stop was set first."""
        lock = self.config.lock
        tell = self.candidacy.tell
        tell("info", "Attempting to acquire leader lease...", lease=lock.describe(), identity=lock.identity)
        while not stop.is_set():
            if self._try(inf):
                tell("info", "Successfully acquired lease", lease=lock.describe())
                lock.record_event("became leader")
                return True
            self._tell_waiting()
            self._wait_for_turn(stop)
        return False

    def _tell_waiting(self) -> None:
        if self._callbacks.on_waiting is not None:
            self._callbacks.on_waiting(self.candidacy.statistics())

    def _wait_for_turn(self, stop: threading.Event) -> None:
        """
        Wait until stop is set, or until the next attempt is due.

        While the lease is watched, an attempt is due when the lease seems free. Without a watch, attempts are
        due several times per retry period.

        A watch that has delivered a renewal, but no events since, may have lost its connection. The next
        attempt then reads the lease, and a new watch is opened. A slow server's watch can open during a later
        wait, so that attempts do not open more and more of them.
        """
        retry, silent_at = self.config.retry_period_seconds, inf
        watch = self._watch()
        try:
            while not stop.is_set():
                # 0 means that the lease has already expired. Another candidate may be about to acquire it.
                wait = min(self.candidacy.statistics().expires_in_seconds or retry, retry / LOOKS_PER_RETRY)
                self._clock.sleep(wait, watch.came if watch is not None and watch.is_open else stop)
                if watch is None or not watch.is_open:
                    return
                if lease := watch.take():
                    silent_at = self._clock.now() + _SILENT_PERIODS * retry
                    self.candidacy.observe(lease)
                    self._report_transition()
                    self._tell_waiting()
                if self._clock.now() >= silent_at or self.candidacy.seems_free():
                    return
        finally:
            if watch is not None and watch.is_opening:
                self._opening = watch
            elif watch is not None:
                watch.close()
                self._unwatchable(watch.error)

    def _close_opening(self) -> None:
        if self._opening is not None:
            self._opening.close()
            self._opening = None

    def _watch(self) -> LeaseWatch | None:
        """
        Return a watch that starts at the version last read, or the one that is still being opened.

        Returns: None if the lease cannot be watched now, or seems free, so that the next attempt is already
        due.
        """
        if self._opening is not None:
            watch, self._opening = self._opening, None
            return watch
        if self._clock.now() < self._watch_at or not self.config.lock.version or self.candidacy.seems_free():
            return None
        try:
            return LeaseWatch(self.config.lock, self._seams)
        except RuntimeError as error:  # no thread can be started
            self._unwatchable(error)
            return None

    def _unwatchable(self, error: Exception | None) -> None:
        """
        After an error of the watch, do not watch for one lease duration. Log a missing permission once, at
        info.
        """
        if error is None:
            return
        self._watch_at = self._clock.now() + self.config.lease_duration_seconds
        is_news = isinstance(error, Forbidden) and not self._is_refused
        self._is_refused = isinstance(error, Forbidden)
        facts = {"lease": self.config.lock.describe(), "err": str(error)}
        tell = log.info if is_news else partial(log.debug, v=4)
        tell("Reading the lease, because it cannot be watched", **facts)

    def _lead(self, stop: threading.Event) -> None:
        work = GuardedWork(self._callbacks.on_started_leading)
        try:
            self._work(work, stop)
            if self.config.release_on_cancel:
                self.candidacy.release()
                self._report_transition()
        finally:
            self.config.lock.record_event("stopped leading")

    def _work(self, work: GuardedWork, stop: threading.Event) -> None:
        """
        Lead until the work has ended. Raises: LeadershipLost if the lease is lost; any error that the work
        raises.
        """
        self.candidacy.start_leading()
        self._seams.spawn(self._work_thread, work.run)
        try:
            self._renew(stop, work)
            work.stop.set()
            # Keep renewing until our work has ended, because no other process may lead before that.
            self._renew(work.ended, work)
            work.raise_error()
        finally:
            self.candidacy.stop_leading()
            work.stop.set()
            if self.config.of_many:
                # The process continues, and its next run must not start the same work while this one is
                # running.
                work.ended.wait()

    def _renew(self, until: threading.Event, work: GuardedWork) -> None:
        """
        Renew the lease until `until` is set.

        Raises: LeadershipLost if the lease is lost; any error that the work raises.
        """
        while not until.is_set():
            if not self._renew_in_time(until):
                if until.is_set():
                    return
                raise self._lost()
            self._clock.sleep(self.config.retry_period_seconds, until)
            work.raise_error()

    def _renew_in_time(self, until: threading.Event) -> bool:
        """
        Try to renew the lease, once per retry period, until an attempt succeeds.

        Returns: False if the renew deadline passes, another candidate holds the lease, or until is set.
        """
        deadline = self.candidacy.renew_deadline()
        while not until.is_set() and self._clock.now() < deadline:
            if self._try(deadline):
                return True
            if self.candidacy.held_by_another():
                return False
            left = deadline - self._clock.now()
            self._clock.sleep(max(min(self.config.retry_period_seconds, left), 0.0), until)
        return False

    def _try(self, deadline: float) -> bool:
        ours = self.candidacy.try_acquire_or_renew(deadline=deadline)
        self._report_transition()
        return ours

    def _report_transition(self) -> None:
        """Report a new holder to on_new_leader, once."""
        holder = self.candidacy.get_leader()
        if holder == self._reported:
            return
        self._reported = holder
        if self._callbacks.on_new_leader is None:
            return
        try:
            self._callbacks.on_new_leader(holder)
        except BaseException:  # a failing listener must not stop the renewals
            log.exception("on_new_leader raised")

    def _why(self, seen: ElectionStatistics) -> str:
        if self.candidacy.held_by_another():
            return f"held by {seen.holder}"
        return f"last error: {seen.last_error or 'none'}"

    def _lost(self) -> LeadershipLost:
        seen = self.candidacy.statistics()
        why = self._why(seen)
        age = self._clock.now() - self.candidacy.renew_deadline() + self.config.renew_deadline_seconds
        lost = LeadershipLost(seen.lease, age, why)
        self.candidacy.stop_leading()
        self.candidacy.tell("error", "Failed to renew lease", lease=seen.lease, err=str(lost))
        if self._callbacks.on_lost is not None:
            self._callbacks.on_lost(lost)
        return lost
