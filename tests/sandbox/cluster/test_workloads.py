from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.cluster.workloads import (
    condition,
    is_deleting,
    is_pod_active,
    is_pod_finished,
    is_pod_ready,
    spec_replicas,
    status_count,
)


def _pod(phase: str, *, ready: str = "", deleting: bool = False) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", **({"deletionTimestamp": "2023-01-01T00:00:00Z"} if deleting else {})},
        "status": {"phase": phase, "conditions": [{"type": "Ready", "status": ready}] if ready else []},
    }


@pytest.mark.parametrize(
    ("pod", "active", "finished", "ready"),
    [
        (_pod("Running", ready="True"), True, False, True),
        (_pod("Running", ready="False"), True, False, False),
        (_pod("Pending"), True, False, False),
        (_pod("Succeeded"), False, True, False),
        (_pod("Failed"), False, True, False),
        (_pod("Running", ready="True", deleting=True), False, False, True),
        ({"metadata": {"name": "p"}}, True, False, False),
    ],
)
def test_pods_count_as_replicas_until_they_end(
    pod: dict[str, Any], active: bool, finished: bool, ready: bool
) -> None:
    """A pod is active unless it is finished or being deleted; ready is what its condition says."""
    assert (is_pod_active(pod), is_pod_finished(pod), is_pod_ready(pod)) == (active, finished, ready)


def test_absent_numbers() -> None:
    """Replicas default to 1 in a spec and to 0 in a status; 0 stays 0."""
    assert spec_replicas({"spec": {}}) == 1
    assert spec_replicas({"spec": {"replicas": 0}}) == 0
    assert status_count({}, "replicas") == 0
    assert status_count({"status": {"replicas": 2}}, "replicas") == 2


def test_absent_conditions() -> None:
    """An object without a status has no conditions and is not being deleted."""
    assert condition({"metadata": {}}, "Ready") is None
    assert not is_deleting({"metadata": {}})
