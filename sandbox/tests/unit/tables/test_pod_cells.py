from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.tables.pod_cells import pod_cells, pod_conditions
from support.recorded.object_cases import check_row
from support.recorded.recordings import rows, told

_NOW = 1_700_000_060.0
_ENDED = "2023-11-14T22:13:20Z"
_RUNNING: dict[str, Any] = {"running": {}}
_READY = [{"type": "Ready", "status": "True"}]
_DONE = {"terminated": {"exitCode": 0, "reason": "Completed"}}


@pytest.mark.parametrize("line", rows("pods"), ids=told)
def test_rows_are_as_recorded(line: dict[str, Any]) -> None:
    """The cells a real server shows of these pods."""
    check_row(line)


def _waiting(reason: str) -> dict[str, Any]:
    return {"waiting": {"reason": reason}}


def _pod(*states: dict[str, Any], init: tuple[dict[str, Any], ...] = (), **fields: Any) -> dict[str, Any]:
    """A pod whose containers are in these states; those that run are ready."""
    statuses = [
        {"name": f"c{index}", "state": state, "ready": "running" in state, "restartCount": 0}
        for index, state in enumerate(states)
    ]
    spec = {
        "containers": [{"name": f"c{index}"} for index in range(len(states) or 1)],
        "initContainers": [{"name": f"i{index}"} for index in range(len(init))],
    }
    status = {
        "phase": fields.pop("phase", "Running"),
        "containerStatuses": statuses,
        "initContainerStatuses": [{"name": f"i{index}", "state": state} for index, state in enumerate(init)],
        **fields.pop("status", {}),
    }
    return {"metadata": {"name": "p", **fields}, "spec": spec, "status": status}


@pytest.mark.parametrize(
    ("pod", "ready", "word"),
    [
        (_pod(phase="Pending"), "0/1", "Pending"),
        (_pod(_RUNNING, _RUNNING), "2/2", "Running"),
        (_pod(_waiting("ContainerCreating"), phase="Pending"), "0/1", "ContainerCreating"),
        (_pod(_RUNNING, _waiting("CrashLoopBackOff")), "1/2", "CrashLoopBackOff"),
        (_pod(_waiting("ErrImagePull"), _waiting("CrashLoopBackOff")), "0/2", "ErrImagePull"),
        (_pod({"terminated": {"exitCode": 137, "reason": "OOMKilled"}}), "0/1", "OOMKilled"),
        (_pod({"terminated": {"exitCode": 3}}), "0/1", "ExitCode:3"),
        (_pod({"terminated": {"signal": 9}}), "0/1", "Signal:9"),
        (_pod(_DONE, phase="Succeeded"), "0/1", "Completed"),
        (_pod(_RUNNING, _DONE, status={"conditions": _READY}), "1/2", "Running"),
        (_pod(_RUNNING, _DONE), "1/2", "NotReady"),
        (_pod(_DONE, {"terminated": {"exitCode": 1, "reason": "Error"}}), "0/2", "Error"),
        (_pod(phase="Failed", status={"reason": "Evicted"}), "0/1", "Evicted"),
        (_pod(_waiting("PodInitializing"), init=(_RUNNING, {}), phase="Pending"), "0/1", "Init:0/2"),
        (_pod(_waiting("PodInitializing"), init=(_DONE, _RUNNING), phase="Pending"), "0/1", "Init:1/2"),
        (_pod(init=(_waiting("ErrImagePull"),), phase="Pending"), "0/1", "Init:ErrImagePull"),
        (_pod(init=({"terminated": {"exitCode": 2}},), phase="Pending"), "0/1", "Init:ExitCode:2"),
        (_pod(_RUNNING, deletionTimestamp=_ENDED), "1/1", "Terminating"),
        (_pod(_RUNNING, deletionTimestamp=_ENDED, status={"reason": "NodeLost"}), "1/1", "Unknown"),
        (_pod(_DONE, deletionTimestamp=_ENDED, phase="Succeeded"), "0/1", "Completed"),
        (
            _pod(
                phase="Pending",
                status={"conditions": [{"type": "PodScheduled", "reason": "SchedulingGated"}]},
            ),
            "0/1",
            "SchedulingGated",
        ),
    ],
)
def test_what_containers_do_in_one_word(pod: dict[str, Any], ready: str, word: str) -> None:
    """READY and STATUS as kubectl shows them, for each way a pod can be."""
    assert pod_cells(pod, _NOW)[1:3] == [ready, word]


def test_a_sidecar_counts_once_it_has_started() -> None:
    """An init container that is restarted always belongs to the containers of the pod."""
    pod = _pod(_RUNNING, init=(_RUNNING,))
    pod["spec"]["initContainers"][0]["restartPolicy"] = "Always"
    assert pod_cells(pod, _NOW)[1:3] == ["0/2", "Init:0/1"]
    pod["status"]["initContainerStatuses"][0] |= {"started": True, "ready": True, "restartCount": 2}
    assert pod_cells(pod, _NOW)[1:4] == ["2/2", "Running", "2"]


def test_restarts_show_when_the_last_run_ended() -> None:
    """The sum over all containers, and the age of the latest end."""
    pod = _pod(_RUNNING, _RUNNING)
    for index, ended in enumerate((_ENDED, "2023-11-14T22:14:00Z")):
        last = {"terminated": {"finishedAt": ended}}
        pod["status"]["containerStatuses"][index] |= {"restartCount": 2, "lastState": last}
    assert pod_cells(pod, _NOW)[3] == "4 (20s ago)"


def test_addresses_nodes_and_gates() -> None:
    """The wide columns, <none> where there is nothing."""
    pod = _pod(_RUNNING)
    assert pod_cells(pod, _NOW)[5:] == ["<none>"] * 4
    pod["spec"] |= {"nodeName": "n", "readinessGates": [{"conditionType": "A"}, {"conditionType": "B"}]}
    pod["status"] |= {"podIPs": [{"ip": "10.0.0.1"}], "conditions": [{"type": "A", "status": "True"}]}
    assert pod_cells(pod, _NOW)[5:] == ["10.0.0.1", "n", "<none>", "1/2"]


def test_a_pod_that_has_ended_has_a_condition_in_its_row() -> None:
    """By which kubectl distinguishes finished pods from others."""
    assert pod_conditions(_pod(_RUNNING)) is None
    assert pod_conditions(_pod(phase="Failed")) == [
        {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
    ]
