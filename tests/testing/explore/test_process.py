"""A process of the operator, and what the plan does to its requests."""

from __future__ import annotations

import threading

import pytest

from handloop.testing.explore.plan import Plan
from handloop.testing.explore.play import play
from handloop.testing.explore.workload import Workload, applied
from support.builders.workloads import FOO, MYAPP_LIFE, foo_workload

POST = "POST /apis/apps/v1/namespaces/default/deployments"


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
