"""
The row of a Pod, which summarises the state of its containers in one word.

Follows: kubernetes pkg/printers/internalversion/printers.go (printPod).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from handloop_sandbox.tables.cell import NONE, Object, age_of, holds, is_deleting, name_of
from handloop_sandbox.wire import human
from handloop_sandbox.wire.field_rules import part

_TERMINAL = frozenset({"Succeeded", "Failed"})
_CONDITIONS = {
    "Succeeded": "The pod has completed successfully.",
    "Failed": "The pod failed.",
}


class _Restarts(NamedTuple):
    """The number of container restarts, and the time of the last termination before a restart, or ""."""

    times: int = 0
    last: str = ""

    def and_those_of(self, status: Object) -> _Restarts:
        ended = part(status, "lastState", "terminated").get("finishedAt") or ""
        return _Restarts(self.times + int(status.get("restartCount") or 0), max(self.last, ended))

    def text(self, now: float) -> str:
        if self.times and self.last:
            return f"{self.times} ({human.age(self.last, now)} ago)"
        return str(self.times)


class _Progress(NamedTuple):
    """What is known about a pod so far: its reason, its number of ready containers and its restarts."""

    reason: str
    ready: int
    restarts: _Restarts


def pod_conditions(pod: Object) -> list[dict[str, str]] | None:
    """Return the conditions of a pod's row, or None if the pod has not finished."""
    phase = part(pod, "status").get("phase", "")
    if phase not in _TERMINAL:
        return None
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _CONDITIONS[phase]}]


def pod_cells(pod: Object, now: float) -> list[Any]:
    """Return the cells: name, ready, status, restarts, age, IP, node, nominated node, readiness gates."""
    spec, status = part(pod, "spec"), part(pod, "status")
    progress = _progress(spec, status)
    addresses = status.get("podIPs") or [{}]
    return [
        name_of(pod),
        f"{progress.ready}/{_total(spec)}",
        _word(pod, status, progress.reason),
        progress.restarts.text(now),
        age_of(pod, now),
        addresses[0].get("ip") or NONE,
        spec.get("nodeName") or NONE,
        status.get("nominatedNodeName") or NONE,
        _gates(spec, status),
    ]


def _total(spec: Object) -> int:
    sidecars = [entry for entry in spec.get("initContainers") or () if _is_sidecar(entry)]
    return len(spec.get("containers") or ()) + len(sidecars)


def _is_sidecar(container: Object | None) -> bool:
    return container is not None and container.get("restartPolicy") == "Always"


def _word(pod: Object, status: Object, reason: str) -> str:
    if not is_deleting(pod):
        return reason
    if status.get("reason") == "NodeLost":
        return "Unknown"
    return reason if status.get("phase") in _TERMINAL else "Terminating"


def _gates(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates") or ()
    if not gates:
        return NONE
    passed = sum(holds(status.get("conditions"), gate.get("conditionType", "")) for gate in gates)
    return f"{passed}/{len(gates)}"


def _progress(spec: Object, status: Object) -> _Progress:
    reason = status.get("reason") or status.get("phase") or ""
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            reason = "SchedulingGated"
    initial, sidecar_restarts, initializing = _initialization(spec, status, reason)
    if initializing and not holds(status.get("conditions"), "Initialized"):
        return initial
    return _running(status, _Progress(initial.reason, initial.ready, sidecar_restarts))


def _initialization(spec: Object, status: Object, reason: str) -> tuple[_Progress, _Restarts, bool]:
    """Return the init containers' progress, the sidecars' restarts, and whether the pod is initializing."""
    declared = {entry.get("name"): entry for entry in spec.get("initContainers") or ()}
    restarts, sidecars, ready = _Restarts(), _Restarts(), 0
    for index, found in enumerate(status.get("initContainerStatuses") or ()):
        restarts = restarts.and_those_of(found)
        sidecar = _is_sidecar(declared.get(found.get("name")))
        if sidecar:
            sidecars = sidecars.and_those_of(found)
        terminated = part(found, "state").get("terminated")
        if terminated is not None and not terminated.get("exitCode"):
            continue
        if sidecar and found.get("started"):
            ready += bool(found.get("ready"))
            continue
        word = _initial_reason(part(found, "state"), index, len(declared))
        return _Progress(word, ready, restarts), sidecars, True
    return _Progress(reason, ready, restarts), sidecars, False


def _initial_reason(state: Object, index: int, total: int) -> str:
    terminated, waiting = state.get("terminated"), part(state, "waiting").get("reason")
    if terminated is not None:
        return f"Init:{_ended(terminated)}"
    if waiting and waiting != "PodInitializing":
        return f"Init:{waiting}"
    return f"Init:{index}/{total}"


def _ended(terminated: Mapping[str, Any]) -> str:
    if terminated.get("reason"):
        return str(terminated["reason"])
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _running(status: Object, before: _Progress) -> _Progress:
    reason, ready, restarts = before
    running, error = False, ""
    for found in reversed(status.get("containerStatuses") or ()):
        restarts = restarts.and_those_of(found)
        state = part(found, "state")
        waiting, terminated = part(state, "waiting").get("reason"), state.get("terminated")
        if waiting:
            reason = waiting
        elif terminated is not None:
            reason = _ended(terminated)
            error = reason if terminated.get("exitCode") else error
        elif found.get("ready") and state.get("running") is not None:
            running = True
            ready += 1
    if reason == "Completed":
        reason = _completed(status, running=running, error=error)
    return _Progress(reason, ready, restarts)


def _completed(status: Object, *, running: bool, error: str) -> str:
    """Return the status of a pod with a completed container, according to its other containers."""
    if running and holds(status.get("conditions"), "Ready"):
        return "Running"
    return error or ("NotReady" if running else "Completed")
