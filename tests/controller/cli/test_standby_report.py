"""A standby says whom it waits for, now and then."""

from __future__ import annotations

import pytest

from handloop.controller.cli.problems import Problem
from handloop.controller.cli.standby_report import StandbyReport
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from support.fake_clock import FakeClock

SEEN = ElectionStatistics("demo/foo", "pod-b", "pod-a", False, 1.0, 14.0, "")


@pytest.fixture
def clock() -> FakeClock:
    """Moved by the test."""
    return FakeClock()


def test_it_is_said_once_a_minute(clock: FakeClock) -> None:
    """E11: at the first try in vain, and then every 60 s, however often it is tried."""
    said: list[float] = []
    report = StandbyReport(lambda _problem: said.append(clock.now()), clock)
    for _ in range(100):
        report(SEEN)
        clock.advance(2.5)
    assert said == [0.0, 60.0, 120.0, 180.0, 240.0]


def test_a_new_holder_is_news(clock: FakeClock) -> None:
    """E11: said at once."""
    said: list[Problem] = []
    report = StandbyReport(said.append, clock)
    report(SEEN)
    report(SEEN._replace(holder="pod-c"))
    report(SEEN._replace(holder="pod-c"))
    assert ["pod-a" in said[0].what, "pod-c" in said[1].what] == [True, True]
    assert len(said) == 2
