"""The messages of leader election."""

from __future__ import annotations

from itertools import pairwise

import pytest

from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, Problem
from handloop.controller.cli.standby import StandbyReport, lost_lease, standby
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.testing.fake_clock import FakeClock

HELD = ElectionStatistics(
    lease="demo/handloop",
    identity="pod-b",
    holder="pod-a",
    leading=False,
    renewed_seconds_ago=1.2,
    expires_in_seconds=13.8,
    last_error="",
)


@pytest.fixture
def clock() -> FakeClock:
    """Moved by the test."""
    return FakeClock()


def test_it_is_reported_once(clock: FakeClock) -> None:
    """E11: at the first try in vain. A healthy standby writes nothing more, however long it waits."""
    said: list[float] = []
    report = StandbyReport(lambda _problem: said.append(clock.now()), clock)
    for _ in range(1000):
        report(HELD)
        clock.advance(2.5)
    assert said == [0.0]


def test_an_error_is_news_once_a_minute(clock: FakeClock) -> None:
    """E11: that the tries fail, and that they do so no longer; not each change of mind."""
    said: list[tuple[float, bool]] = []
    report = StandbyReport(lambda problem: said.append((clock.now(), "failed" in str(problem))), clock)
    for second in range(600):
        report(HELD._replace(last_error="refused" if 100 < second < 300 or second % 2 else ""))
        clock.advance(1)
    assert said[:3] == [(0.0, False), (61.0, True), (300.0, False)]
    assert all(later - earlier >= 60 for (earlier, _), (later, _) in pairwise(said))


def test_a_new_holder_is_news(clock: FakeClock) -> None:
    """E11: reported at once."""
    said: list[Problem] = []
    report = StandbyReport(said.append, clock)
    report(HELD)
    report(HELD._replace(holder="pod-c"))
    report(HELD._replace(holder="pod-c"))
    assert ["pod-a" in said[0].what, "pod-c" in said[1].what] == [True, True]
    assert len(said) == 2


def test_a_standby_shows_whom_it_waits_for() -> None:
    """E11: holder, renewed when, expires when, and that this is normal."""
    problem = standby(HELD)
    assert str(problem).splitlines() == [
        "info: standby: lease demo/handloop held by pod-a (renewed 1 s ago, expires in 14 s)",
        "  cause: this is normal: one replica works, the others wait with warm caches",
        "  fix: kubectl -n demo get lease handloop   (who holds it, and since when)",
        "  more: handloop errors E11",
    ]
    assert problem.exit_code == EXIT_OK


@pytest.mark.parametrize(
    ("seen", "what", "cause"),
    [
        (
            HELD._replace(last_error="connection refused"),
            "held by pod-a (renewed 1 s ago, expires in 14 s)",
            "the last try failed: connection refused",
        ),
        (
            HELD._replace(holder="", renewed_seconds_ago=None, last_error="403"),
            "could not be read yet",
            "the last try failed: 403",
        ),
        (HELD._replace(holder=""), "has no holder", "this replica takes over in a moment"),
    ],
)
def test_a_standby_shows_what_is_in_its_way(seen: ElectionStatistics, what: str, cause: str) -> None:
    """E11: also when it is not another holder."""
    problem = standby(seen)
    assert problem.what == f"standby: lease demo/handloop {what}"
    assert problem.causes == (cause,)


def test_a_lost_lease_shows_since_when_and_why() -> None:
    """E12: and that the process ends, with 1."""
    problem = lost_lease(LeadershipLost("demo/handloop", 10.04, "last error: timeout"))
    assert problem.what == ("lost leadership: lease demo/handloop not renewed for 10 s (last error: timeout)")
    assert (problem.code, problem.exit_code, problem.severity) == ("E12", EXIT_FATAL, "error")
    assert any("CPU" in fix for fix in problem.fixes)
