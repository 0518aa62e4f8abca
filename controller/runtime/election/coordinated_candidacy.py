"""
One candidate's view of a lease that the control plane gives to whom it chooses.

It never makes or takes the lease: it waits until it is the holder, renews, and steps down when another is
preferred. The API server chooses among LeaseCandidates, where that is turned on (alpha).
Follows: client-go tools/leaderelection/leaderelection.go @32ce75a7d (tryCoordinatedRenew).
"""

from __future__ import annotations

from math import inf

import structlog

from handloop.apis.time import format_micro_time
from handloop.client.errors import ClientError, NotFound
from handloop.controller.runtime.election.candidacy import Candidacy, continued
from handloop.controller.runtime.election.record import LeaderElectionRecord

log = structlog.get_logger("leaderelection")


class CoordinatedCandidacy(Candidacy):
    """Keeps a lease that it was given. State and threads: as Candidacy."""

    def try_acquire_or_renew(self, *, deadline: float = inf) -> bool:
        """
        Renew the lease if it was given to us.

        Args: as Candidacy. Returns: whether it is ours now. Errors are logged; no lease is no error.
        """
        started_at = self._clock.now()
        fetched = self._look(deadline)
        if fetched is None or not self._is_given(fetched):
            return False
        record = LeaderElectionRecord(
            holder_identity=self._lease.identity,
            lease_duration_seconds=self._config.written_seconds,
            renew_time=format_micro_time(self._clock.time()),
            strategy=fetched.strategy,
        )
        return self._write(self._lease.update, continued(record, fetched), started_at)

    def is_free(self) -> bool:
        """Look at the lease: whether it was given to us. Errors are logged, and are no."""
        fetched = self._look(inf)
        return fetched is not None and self._is_given(fetched)

    def term_is_over(self) -> bool:
        """Whether the control plane prefers another: the lease is not renewed any more."""
        with self._lock:
            ours = self._observed.holder_identity == self._lease.identity
            return ours and bool(self._observed.preferred_holder)

    def _look(self, deadline: float) -> LeaderElectionRecord | None:
        """Read the lease. Returns: None when there is none, or it cannot be read."""
        self._deadline = deadline
        try:
            fetched = self._lease.get(self._request_seconds())
        except NotFound:
            self._note("")  # nobody has been chosen yet
            return None
        except ClientError as error:
            self._failed(error)
            return None
        self._observe(fetched)
        self._note("")
        return fetched

    def _is_given(self, fetched: LeaderElectionRecord) -> bool:
        if fetched.holder_identity != self._lease.identity or not self._is_lease_valid():
            log.debug("Lease is held by another, or has expired", v=4, holder=fetched.holder_identity)
            return False
        return not fetched.preferred_holder
