"""Our own controllers under every single strike: nothing is lost, doubled, foreign or endless."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop_explore import Step, Workload, deleted, generated
from handloop_explore.explorer import run_plans
from handloop_explore.plan import LATE_PLAN
from handloop_explore.plans import Places, single_plans
from handloop_explore.plays import Plays
from support.builders.workloads import (
    FOO,
    MEMCACHED_LIFE,
    MYAPP,
    MYAPP_LIFE,
    MYAPP_UNSCALED,
    WORKLOADS,
    foo_workload,
)

EXPLORED_PLANS = int(os.environ.get("EXPLORED_PLANS", "40000"))


@pytest.mark.parametrize(
    ("workload", "part", "parts"),
    [(foo_workload(), 0, 1), *((MYAPP_LIFE, part, 4) for part in range(4))],
    ids=["foo", *(f"myapp-{part}" for part in range(4))],
)
def test_every_single_strike_changes_nothing_in_the_end(workload: Workload, part: int, parts: int) -> None:
    """At each write of the undisturbed run, and each watch; nor does an operator that starts late."""
    undisturbed = run_plans(workload, plans=0).undisturbed
    plans = [LATE_PLAN, *single_plans(Places.of(undisturbed, workload))][part::parts]
    played = Plays(workload, undisturbed, (), processes=len(os.sched_getaffinity(0)))
    found = dict(played.judged(plans))
    assert [(str(plans[index]), failure.verdicts) for index, failure in found.items() if failure] == []
    assert len(found) == len(plans)


@pytest.mark.parametrize(
    ("workload", "plan"),
    [(MYAPP_UNSCALED, "2:rival-recreate,r2:500"), (MEMCACHED_LIFE, "4:rival-recreate,6:timeout-before")],
    ids=[
        "an autoscaler is made after the Deployment has the replicas of the spec",
        "a rival makes again what users wanted until the end",
    ],
)
def test_what_pairs_have_shown_is_mended(workload: Workload, plan: str) -> None:
    """Each a plan that failed once."""
    run_plans(workload, replay=plan).check()


def foo_steps(seed: int) -> list[Step]:
    """A Foo's; as upstream, a new deploymentName leaves the Deployment of the old one until the Foo goes."""
    renamed = [*generated(Foo, FOO, seed=seed), deleted(FOO)]
    return renamed if seed % 2 else generated(Foo, FOO, seed=seed, leave=("deploymentName",))


def myapp_steps(seed: int) -> list[Step]:
    """A MyApp's."""
    return generated(MyApp, MYAPP, seed=seed)


def assert_ends_by_the_last_state(
    workload: Workload, steps_of: Callable[[int], list[Step]], seed: int
) -> None:
    """What was before the last step changes nothing."""
    run_plans(replace(workload, steps=steps_of(seed)), replay=str(LATE_PLAN)).check()


STEPS = pytest.mark.parametrize(
    ("workload", "steps_of"), [(foo_workload(), foo_steps), (MYAPP_LIFE, myapp_steps)], ids=["foo", "myapp"]
)


@STEPS
@pytest.mark.parametrize("seed", [1, 2])
def test_what_users_wanted_before_changes_nothing(
    workload: Workload, steps_of: Callable[[int], list[Step]], seed: int
) -> None:
    """Any values that the server takes, and back: the end is that of creating the sample."""
    assert_ends_by_the_last_state(workload, steps_of, seed)


@pytest.mark.nightly
@STEPS
def test_nothing_of_five_hundred_stories_is_left(
    workload: Workload, steps_of: Callable[[int], list[Step]]
) -> None:
    """Others than by day."""
    for seed in range(3, 503):
        assert_ends_by_the_last_state(workload, steps_of, seed)


@pytest.mark.nightly
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", WORKLOADS)
def test_pairs_triples_and_orders_change_nothing_in_the_end(name: str) -> None:
    """EXPLORED_PLANS of them in all, the fewer the longer they take; the figures are printed."""
    shares = {one: 1 if workload.replicas == 1 else 0.25 for one, workload in WORKLOADS.items()}
    report = run_plans(WORKLOADS[name], plans=math.ceil(EXPLORED_PLANS * shares[name] / sum(shares.values())))
    print(f"{name}: {report.head}")  # noqa: T201 - `make explore` shows it
    report.check()
