"""Our own controllers under every single strike: nothing is lost, doubled, foreign or endless."""

from __future__ import annotations

import os

import pytest

from handloop.testing.explore import Workload
from handloop.testing.explore.explorer import run_plans
from handloop.testing.explore.plans import Places, single_plans
from support.builders.workloads import MYAPP_LIFE, foo_workload

NIGHTLY = int(os.environ.get("EXPLORED_PLANS", "2000"))


@pytest.mark.parametrize("workload", [foo_workload(), MYAPP_LIFE], ids=["foo", "myapp"])
def test_every_single_strike_changes_nothing_in_the_end(workload: Workload) -> None:
    """At each write of the undisturbed run, and each watch; nor does an operator that starts late."""
    undisturbed = run_plans(workload, plans=0).undisturbed
    run_plans(workload, plans=1 + len([*single_plans(Places.of(undisturbed))])).check()


@pytest.mark.nightly
@pytest.mark.parametrize("workload", [foo_workload(), MYAPP_LIFE], ids=["foo", "myapp"])
def test_pairs_triples_and_orders_change_nothing_in_the_end(workload: Workload) -> None:
    """EXPLORED_PLANS of them."""
    run_plans(workload, plans=NIGHTLY).check()
