"""The problems of leader election: E11 (standby) and E12 (leadership lost)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, Problem
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.seams.clock import Clock

STANDBY_SECONDS: Final = 60.0


class StandbyReport:
    """
    Reports E11 after the first failed attempt to lead, and after each change.

    A new holder is reported immediately. When attempts to lead start or stop failing with errors, the change
    is reported at most once a minute.
    State: _said_at, _holder, _failing, used only by the elector's thread, which calls this object.
    """

    def __init__(self, say: Callable[[Problem], object], clock: Clock) -> None:
        self._say = say
        self._clock = clock
        self._said_at: float | None = None
        self._holder = ""
        self._failing = False

    def __call__(self, seen: ElectionStatistics) -> None:
        """Report that an attempt to lead failed."""
        now, failing = self._clock.now(), bool(seen.last_error)
        if self._said_at is not None and seen.holder == self._holder:
            recently = now - self._said_at < STANDBY_SECONDS
            if recently or failing == self._failing:
                return
        self._said_at, self._holder, self._failing = now, seen.holder, failing
        self._say(standby(seen))


def standby(seen: ElectionStatistics) -> Problem:
    """Return the problem E11: this replica is on standby, because another one works."""
    namespace, _, name = seen.lease.partition("/")
    return Problem(
        code="E11",
        exit_code=EXIT_OK,
        severity="info",
        what=f"standby: lease {seen.lease} {_state(seen)}",
        causes=(_cause(seen),),
        fixes=(f"kubectl -n {namespace} get lease {name}   (who holds it, and since when)",),
    )


def _state(seen: ElectionStatistics) -> str:
    if seen.renewed_seconds_ago is None:
        return "could not be read yet"
    if not seen.holder:
        return "has no holder"
    ago, left = round(seen.renewed_seconds_ago), round(seen.expires_in_seconds)
    return f"held by {seen.holder} (renewed {ago} s ago, expires in {left} s)"


def _cause(seen: ElectionStatistics) -> str:
    if seen.last_error:
        return f"the last try failed: {seen.last_error}"
    if not seen.holder:
        return "this replica takes over in a moment"
    return "this is normal: one replica works, the others wait with warm caches"


def lost_lease(lost: LeadershipLost) -> Problem:
    """Return the problem E12: another replica may lead from now on, so this process must not work."""
    return Problem(
        code="E12",
        exit_code=EXIT_FATAL,
        what=f"lost leadership: lease {lost.lease} not renewed for {lost.seconds:.0f} s ({lost.why})",
        causes=("another replica may lead from now on, so this process exits; a Deployment starts it again",),
        fixes=(
            "kubectl get --raw /readyz?verbose   (is the API server slow?)",
            "raise the CPU limit of this process, or the durations of --leader-elect",
        ),
    )
