"""E11 and E12 in words."""

from __future__ import annotations

import pytest

from handloop.controller.cli.election_problems import lost_lease, standby
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.leader_election import LeadershipLost

SEEN = ElectionStatistics(
    lease="demo/handloop",
    identity="pod-b",
    holder="pod-a",
    leading=False,
    renewed_seconds_ago=1.2,
    expires_in_seconds=13.8,
    last_error="",
)


def test_a_standby_says_whom_it_waits_for() -> None:
    """E11: holder, renewed when, expires when, and that this is normal."""
    problem = standby(SEEN)
    assert str(problem).splitlines() == [
        "info: standby: lease demo/handloop held by pod-a (renewed 1 s ago, expires in 14 s)",
        "  cause: this is normal: one replica works, the others wait with warm caches",
        "  fix: kubectl -n demo get lease handloop   (who holds it, and since when)",
        "  more: docs/errors.md#e11",
    ]
    assert problem.exit_code == EXIT_OK


@pytest.mark.parametrize(
    ("seen", "what", "cause"),
    [
        (
            SEEN._replace(last_error="connection refused"),
            "held by pod-a (renewed 1 s ago, expires in 14 s)",
            "the last try failed: connection refused",
        ),
        (
            SEEN._replace(holder="", renewed_seconds_ago=None, last_error="403"),
            "could not be read yet",
            "the last try failed: 403",
        ),
        (SEEN._replace(holder=""), "is held by nobody", "this replica takes over in a moment"),
    ],
)
def test_a_standby_says_what_is_in_its_way(seen: ElectionStatistics, what: str, cause: str) -> None:
    """E11: also when it is not another holder."""
    problem = standby(seen)
    assert problem.what == f"standby: lease demo/handloop {what}"
    assert problem.causes == (cause,)


def test_a_lost_lease_says_since_when_and_why() -> None:
    """E12: and that the process ends, with 1."""
    problem = lost_lease(LeadershipLost("demo/handloop", 10.04, "last error: timeout"))
    assert problem.what == ("lost leadership: lease demo/handloop not renewed for 10 s (last error: timeout)")
    assert (problem.code, problem.exit_code, problem.severity) == ("E12", EXIT_FATAL, "error")
    assert any("CPU" in fix for fix in problem.fixes)
