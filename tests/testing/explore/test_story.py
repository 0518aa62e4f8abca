"""What a run was like, in words."""

from __future__ import annotations

import pytest

from handloop.controller.foo.runnable import add_plain_foo
from handloop.testing.explore.plan import Plan
from handloop.testing.explore.play import play
from handloop.testing.explore.played import Played
from handloop.testing.explore.story import MOST_LINES, lines, parting
from handloop.testing.explore.workload import applied, deleted
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
        f"the runs part: undisturbed the operator changes {DEPLOYMENT}: spec.replicas 1 -> 3 (write 4); "
        "here it tries to change deployments/a (write 4)"
    )
    assert parting(good, play(foo_workload(), Plan.parse("1:503"))) == ""
    fewer = good._replace(writes=good.writes[:-1])
    assert "undisturbed the operator changes Foo default/a" in parting(good, fewer)
    assert "here it writes nothing there" in parting(good, fewer)
    assert "undisturbed the operator writes nothing there; here it changes" in parting(fewer, good)
