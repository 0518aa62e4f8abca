"""What a run was like, in words."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.controller.foo.runnable import add_plain_foo
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.played import Played, Told, Write
from handloop_explore.record import Act, Arrival
from handloop_explore.story import MOST_LINES, deed, line_of, lines, parting, parts_at
from handloop_explore.workload import applied, deleted
from support.builders.workloads import FOO, foo_workload

DEPLOYMENT = "Deployment default/a"


@pytest.fixture(scope="module")
def good() -> Played:
    return play(foo_workload(), Plan())


def words(undisturbed: Played, plan: str) -> list[str]:
    """The lines of a plan of Foo, without their times."""
    return [
        line.strip().partition("  ")[2] for line in lines(undisturbed, play(foo_workload(), Plan.parse(plan)))
    ]


def test_writes_are_told_in_words(good: Played) -> None:
    """Who did what, with values; nothing is left out of the undisturbed run's own story."""
    told = [line.partition(" s  ")[2] for line in lines(good, good)]
    assert told[0] == "the user: create Foo a"
    assert told[1] == f"write 1: creates {DEPLOYMENT} -> 201"
    assert told[3] == "write 3: changes Foo default/a: status.availableReplicas 0 -> 1 -> 200"
    assert told[-1] == f"the cluster deletes {DEPLOYMENT}"


def test_the_view_of_a_write_is_told(good: Played) -> None:
    """How far the cache was behind, what a rival had done, and what has never been sent."""
    told = words(good, "4:rival-edit")
    assert any(line.startswith(f"the rival changes {DEPLOYMENT}: metadata.labels") for line in told)
    (refused,) = (line for line in told if line.startswith("write 4"))
    assert "tries to change deployments/a (its cache has version" in refused
    assert "1 change behind) -> 409" in refused
    assert any("which never reaches the server -> 503" in line for line in words(good, "1:503"))
    assert f"write 1: creates {DEPLOYMENT} -> no answer" in words(good, "1:crash-after")


def test_where_nothing_happens_lines_are_joined(good: Played) -> None:
    """Around the strike all are told. A storm is cut."""
    told = " ".join(words(good, "5:rival-edit"))
    assert "as in the undisturbed run" in told
    assert "write 1" not in told
    assert "write 5" in told
    plain = foo_workload(applied(FOO), deleted(FOO), add=add_plain_foo)
    storm = lines(play(plain, Plan()), play(plain, Plan.parse("1:silent")))
    assert len(storm) == MOST_LINES + 1
    assert any("lines are left out" in line for line in storm)


def test_the_runs_part_at_a_write(good: Played) -> None:
    """At the first that is another one, missing or more; not at one which only the plan has kept back."""
    assert parting(good, play(foo_workload(), Plan.parse("4:rival-delete"))) == (
        f"the runs diverge: undisturbed, the operator changes {DEPLOYMENT}: spec.replicas 1 -> 3 (write 4); "
        "here it tries to change deployments/a (write 4)"
    )
    assert parting(good, play(foo_workload(), Plan.parse("1:503"))) == ""
    fewer = good._replace(writes=good.writes[:-1])
    assert "undisturbed, the operator changes Foo default/a" in parting(good, fewer)
    assert "here it writes nothing there" in parting(good, fewer)
    assert "undisturbed, the operator writes nothing there; here it changes" in parting(fewer, good)


def test_what_comes_again_is_no_parting() -> None:
    """The child is left out after a status; later the operator writes both, as it does undisturbed."""
    seen: list[Played] = []
    for names in ("abab", "aab"):
        acts = [Act(1.0, "operator", nth, None, named(name)) for nth, name in enumerate(names, 1)]
        writes = [
            Write(one.version, 1.0, "POST", "/a", 201, arrival=Arrival(0, 0, one.version)) for one in acts
        ]
        seen.append(Played(Plan(), writes, [], [], 0, {}, [], "", [], 0, acts=acts))
    assert parting(*seen) == (
        "the runs diverge: undisturbed, the operator creates ConfigMap /b (write 2); "
        "here it creates ConfigMap /a (write 2)"
    )
    assert line_of([Told(1.0, "plan", "", 2), Told(1.0, "process 1", "", 2)], parts_at(*seen)[1]) == 1


def test_the_end_of_a_finalizer_is_no_deletion() -> None:
    """The object goes by the write that takes its last finalizer away."""
    held = named("a")
    assert deed(Act(1.0, "operator", 1, held, None)) == "deletes ConfigMap /a"
    held["metadata"] |= {"deletionTimestamp": "now", "finalizers": ["example.org/mine"]}
    words = "removes the last finalizer of ConfigMap /a, which deletes it"
    assert deed(Act(1.0, "operator", 1, held, None)) == words


def named(name: str) -> dict[str, Any]:
    return {"kind": "ConfigMap", "metadata": {"name": name, "uid": name}}
