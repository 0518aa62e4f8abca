"""Work that goes from one process to another: nothing is lost, doubled or forgotten on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

import pytest

from handloop_explore.explorer import run_plans
from handloop_explore.plan import Plan
from handloop_explore.plans import Places, all_plans
from handloop_explore.plays import Plays
from support.builders.handovers import BOXES, HANDOVERS, ODD

SAMPLES = 50


def failing(name: str, chosen: Callable[[Iterator[Plan]], Iterable[Plan]]) -> list[str]:
    """
    The plans that fail, each as the line that replays it, with what is wrong.

    The handler that raises is no failure: it does so in every run.
    """
    workload = HANDOVERS[name]
    undisturbed = run_plans(workload, plans=0).undisturbed
    plans = list(chosen(all_plans(Places.of(undisturbed, workload), seed=1)))
    found = dict(Plays(workload, undisturbed, (), processes=2).judged(plans))
    assert len(found) == len(plans)
    return [
        f"python -m museum.replay '{name} {plans[index]}': {failure.verdicts}"
        for index, failure in sorted(found.items())
        if failure
    ]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("slots-by-namespace", "9:pause"),
        ("slots-by-uid", "/45"),
        ("a-lead", "7:pause"),
    ],
    ids=[
        "what was applied is forgotten with its slot",
        "no event between an object's end and that of its name is lost",
        "a write of a former leader comes after its lead",
    ],
)
def test_a_handover_changes_nothing_in_the_end(name: str, line: str) -> None:
    """Each a plan under which it did."""
    run_plans(HANDOVERS[name], replay=line).check()


@pytest.mark.parametrize("name", ["takeover-of-slots", "takeover-of-a-lead"])
def test_who_takes_over_sees_what_was_written_before(name: str) -> None:
    """Also if the server's caches are behind by each of the writes of who had it before."""
    assert failing(name, lambda plans: islice((one for one in plans if "behind-crash" in str(one)), 6)) == []


@pytest.mark.parametrize("name", ["slots-by-namespace", "slots-by-uid"])
def test_a_handler_that_raises_keeps_no_slot_closed(name: str) -> None:
    """One of somebody else, on an object of each first list: both processes work on their slots."""
    undisturbed = run_plans(HANDOVERS[name], plans=0).undisturbed
    objects = undisturbed.states[0].objects
    assert f"ConfigMap default/{ODD['metadata']['name']}" in objects
    assert {f"ConfigMap {box['metadata']['namespace']}/a" for box in BOXES} <= objects.keys()
    assert len([key for key in objects if key.startswith("Secret ")]) == len(BOXES)
    assert {write.process for write in undisturbed.writes} == {1, 2}


@pytest.mark.nightly
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", HANDOVERS)
def test_samples_of_plans_change_nothing_in_the_end(name: str) -> None:
    """Single strikes, those that show most first, and orders in which threads are slow before a lock."""
    orders = [Plan((), order) for order in range(1, 4 * SAMPLES, 4)]
    assert failing(name, lambda plans: [*islice(plans, SAMPLES), *orders]) == []
