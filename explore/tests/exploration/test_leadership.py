"""Two processes of an operator, of which one leads."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.controller.runtime.election.durations import RENEW_DEADLINE_SECONDS
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.sharding.shards import Shards
from handloop.controller.runtime.sharding.slot_work import SlotWork
from handloop_explore import process
from handloop_explore.leadership import TERMS, Leadership
from handloop_explore.oracles import verdicts
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.played import Journal, Played
from handloop_explore.virtual_threads import VirtualThreads
from support.builders.workloads import WORKLOADS, foo_workload

SHARED = WORKLOADS["foo, slots of 2 processes"]
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
    assert any(told.words.startswith("process 1 ends, because it has lost") for told in played.story)


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
        leadership, lease = Leadership(Journal(threads)), TERMS.name
        assert leadership.objection(1, "/a") == "it has never held the Lease"
        leadership.renewed(lease, 1, 0.0, holds=True)
        assert leadership.objection(2, "/a") == "process 1 holds the Lease"
        threads.run_for(RENEW_DEADLINE_SECONDS - 1)
        assert leadership.objection(1, "/a") == ""
        threads.run_for(2)
        assert leadership.objection(1, "/a") == "its Lease was renewed 11.0 s ago"
        leadership.renewed(lease, 2, threads.now, holds=True)
        assert leadership.objection(1, "/a") == "process 2 holds the Lease"
        leadership.renewed(lease, 2, threads.now, holds=False)
        assert leadership.objection(2, "/a") == ""


def test_a_process_may_write_in_its_slots() -> None:
    """A slot is that of the namespace; what is in none, or shared by UID, cannot be told from the path."""
    inside = "/apis/apps/v1/namespaces/team-18/deployments/a"
    with VirtualThreads() as threads:
        slots = Leadership(Journal(threads), Shards(3))
        lease = f"{TERMS.name}-slot-{slot_of_namespace('team-18', 3)}-of-3"
        slots.renewed(lease, 1, 0.0, holds=True)
        assert slots.objection(1, inside) == ""
        assert slots.objection(2, inside) == "process 1 holds the Lease"
        assert slots.objection(1, inside.replace("18", "12")) == "it has never held the Lease"
        assert slots.objection(1, "/api/v1/namespaces/team-18") == ""
        assert Leadership(Journal(threads), Shards(3, by="uid")).objection(1, inside) == ""


@pytest.fixture(scope="module")
def shared() -> Played:
    return play(SHARED, Plan())


@pytest.mark.parametrize(
    "plan",
    [
        "",
        "l8:crash-before",
        "l9:crash-after",
        "l9:pause",
        "20:pause",
        "l9:rival-lease",
        "w3:missed",
        "20:slow-crash",
    ],
)
def test_slots_go_from_one_process_to_another(shared: Played, plan: str) -> None:
    """
    At each step of that a fault delays, and changes nothing in the end; no slot has two writers.

    Here the first process is about to give a slot to the second one, or that has just got it.
    """
    played = play(SHARED, Plan.parse(plan))
    assert len({write.process for write in played.writes}) > 1
    assert [one.who for one in played.story].count("plan") == bool(plan)
    assert (played == shared) == (not plan), "the same plan is the same run"
    assert verdicts(shared, played) == []


def test_a_slot_leaves_after_the_write_that_is_under_way(shared: Played) -> None:
    """It is to leave at 51 s; the write in it has its answer at 59 s."""
    slow = play(SHARED, Plan.parse("20:slow"))
    left = [next(one.at for one in run.story if one.words.endswith(" back")) for run in (shared, slow)]
    assert [round(at) for at in left] == [51, 59]
    assert verdicts(shared, slow) == []


def test_two_writers_of_a_slot_are_found(shared: Played, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its fence a process that was paused writes on, beside the one that has its slots now."""
    monkeypatch.setattr(SlotWork, "seconds_to_write", lambda *_: math.inf)
    assert any(
        "without the Lease" in words for words in verdicts(shared, play(SHARED, Plan.parse("1:pause")))
    )
