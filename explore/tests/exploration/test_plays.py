"""Plans played and judged; how failures are made smaller is in test_explorer.py."""

from __future__ import annotations

import pytest

from handloop_explore.cluster import VirtualCluster
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.plays import Plays
from handloop_explore.rivals import RIVAL
from handloop_explore.workload import Step, applied
from support.builders.workloads import FOO, foo_workload


def unless_edited(cluster: VirtualCluster) -> None:
    """A step that a rival's edit of the Foo spoils."""
    found = cluster.find(cluster.path_of(FOO))
    assert found is not None
    assert RIVAL not in found["metadata"].get("labels", ()), "edited"


@pytest.mark.parametrize("plans", [["2:rival-edit"], ["2:rival-edit", "1:lost"]])
def test_a_play_that_breaks_off_is_a_failure(plans: list[str]) -> None:
    """With its traceback: in this process, where a single plan is played, and in a fork."""
    workload = foo_workload(applied(FOO), Step("check", unless_edited))
    plays = Plays(workload, play(workload, Plan()), (), 1)
    found = dict(plays.judged([Plan.parse(plan) for plan in plans]))
    failure = found.pop(0)
    assert failure is not None
    assert "AssertionError: edited" in failure.verdicts[0]
    assert list(found.values()) == [None] * (len(plans) - 1)
