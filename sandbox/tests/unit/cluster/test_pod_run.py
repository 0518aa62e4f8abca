from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.pod_faults import FaultOfPod, PodFault
from handloop_sandbox.cluster.pod_run import Situation, Stage, stage_of

_READY = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("status", "stage"),
    [
        ({}, Stage.BOUND),
        ({"phase": "Pending"}, Stage.BOUND),
        ({"containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]}, Stage.BOUND),
        ({"phase": "Running", "containerStatuses": [{"state": {"running": {}}}]}, Stage.RUNNING),
        (
            {"phase": "Running", "containerStatuses": [{"state": {"running": {}}}], "conditions": _READY},
            Stage.READY,
        ),
        ({"containerStatuses": [{"state": {"terminated": {}}}, {"state": {"running": {}}}]}, Stage.CRASHED),
        ({"containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}, Stage.BACK_OFF),
        ({"phase": "Succeeded"}, Stage.DONE),
        ({"phase": "Failed"}, Stage.DONE),
    ],
)
def test_stage_is_read_from_the_status(status: dict[str, Any], stage: Stage) -> None:
    """A kubelet that knows nothing of a pod goes on from its status."""
    assert stage_of({"metadata": {}, "spec": {}, "status": status}) is stage


def test_situation_shows_who_is_afflicted() -> None:
    """Only the named containers have the fault; without a name none has."""
    containers = [{"name": "a"}, {"name": "b"}]
    pod = {"metadata": {}, "spec": {"containers": containers, "restartPolicy": "Never"}}
    at = Situation(pod, FaultOfPod(PodFault.OOM, frozenset({"b"})), "192.0.2.10", 0.0)
    assert [at.with_fault(container) for container in at.containers] == [False, True]
    assert at.has(PodFault.CRASH, PodFault.OOM)
    assert not at.has(PodFault.CRASH)
    assert not at.restarts
    assert not at._replace(active_fault=None).has(PodFault.OOM)
