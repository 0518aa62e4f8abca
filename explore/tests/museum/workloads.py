"""The workloads that exhibits name: those of support.builders, and stories of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from handloop.controller.foo.types import Foo
from handloop.controller.myapp.reconciler import add_myapp
from handloop_explore import Invariant, Step, Workload, applied, changed, deleted, invariant, settled
from support.builders.handovers import HANDOVERS
from support.builders.workloads import (
    APPCLUSTER_LIFE,
    AUTOSCALED,
    DEPLOYMENT,
    FOO,
    FOO_STORIES,
    MYAPP,
    MYAPP_LIFE,
    foo_workload,
)

_STORM: Final = 200
"""So many changes of a cluster are far more than any of these workloads needs."""
_SERVICE: Final = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "a"},
    "spec": {"ports": [{"port": 80}]},
}
_AUTOSCALED: Final = {**MYAPP, "spec": {**MYAPP["spec"], **AUTOSCALED["spec"]}}
_SILENCE: Final = Step(
    "the watch of Foos falls silent",
    lambda cluster: cluster.sandbox.faults.silence(
        resources=[str(Foo.resource.group_resource)], only_open=True
    ),
)


def _myapp(*steps: Step, remembers: bool = False) -> Workload:
    """Args: remembers as in Workload."""
    return Workload(
        lambda manager: add_myapp(manager, workers=2), steps, settle_seconds=180, remembers=remembers
    )


WORKLOADS: Final[dict[str, Workload]] = {
    "foo": foo_workload(),
    "foo-again": foo_workload(*FOO_STORIES["made again"]),
    "foo-silent": foo_workload(applied(FOO), _SILENCE, deleted(FOO)),
    "foo-of-two": replace(foo_workload(), replicas=2),
    "foo-foreground": foo_workload(applied(FOO), settled(), deleted(FOO, propagation="Foreground")),
    "myapp": MYAPP_LIFE,
    "myapp-scaled": _myapp(
        applied(_AUTOSCALED), changed(DEPLOYMENT, {"spec": {"replicas": 3}}), settled(), remembers=True
    ),
    "myapp-switched-off": _myapp(applied(_AUTOSCALED), changed(MYAPP, {"spec": {"autoScaling": None}})),
    "myapp-in-the-way": _myapp(applied(_SERVICE), applied(MYAPP), settled(), settled(), deleted(_SERVICE)),
    "appcluster": APPCLUSTER_LIFE,
    **HANDOVERS,
}
INVARIANTS: Final[dict[str, tuple[Invariant, ...]]] = {
    "foo-silent": (invariant("there is no storm of writes", lambda cluster: cluster.version < _STORM),),
    "myapp-scaled": (
        invariant(
            "the autoscaler's number of replicas stays",
            lambda cluster: (cluster.find(cluster.path_of(DEPLOYMENT)) or {})["spec"]["replicas"] == 3,
        ),
    ),
}
