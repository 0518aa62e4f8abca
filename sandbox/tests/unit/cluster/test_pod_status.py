from __future__ import annotations

from typing import Any

from handloop_sandbox.cluster import pod_status
from handloop_sandbox.cluster.workloads import condition
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Object

_NOW = 1_700_000_000.0
_MAIN = {"name": "main", "image": "nginx:1"}


def _pod(*statuses: dict[str, Any], **fields: Any) -> Object:
    return {
        "metadata": {"name": "p", "uid": "u", "generation": 3},
        "spec": {"containers": [_MAIN]},
        "status": {"containerStatuses": list(statuses), **fields},
    }


def _types(pod: Object) -> dict[str, str]:
    return {entry["type"]: entry["status"] for entry in pod["status"]["conditions"]}


def test_container_life_keeps_what_was_before() -> None:
    """Waiting, running, ended, waiting again and restarted: times, counts and lastState follow."""
    waiting = pod_status.waiting(_pod(), _MAIN, reason="ContainerCreating")
    assert waiting == {
        "name": "main",
        "image": "nginx:1",
        "imageID": "",
        "restartCount": 0,
        "state": {"waiting": {"reason": "ContainerCreating"}},
        "lastState": {},
        "ready": False,
        "started": False,
    }
    running = pod_status.running(_pod(waiting), _MAIN, now=_NOW, restarted=False)
    assert running["state"] == {"running": {"startedAt": format_time(_NOW)}}
    assert (running["restartCount"], running["containerID"]) == (0, "sandbox://u-main-0")
    ended = pod_status.terminated(_pod(running), _MAIN, exit_code=1, reason="Error", now=_NOW + 5)
    assert ended["state"]["terminated"] == {
        "exitCode": 1,
        "reason": "Error",
        "startedAt": format_time(_NOW),
        "finishedAt": format_time(_NOW + 5),
        "containerID": "sandbox://u-main-0",
    }
    back_off = pod_status.waiting(_pod(ended), _MAIN, reason="CrashLoopBackOff", message="text")
    assert back_off["state"] == {"waiting": {"reason": "CrashLoopBackOff", "message": "text"}}
    assert back_off["lastState"] == ended["state"]
    again = pod_status.running(_pod(back_off), _MAIN, now=_NOW + 15, restarted=True)
    assert (again["restartCount"], again["containerID"]) == (1, "sandbox://u-main-1")
    assert again["lastState"] == ended["state"]


def test_conditions_of_a_pod_that_is_not_ready() -> None:
    """The conditions are those of a kubelet, in its order, and name the containers that are not ready."""
    running = pod_status.running(_pod(), _MAIN, now=_NOW, restarted=False)
    pod = pod_status.with_containers(_pod(), [running], _NOW, phase="Running", podIP="10.244.0.3")
    assert _types(pod) == {
        "PodReadyToStartContainers": "True",
        "Initialized": "True",
        "ContainersReady": "False",
        "Ready": "False",
        "PodScheduled": "True",
    }
    ready = condition(pod, "Ready")
    assert ready == {
        "type": "Ready",
        "observedGeneration": 3,
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": format_time(_NOW),
        "reason": "ContainersNotReady",
        "message": "containers with unready status: [main]",
    }
    assert pod["status"]["observedGeneration"] == 3


def test_transition_times_move_with_the_status_only() -> None:
    """A condition keeps its time until it turns, then has no reason any more."""
    running = pod_status.running(_pod(), _MAIN, now=_NOW, restarted=False)
    unready = pod_status.with_containers(_pod(), [running], _NOW, phase="Running", podIP="10.244.0.3")
    ready = pod_status.with_containers(unready, [{**running, "ready": True}], _NOW + 9)
    turned, kept = condition(ready, "Ready"), condition(ready, "Initialized")
    assert turned is not None
    assert kept is not None
    assert (turned["status"], turned["lastTransitionTime"]) == ("True", format_time(_NOW + 9))
    assert "reason" not in turned
    assert kept["lastTransitionTime"] == format_time(_NOW)


def test_finished_pod_is_completed() -> None:
    """A pod that ran to its end is initialized and not ready, because it is completed."""
    pod = pod_status.with_containers(
        _pod(podIP="10.244.0.3"), [{"name": "main", "ready": False}], _NOW, phase="Succeeded"
    )
    ready = condition(pod, "Ready")
    assert ready is not None
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")
    assert _types(pod)["PodReadyToStartContainers"] == "False"


def test_readiness_gates_hold_back_ready_and_are_kept() -> None:
    """With a closed gate the containers are ready and the pod is not; conditions of others stay."""
    gated = _pod()
    gated["spec"]["readinessGates"] = [{"conditionType": "example.com/gate"}]
    ready = {"name": "main", "ready": True}
    closed = pod_status.with_containers(gated, [ready], _NOW, podIP="10.244.0.3")
    found = condition(closed, "Ready")
    assert found is not None
    assert (found["status"], found["reason"]) == ("False", "ReadinessGatesNotReady")
    assert _types(closed)["ContainersReady"] == "True"
    gated["status"]["conditions"] = [{"type": "example.com/gate", "status": "True"}]
    opened = pod_status.with_containers(gated, [ready], _NOW, podIP="10.244.0.3")
    assert _types(opened)["Ready"] == "True"
    assert _types(opened)["example.com/gate"] == "True"


def test_init_containers_have_completed() -> None:
    """Init containers are shown as ended well."""
    pod = _pod()
    pod["spec"]["initContainers"] = [{"name": "init", "image": "busybox"}]
    (status,) = pod_status.init_statuses(pod, _NOW)
    assert (status["name"], status["ready"]) == ("init", True)
    assert status["state"]["terminated"]["reason"] == "Completed"
    assert pod_status.init_statuses(_pod(), _NOW) == []
