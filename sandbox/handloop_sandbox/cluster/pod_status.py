"""The status that a kubelet writes: container states, conditions and phase. Every function is pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from handloop_sandbox.cluster.workloads import condition
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Object

Status = dict[str, Any]

_DONE = ("PodCompleted", "")


def waiting(pod: Object, container: dict[str, Any], *, reason: str, message: str = "") -> Status:
    """Return the status of a waiting container. If it had terminated, that state becomes its lastState."""
    state = {"reason": reason, **({"message": message} if message else {})}
    before = container_status(pod, container["name"])
    terminated = before["state"].get("terminated")
    return {
        **_identity(container, before),
        "state": {"waiting": state},
        "lastState": {"terminated": terminated} if terminated else before["lastState"],
        "ready": False,
        "started": False,
    }


def running(pod: Object, container: dict[str, Any], *, now: float, restarted: bool) -> Status:
    """Return the status of a container that has just been started."""
    before = container_status(pod, container["name"])
    terminated = before["state"].get("terminated")
    count = before["restartCount"] + restarted
    return {
        **_identity(container, before),
        "state": {"running": {"startedAt": format_time(now)}},
        "lastState": {"terminated": terminated} if terminated else before["lastState"],
        "ready": False,
        "started": True,
        "restartCount": count,
        "imageID": f"sandbox://{container['image']}",
        "containerID": f"sandbox://{pod['metadata']['uid']}-{container['name']}-{count}",
    }


def terminated(pod: Object, container: dict[str, Any], *, exit_code: int, reason: str, now: float) -> Status:
    """Return the status of a container that has exited."""
    before = container_status(pod, container["name"])
    started = before["state"].get("running", {}).get("startedAt") or format_time(now)
    state = {
        "exitCode": exit_code,
        "reason": reason,
        "startedAt": started,
        "finishedAt": format_time(now),
        **({"containerID": before["containerID"]} if "containerID" in before else {}),
    }
    return {**before, "state": {"terminated": state}, "ready": False, "started": False}


def container_status(pod: Object, name: str) -> Status:
    """Return a container's status. If it has none, return the status of a container that never started."""
    statuses: list[Status] = (pod.get("status") or {}).get("containerStatuses") or []
    untouched = {"name": name, "state": {}, "lastState": {}, "restartCount": 0, "imageID": ""}
    known = next((status for status in statuses if status["name"] == name), untouched)
    return {**untouched, **known}


def _identity(container: dict[str, Any], before: Status) -> Status:
    kept = ("restartCount", "imageID", "containerID")
    identity = {field: before[field] for field in kept if field in before}
    return {"name": container["name"], "image": container["image"], **identity}


def init_statuses(pod: Object, now: float) -> list[Status]:
    """Return the statuses of the init containers, which have all completed."""
    stamp = format_time(now)
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": stamp, "finishedAt": stamp}
    return [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": f"sandbox://{container['image']}",
            "restartCount": 0,
            "ready": True,
            "started": False,
            "state": {"terminated": ended},
            "lastState": {},
        }
        for container in pod["spec"].get("initContainers") or ()
    ]


def with_containers(pod: Object, containers: Sequence[Status], now: float, **fields: Any) -> Object:
    """Return a copy of pod with these container statuses, matching conditions and additional fields."""
    generation = pod["metadata"].get("generation", 1)
    status = {
        **(pod.get("status") or {}),
        **fields,
        "observedGeneration": generation,
        "containerStatuses": list(containers),
    }
    return {**pod, "status": {**status, "conditions": _conditions({**pod, "status": status}, now)}}


def _conditions(pod: Object, now: float) -> list[dict[str, Any]]:
    """Return the five conditions of every pod on a node, followed by those that others have set."""
    done = pod["status"].get("phase") in ("Succeeded", "Failed")
    why = _DONE if done else _unready(pod)
    ready = not why[0]
    sandboxed = bool(pod["status"].get("podIP")) and not done
    findings: list[tuple[str, bool, tuple[str, str]]] = [
        ("PodReadyToStartContainers", sandboxed, ("", "")),
        ("Initialized", True, _DONE if done else ("", "")),
        ("ContainersReady", ready, why),
        ("Ready", ready and _gates_open(pod), why if not ready else _gated(pod)),
        ("PodScheduled", True, ("", "")),
    ]
    ours = {kind for kind, _, _ in findings}
    others = [c for c in pod["status"].get("conditions") or () if c["type"] not in ours]
    return [_condition(pod, kind, str(holds), why, now) for kind, holds, why in findings] + others


def _unready(pod: Object) -> tuple[str, str]:
    statuses = pod["status"]["containerStatuses"]
    names = [status["name"] for status in statuses if not status["ready"]]
    return (
        ("ContainersNotReady", f"containers with unready status: [{' '.join(names)}]") if names else ("", "")
    )


def _gates_open(pod: Object) -> bool:
    gates = [gate["conditionType"] for gate in pod["spec"].get("readinessGates") or ()]
    return all((condition(pod, gate) or {}).get("status") == "True" for gate in gates)


def _gated(pod: Object) -> tuple[str, str]:
    if _gates_open(pod):
        return "", ""
    return "ReadinessGatesNotReady", "corresponding condition of pod readiness gate is not True"


def _condition(pod: Object, kind: str, status: str, why: tuple[str, str], now: float) -> dict[str, Any]:
    before = condition(pod, kind)
    same = before is not None and before["status"] == status
    reason, message = why
    return {
        "type": kind,
        "observedGeneration": pod["metadata"].get("generation", 1),
        "status": status,
        "lastProbeTime": None,
        "lastTransitionTime": before["lastTransitionTime"] if before and same else format_time(now),
        **({"reason": reason} if reason else {}),
        **({"message": message} if message else {}),
    }
