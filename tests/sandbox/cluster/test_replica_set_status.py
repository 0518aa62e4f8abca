from __future__ import annotations

from typing import Any

from handloop.apis.time import format_time
from handloop.sandbox.cluster.replica_set_status import counted

_NOW = 1_700_000_000.0


def _replica_set(**status: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}}
    return {"metadata": {"generation": 4}, "spec": {"template": template}, "status": status}


def _pod(*, ready: bool, **labels: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": str(ready)}
    return {"metadata": {"labels": labels}, "status": {"phase": "Running", "conditions": [condition]}}


def test_counters_leave_zeros_out_as_the_real_controller_does() -> None:
    """replicas, terminatingReplicas and observedGeneration are always there, other counters only above 0."""
    status = counted(_replica_set(), [], available=0, terminating=0, failure=None, now=_NOW)
    assert status == {"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 4}


def test_counters_over_active_pods() -> None:
    """Ready pods and those with all labels of the template are counted."""
    pods = [_pod(ready=True, app="web"), _pod(ready=False, app="web"), _pod(ready=True, app="db")]
    status = counted(_replica_set(), pods, available=1, terminating=2, failure=None, now=_NOW)
    assert status == {
        "replicas": 3,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "terminatingReplicas": 2,
        "observedGeneration": 4,
    }


def test_failure_comes_and_goes() -> None:
    """A refused create is a condition until a look without one; its time stays as long as the reason does."""
    failure = ("FailedCreate", "no quota")
    first = counted(_replica_set(), [], available=0, terminating=0, failure=failure, now=_NOW)
    (condition,) = first["conditions"]
    assert condition == {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": format_time(_NOW),
        "reason": "FailedCreate",
        "message": "no quota",
    }
    again = counted(_replica_set(**first), [], available=0, terminating=0, failure=failure, now=_NOW + 9)
    assert again["conditions"] == [condition]
    over = counted(_replica_set(**first), [], available=0, terminating=0, failure=None, now=_NOW)
    assert "conditions" not in over
