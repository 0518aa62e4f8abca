"""What to say about leader election: E11 while we wait for it, E12 when it is over unasked."""

from __future__ import annotations

from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, Problem
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.leader_election import LeadershipLost


def standby(seen: ElectionStatistics) -> Problem:
    """E11: it runs, and another one works."""
    return Problem(
        code="E11",
        exit_code=EXIT_OK,
        severity="info",
        what=f"standby: lease {seen.lease} {_state(seen)}",
        causes=(_cause(seen),),
        fixes=(_look(seen.lease),),
    )


def _state(seen: ElectionStatistics) -> str:
    if seen.renewed_seconds_ago is None:
        return "could not be read yet"
    if not seen.holder:
        return "is held by nobody"
    ago, left = round(seen.renewed_seconds_ago), round(seen.expires_in_seconds)
    return f"held by {seen.holder} (renewed {ago} s ago, expires in {left} s)"


def _cause(seen: ElectionStatistics) -> str:
    if seen.last_error:
        return f"the last try failed: {seen.last_error}"
    if not seen.holder:
        return "this replica takes over in a moment"
    return "this is normal: one replica works, the others wait with warm caches"


def _look(lease: str) -> str:
    namespace, _, name = lease.partition("/")
    return f"kubectl -n {namespace} get lease {name}   (who holds it, and since when)"


def lost_lease(lost: LeadershipLost) -> Problem:
    """E12: another one may work from here on, so this process must not."""
    return Problem(
        code="E12",
        exit_code=EXIT_FATAL,
        what=f"lost leadership: lease {lost.lease} not renewed for {lost.seconds:.0f} s ({lost.why})",
        causes=("another replica may take over, so this process ends; whatever runs it starts it again",),
        fixes=(
            "kubectl get --raw /readyz?verbose   (is the API server slow?)",
            "was this process starved? raise its CPU limit, or the durations of --leader-elect",
        ),
    )
