"""How long the reconciles of an operator take."""

from __future__ import annotations

import math
import time

import pytest

from handloop import APIError, Context, Manager, controller_for
from handloop.controller.foo.types import Foo
from handloop.kinds.core_v1 import ConfigMap
from handloop_explore.explorer import run_plans
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.workload import Workload, applied
from support.builders.workloads import FOO

TRIED_AGAIN_SECONDS = 150


def patient(tries: float) -> Workload:
    """An operator that asks again within a reconcile, so often, once the server has refused a write."""

    def reconcile(foo: Foo, context: Context) -> None:
        tried = 0
        try:
            context.apply(ConfigMap.named(foo), owner=foo)
        except APIError:
            while tried < tries:
                time.sleep(TRIED_AGAIN_SECONDS)
                tried += 1
            raise

    def set_up(manager: Manager) -> None:
        controller_for(manager, "foos").for_(Foo).owns(ConfigMap).complete(reconcile)

    return Workload(set_up, [applied(FOO)])


@pytest.mark.parametrize(("tries", "found"), [(1, []), (3, ["450"]), (math.inf, ["740"])])
def test_a_reconcile_beyond_its_deadline_is_told(tries: float, found: list[str]) -> None:
    """Whether it ends late or never; undisturbed there is nothing to tell."""
    failures = run_plans(patient(tries), replay="1:503").failures
    told = [words for one in failures for words in one.verdicts if "a reconcile" in words]
    assert told == [f"a reconcile of foos took {seconds} s, but the limit is 300 s" for seconds in found]


def test_the_slowest_of_all_processes_is_kept() -> None:
    """A crash, and the reconciles of the next process, which are fast, leave it."""
    slowest = play(patient(1), Plan.parse("1:503,2:crash-after")).slowest
    assert (round(slowest.seconds), slowest.queue) == (TRIED_AGAIN_SECONDS, "foos")
