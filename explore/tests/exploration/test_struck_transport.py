"""What the plan does to the requests of an operator, and what the operator does then."""

from __future__ import annotations

import pytest

from handloop_explore.plan import RIVALS, Plan
from handloop_explore.play import play
from handloop_explore.workload import applied
from support.builders.workloads import FOO, LIFE, MYAPP_LIFE, foo_workload

POST = "POST /apis/apps/v1/namespaces/default/deployments"


@pytest.mark.parametrize(
    ("what", "statuses", "seconds"),
    [
        ("lost", [201], 0),
        ("never-sent", [0, 201], 0),
        ("timeout-before", [0, 201], 30),
        ("timeout-after", [201], 0),
        *((str(code), [code, 201], 0) for code in (403, 404, 409, 500, 503, 504)),
        ("422", [422], 0),
        ("429", [429, 201], 1),
        ("pause", [201], 0),
        ("stale", [201], 0),
    ],
)
def test_a_write_is_struck_once(what: str, statuses: list[int], seconds: int) -> None:
    """And the operator finds its way; seconds = until its write was accepted."""
    played = play(foo_workload(applied(FOO)), Plan.parse(f"1:{what}"))
    writes = [write for write in played.writes if f"{write.method} {write.path}" == POST]
    assert [write.status for write in writes] == statuses
    assert writes[-1].at - writes[0].at == pytest.approx(seconds, abs=1)
    assert played.busy == 0
    assert len([told for told in played.story if told.who == "plan"]) == 1


def test_a_paused_process_goes_on_with_its_write() -> None:
    """The second one at 21 s; none of its threads does anything for 20 s."""
    played = play(foo_workload(applied(FOO)), Plan.parse("2:pause"))
    assert [told.at for told in played.story if told.write] == pytest.approx([21, 21, 41, 41], abs=0.1)


@pytest.mark.parametrize("what", [one for one in RIVALS if one != "rival-takes-name"])
def test_the_operator_finds_its_way_after_a_rival(what: str) -> None:
    """The scaling of the Deployment is refused; then it is done on what is there."""
    played = play(foo_workload(*LIFE[:-1]), Plan.parse(f"4:{what}"))
    assert played.writes[3].status in (404, 409)
    assert [(one.what, one.target) for one in played.rivals] == [(what, f"{POST.split()[1]}/a")]
    assert played.states[-1].objects["Deployment default/a"]["spec"]["replicas"] == 3


@pytest.mark.parametrize(
    ("plan", "reads", "watches"),
    [
        ("", 0, 2),
        ("1:cut", 0, 4),
        ("1:expired", 0, 4),
        ("1:garbled", 0, 4),
        ("1:rewound", 0, 4),
        ("w1:503", 1, 3),
        ("w1:lost", 1, 3),
        ("w1:410", 0, 3),
        ("w1:503,r1:lost", 2, 3),
        *((f"w1:503,r1:{what}", 1, 3) for what in ("timeout", "403", "500", "503", "504")),
        ("w1:503,r1:410", 2, 3),
        ("w1:503,r1:429", 2, 3),
    ],
)
def test_the_operator_opens_and_reads_again(plan: str, reads: int, watches: int) -> None:
    """A cut watch is opened again; a list that does not come as a watch is read by pages."""
    played = play(foo_workload(applied(FOO)), Plan.parse(plan))
    assert (played.reads, played.watches) == (reads, watches)
    assert len(played.writes) == 3


def test_objects_are_counted_that_an_apply_makes_and_events_are_not_writes() -> None:
    """MyApp applies its children, and its Events are left out."""
    played = play(MYAPP_LIFE, Plan())
    assert played.made["/apis/apps/v1/namespaces/default/deployments/a"] == 1
    assert played.made["/api/v1/namespaces/default/services/a"] == 1
    assert not [write for write in played.writes if "/events" in write.path]
