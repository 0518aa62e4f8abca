"""One run under a plan."""

from __future__ import annotations

import threading

import pytest

from handloop.testing.explore.plan import Plan
from handloop.testing.explore.play import play
from handloop.testing.explore.workload import Workload, applied
from support.builders.workloads import FOO, MYAPP_LIFE, foo_workload

POST = "POST /apis/apps/v1/namespaces/default/deployments"


def test_the_same_plan_is_the_same_run() -> None:
    """Down to the last switch of threads; another order is another run with the same end."""
    plan = Plan.parse("2:crash-after,4:lost/5")
    first, second = play(foo_workload(), plan), play(foo_workload(), plan)
    assert first == second
    others = [play(foo_workload(), plan._replace(order=order)) for order in range(6, 10)]
    assert len({other.switches for other in others}) > 1
    assert all(other.states == first.states for other in others)


def test_a_crash_ends_all_threads_and_another_process_goes_on() -> None:
    """The write before the crash is not sent, the one after it is."""
    before = threading.active_count()
    for what, creates in (("crash-before", 1), ("crash-after", 1)):
        played = play(foo_workload(applied(FOO)), Plan.parse(f"1:{what}"))
        statuses = [write.status for write in played.writes if f"{write.method} {write.path}" == POST]
        assert statuses == ([0, 201] if what == "crash-before" else [201])
        assert sum(played.made.values()) == creates
        assert "Deployment default/a" in played.states[-1].objects
        assert any("another process starts" in line for line in played.story)
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("what", "statuses"),
    [("lost", [201]), ("never-sent", [0, 201]), ("409", [409, 201]), ("503", [503, 201]), ("stale", [201])],
)
def test_a_reply_is_struck_once(what: str, statuses: list[int]) -> None:
    """And the operator finds its way; what it sent unanswered is in the story."""
    played = play(foo_workload(applied(FOO)), Plan.parse(f"1:{what}"))
    assert [write.status for write in played.writes if f"{write.method} {write.path}" == POST] == statuses
    assert played.busy == 0


def test_a_process_that_ends_by_itself_is_seen() -> None:
    """With its error."""

    class Broken:
        name = "broken"

        def run(self, _stop: threading.Event) -> None:
            raise ValueError("out of order")

    played = play(Workload(lambda manager: manager.add(Broken()), ()), Plan())
    assert "out of order" in played.died


def test_objects_are_counted_that_an_apply_makes_and_events_are_not_writes() -> None:
    """MyApp applies its children, and its Events are left out."""
    played = play(MYAPP_LIFE, Plan())
    assert played.made["/apis/apps/v1/namespaces/default/deployments/a"] == 1
    assert played.made["/api/v1/namespaces/default/services/a"] == 1
    assert not [write for write in played.writes if "/events" in write.path]
