"""Our own controllers under every single strike: nothing is lost, doubled, foreign or endless."""

from __future__ import annotations

import os
from typing import Any

import pytest

from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.testing.explore import Workload, applied, changed, deleted, explore, settled
from handloop.testing.explore.plan import WHATS
from support.builders.foo_workload import foo_workload

MYAPP: dict[str, Any] = {
    "apiVersion": MyApp.resource.api_version,
    "kind": "MyApp",
    "metadata": {"name": "a"},
    "spec": {"image": "nginx:1.27", "replicas": 2},
}
AUTOSCALED = {"spec": {"autoScaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 3}}}
MYAPP_LIFE = Workload(
    lambda manager: add_myapp(manager, workers=2),
    [
        applied(MYAPP),
        changed(MYAPP, {"spec": {"replicas": 3}}),
        settled(),  # from here on the autoscaler has the replicas, as they are then
        changed(MYAPP, AUTOSCALED),
        settled(),
        deleted(MYAPP),
    ],
    settle_seconds=180,
)
NIGHTLY = int(os.environ.get("EXPLORED_PLANS", "2000"))


@pytest.mark.parametrize("workload", [foo_workload(), MYAPP_LIFE], ids=["foo", "myapp"])
def test_every_single_strike_changes_nothing_in_the_end(workload: Workload) -> None:
    """At each write of the undisturbed run, each of them."""
    undisturbed = explore(workload, plans=0).undisturbed
    explore(workload, plans=len(undisturbed.writes) * len(WHATS)).check()


@pytest.mark.nightly
@pytest.mark.parametrize("workload", [foo_workload(), MYAPP_LIFE], ids=["foo", "myapp"])
def test_pairs_triples_and_orders_change_nothing_in_the_end(workload: Workload) -> None:
    """EXPLORED_PLANS of them."""
    explore(workload, plans=NIGHTLY).check()
