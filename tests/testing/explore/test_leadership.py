"""Two processes of an operator, of which one leads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from handloop.controller.runtime.election.durations import RENEW_DEADLINE_SECONDS
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.testing.explore import process
from handloop.testing.explore.leadership import Leadership
from handloop.testing.explore.oracles import verdicts
from handloop.testing.explore.plan import Plan
from handloop.testing.explore.play import play
from handloop.testing.explore.played import Journal, Played
from handloop.testing.explore.virtual_threads import VirtualThreads
from support.builders.workloads import foo_workload

TWO = replace(foo_workload(), replicas=2, settle_seconds=60)


@pytest.fixture(scope="module")
def undisturbed() -> Played:
    return play(TWO, Plan())


@pytest.mark.parametrize(
    ("plan", "leaders", "restarts"),
    [
        ("", [1], []),
        ("2:crash-before", [1, 2], [3]),
        ("2:pause", [1, 2], [3]),
        ("2:lease-slow", [1, 2], [3]),
        ("2:rival-lease", [1], []),
    ],
)
def test_another_process_takes_over(
    undisturbed: Played, plan: str, leaders: list[int], restarts: list[int]
) -> None:
    """In the place of the one that ends comes a third; and the end is as ever."""
    played = play(TWO, Plan.parse(plan))
    words = [told.words for told in played.story]
    assert [one for one in words if "takes the Lease" in one] == [
        f"process {one} takes the Lease" for one in leaders
    ]
    assert [one for one in words if "starts" in one] == [f"process {one} starts" for one in restarts]
    assert list(dict.fromkeys(write.process for write in played.writes)) == leaders
    assert verdicts(undisturbed, played) == []


def test_a_paused_leader_is_refused_and_ends() -> None:
    """Its write holds for a version that is over; then it finds its lease lost."""
    played = play(TWO, Plan.parse("2:pause"))
    late = played.writes[1]
    assert (late.process, late.struck, late.status) == (1, "pause", 409)
    assert [write.process for write in played.writes[2:]] == [2] * len(played.writes[2:])
    assert any(told.words.startswith("process 1 ends, as it has lost leadership") for told in played.story)


def test_a_process_that_writes_too_long_is_found(
    undisturbed: Played, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here it trusts its lease for 40 s."""
    terms = LeaseTerms(
        namespace="default", name="operator", lease_duration_seconds=60, renew_deadline_seconds=40
    )
    monkeypatch.setattr(process, "TERMS", terms)
    wrong = verdicts(undisturbed, play(TWO, Plan.parse("2:lease-slow")))
    assert "process 1 writes without the Lease: its Lease was renewed " in " ".join(wrong)


def test_a_process_may_write_while_its_lease_is_its_own() -> None:
    """Until the renew deadline, counted from when its last renewal was sent."""
    with VirtualThreads() as threads:
        leadership = Leadership(Journal(threads))
        assert leadership.objection(1) == "it has never held the Lease"
        leadership.renewed(1, 0.0, holds=True)
        assert leadership.objection(2) == "process 1 holds the Lease"
        threads.run_for(RENEW_DEADLINE_SECONDS - 1)
        assert leadership.objection(1) == ""
        threads.run_for(2)
        assert leadership.objection(1) == "its Lease was renewed 11.0 s ago"
        leadership.renewed(2, threads.now, holds=True)
        assert leadership.objection(1) == "process 2 holds the Lease"
        leadership.renewed(2, threads.now, holds=False)
        assert leadership.objection(2) == ""
