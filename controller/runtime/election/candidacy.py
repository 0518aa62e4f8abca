"""
One candidate's view of a lease, and the steps to acquire, renew and release it.

Guarantees: the wall clocks of two machines are never compared. A candidate acquires another candidate's lease
only after it has seen the lease unchanged for the holder's full duration. The renew deadline counts from the
start of the last successful renewal, and `seconds_to_write` counts down to that deadline. It therefore
reaches 0 before other candidates can see the lease expire. If a user deletes or empties a lease, other
candidates also wait for the holder's full duration, because the holder notices the change only at its next
renewal.
Follows: client-go tools/leaderelection/leaderelection.go @32ce75a7d (tryAcquireOrRenew, release), differs:
before a release, the holder that was read is checked, too, so that another candidate's lease is never
cleared; only a release frees a lease early.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import inf
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from handloop.apis.coordination_v1 import Lease, LeaseSpec
from handloop.apis.grammar.times import format_micro_time
from handloop.client.errors import AlreadyExists, ClientError, Conflict, DeadlineExceeded, NotFound
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.durations import LOOKS_PER_RETRY
from handloop.controller.runtime.election.election_metrics import ElectionReports
from handloop.controller.runtime.serving.health import Well
from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger

log = get_logger("leaderelection")

_MIN_REQUEST_SECONDS: Final = 1.0
RELEASED_SECONDS: Final = 1
"""The duration that is written to a Lease when it is released."""

Write = Callable[[LeaseSpec, float], None]


class ElectionStatistics(NamedTuple):
    """
    The state of the lease as this candidate last observed it.

    Fields: holder, which is "" if the lease has no holder or the holder is unknown; renewed_seconds_ago, the
    time since the observed record last changed, or None if no record was observed; expires_in_seconds, the
    time until others may acquire the lease if it does not change (0 = now); last_error, which is "" if there
    was none.
    """

    lease: str
    identity: str
    holder: str
    leading: bool
    renewed_seconds_ago: float | None
    expires_in_seconds: float
    last_error: str

    def state(self) -> Well:
        """
        Return `leader`, or `standby, holder=...`, as `/readyz?verbose` shows it.

        A standby is reported as ready. Otherwise a rollout would wait forever.
        """
        return Well("leader" if self.leading else f"standby, holder={self.holder or 'none'}")


class Candidacy:
    """
    Acquires, renews and releases a lease, one step at a time.

    State, under _lock: _observed, the lease as last read or written; _observed_at, the time at which
    _observed was set; _renewed_at, the time at which our last successful write began; _leading, True between
    start_leading and stop_leading; _last_error; _reserved_until, the time at which the last other holder's
    duration ends, or -inf once that holder has released the lease. Used only on the elector's thread:
    _fetched, the lease as last read (not as written by us), or None before the first read; and _deadline, the
    time by which the current step must end.
    Threads: the elector's thread takes the steps and is the only writer; any thread may call the queries.
    """

    def __init__(self, config: LeaderElectionConfig, *, clock: Clock, metrics: ElectionReports) -> None:
        self._config = config
        self._lease = config.lock
        self._clock = clock
        self._metrics = metrics
        self._lock = new_lock("Candidacy._lock", 95)
        self._observed = LeaseSpec()
        self._observed_at = -inf
        self._reserved_until = -inf
        self._renewed_at = -inf
        self._leading = False
        self._last_error = ""
        self._fetched: LeaseSpec | None = None
        self._deadline = inf
        metrics.leader_off(self._lease.name)

    def is_leader(self) -> bool:
        """Return whether we were the holder when the lease was last observed, however long ago."""
        return self.get_leader() == self._lease.identity

    @property
    def is_leading(self) -> bool:
        """Whether start_leading has been called, and stop_leading has not been called since."""
        with self._lock:
            return self._leading

    def get_leader(self) -> str:
        """Return the holder when the lease was last observed, or "" if the lease had none."""
        with self._lock:
            return self._observed.holder_identity or ""

    def held_by_another(self) -> bool:
        """Return whether another candidate was the holder when the lease was last observed."""
        return self.get_leader() not in ("", self._lease.identity)

    def renew_deadline(self) -> float:
        """Return the time, on the clock, until which we may lead without another renewal."""
        with self._lock:
            return self._renewed_at + self._config.renew_deadline_seconds

    def seconds_to_write(self) -> float:
        """
        Return for how many seconds we may still write, or 0 if we do not lead or the renew deadline has
        passed.
        """
        now = self._clock.now()
        with self._lock:
            mine = self._leading and self._observed.holder_identity == self._lease.identity
            left = self._renewed_at + self._config.renew_deadline_seconds - now
        return max(left, 0.0) if mine else 0.0

    def check(self, tolerance_seconds: float = 0.0) -> str | None:
        """
        Return why the election is unhealthy, or None if it is healthy.

        The election is unhealthy if the lease still names us although it expired more than the tolerance ago.
        """
        now = self._clock.now()
        with self._lock:
            mine, age = self._observed.holder_identity == self._lease.identity, now - self._observed_at
        if mine and age > self._config.lease_duration_seconds + tolerance_seconds:
            return f"failed election to renew leadership on lease {self._lease.name}"
        return None

    def statistics(self) -> ElectionStatistics:
        """Return a snapshot, for messages and health."""
        now = self._clock.now()
        with self._lock:
            seen = self._observed_at > -inf
            return ElectionStatistics(
                lease=self._lease.describe(),
                identity=self._lease.identity,
                holder=self._observed.holder_identity or "",
                leading=self._leading,
                renewed_seconds_ago=now - self._observed_at if seen else None,
                expires_in_seconds=max(self._free_at() - now, 0.0),
                last_error=self._last_error,
            )

    def tell(self, level: str, text: str, **facts: Any) -> None:
        """Log a line. If this process holds many leases, the line is logged only at -v 4."""
        if self._config.of_many:
            level, facts = "debug", {**facts, "v": 4}
        getattr(log, level)(text, **facts)

    # The following steps all run on the elector's thread.

    def start_leading(self) -> None:
        """Record that we hold the lease, and that the guarded work starts."""
        with self._lock:
            self._leading = True
        self._metrics.leader_on(self._lease.name)

    def stop_leading(self) -> None:
        """Record that we no longer lead, whoever holds the lease. The write fence then refuses all writes."""
        with self._lock:
            self._leading = False
        self._metrics.leader_off(self._lease.name)

    def try_acquire_or_renew(self, *, deadline: float = inf) -> bool:
        """
        Acquire the lease if it is free, or renew it if it is ours.

        Args: deadline is the time, on the clock, by which the step must end.
        Returns: whether the lease is ours now. Errors are logged.
        """
        self._deadline = deadline
        started_at, now = self._clock.now(), format_micro_time(self._clock.time())
        desired = LeaseSpec(
            holder_identity=self._lease.identity,
            lease_duration_seconds=self._config.written_seconds,
            acquire_time=now,
            renew_time=now,
            lease_transitions=0,
        )
        if self.is_leader() and self._is_lease_valid() and not self._is_reserved():
            # The lease is ours, and no other candidate can have acquired it, so reading it is unnecessary.
            if self._write(self._lease.update, _continued(desired, self._observed), started_at):
                return True
            self.tell("info", "Falling back to slow path", lease=self._lease.describe(), err=self._last_error)
        try:
            fetched = self._lease.get(self._request_seconds())
        except NotFound:
            if self._is_reserved():
                return self._note("")
            return self._write(self._lease.create, desired, started_at)
        except ClientError as error:
            return self._failed(error)
        return self._take_or_keep(fetched, desired, started_at)

    def _take_or_keep(self, fetched: LeaseSpec, desired: LeaseSpec, started_at: float) -> bool:
        self._observe(fetched)
        if self._is_reserved():
            log.debug("Lease is held and has not yet expired", v=4, holder=fetched.holder_identity or "")
            return self._note("")
        if self.is_leader():
            self._metrics.slowpath(self._lease.name)
            return self._write(self._lease.update, _continued(desired, fetched), started_at)
        taken = replace(desired, lease_transitions=(fetched.lease_transitions or 0) + 1)
        seen_at = self._observed_at
        if not self._write(self._lease.update, taken, started_at):
            return False
        self._metrics.handed_over(self._lease.name, max(self._clock.now() - seen_at, 0.0))
        return True

    def observe(self, lease: Lease) -> None:
        """Record the Lease from a list or a watch. Call this on the elector's thread, or before it starts."""
        self._observe(self._lease.remember(lease))

    def seems_free(self) -> bool:
        """Return whether the lease, as last observed, may be acquired. Sends no request."""
        return not self._is_reserved()

    def release(self) -> bool:
        """
        Release the lease, so that the next leader does not have to wait until it expires.

        Returns: False if a request failed. Blocks: for at most the duration of the renew deadline.
        """
        self._deadline = self._clock.now() + self._config.renew_deadline_seconds
        while True:
            try:
                return self._release_once()
            except Conflict as error:
                self._failed(error)
                # The pause is necessary, because a server that returns stale reads refuses each attempt
                # immediately.
                self._clock.sleep(self._config.retry_period_seconds / LOOKS_PER_RETRY, threading.Event())
            except ClientError as error:
                return self._failed(error)

    def _release_once(self) -> bool:
        fetched = self._lease.get(self._request_seconds())
        if not self.is_leader() or fetched.holder_identity != self._lease.identity:
            # Otherwise our next step would overwrite the state that was just read.
            self._observe(fetched)
            return True
        now = format_micro_time(self._clock.time())
        released = LeaseSpec(
            holder_identity="",
            lease_duration_seconds=RELEASED_SECONDS,
            acquire_time=now,
            renew_time=now,
            lease_transitions=self._observed.lease_transitions or 0,
        )
        self._lease.update(released, self._request_seconds())
        self._set_observed(released)
        self.tell("info", "Released lease", lease=self._lease.describe())
        return True

    def _write(self, write: Write, record: LeaseSpec, started_at: float) -> bool:
        try:
            write(record, self._request_seconds())
        except ClientError as error:
            return self._failed(error)
        self._set_observed(record)
        with self._lock:
            self._renewed_at = started_at
            self._last_error = ""
        return True

    def _request_seconds(self) -> float:
        """
        Return how long a request may take: half the renew deadline, but not beyond the end of the step.

        Raises: DeadlineExceeded after the end of the step.
        """
        left = self._deadline - self._clock.now()
        if left <= 0:
            raise DeadlineExceeded("no time left before the renew deadline")
        return min(max(self._config.renew_deadline_seconds / 2, _MIN_REQUEST_SECONDS), left)

    def _is_lease_valid(self) -> bool:
        """Return True if less than the holder's duration has passed since the last observed change."""
        return self._expires_at() > self._clock.now()

    def _expires_at(self) -> float:
        return self._observed_at + (self._observed.lease_duration_seconds or 0)

    def _free_at(self) -> float:
        """Return the time at which other candidates may acquire the lease if it does not change."""
        return max(self._expires_at(), self._reserved_until)

    def _is_reserved(self) -> bool:
        """Return whether the last other holder may still lead, even if the lease is deleted or empty."""
        return self._reserved_until > self._clock.now()

    def _observe(self, fetched: LeaseSpec) -> None:
        """Record the lease as read. If it has changed since it was last read, its duration starts again."""
        if fetched != self._fetched:
            self._fetched = fetched
            self._set_observed(fetched)

    def _set_observed(self, record: LeaseSpec) -> None:
        now = self._clock.now()
        with self._lock:
            if record.holder_identity not in (None, "", self._lease.identity):
                self._reserved_until = now + (record.lease_duration_seconds or 0)
            elif _releases(record, self._observed):
                self._reserved_until = -inf
            self._observed = record
            self._observed_at = now

    def _failed(self, error: ClientError) -> bool:
        # When several candidates request a free lease, all but one fail, which is expected. An outage is
        # logged once.
        expected = isinstance(error, AlreadyExists | Conflict) or str(error) == self._last_error
        facts = {"lease": self._lease.describe(), "err": str(error), **({"v": 4} if expected else {})}
        self.tell("debug" if expected else "warning", "Request for the lease failed", **facts)
        return self._note(str(error))

    def _note(self, error: str) -> bool:
        """Record an error. Returns: False, so that callers can return the result."""
        with self._lock:
            self._last_error = error
        return False


def _releases(record: LeaseSpec, before: LeaseSpec) -> bool:
    """
    Return whether the holder released the lease, as this package and client-go do.

    Clearing the holder by hand is not a release, because renew_time remains the same. Both times come
    from the same holder's clock, and the server formats them in the same way.
    """
    is_later = (record.renew_time or "") > (before.renew_time or "")
    return is_later and not record.holder_identity and record.lease_duration_seconds == RELEASED_SECONDS


def _continued(desired: LeaseSpec, before: LeaseSpec) -> LeaseSpec:
    """Return `desired` with the acquire time and the transitions of `before`, the record that it renews."""
    return replace(desired, acquire_time=before.acquire_time, lease_transitions=before.lease_transitions or 0)
