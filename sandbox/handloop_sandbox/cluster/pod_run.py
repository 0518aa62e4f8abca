"""The kubelet's view of one simulated pod: its stage, its history, and the effect of one step."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, NamedTuple

from handloop_sandbox.cluster.pod_faults import FaultOfPod, PodFault
from handloop_sandbox.cluster.workloads import is_pod_finished, is_pod_ready
from handloop_sandbox.storage.stored import Object


class Stage(Enum):
    """The stage of a pod's life."""

    BOUND = auto()
    PULLING = auto()
    PULL_FAILED = auto()
    PULL_BACK_OFF = auto()
    CREATED = auto()
    RUNNING = auto()
    READY = auto()
    CRASHED = auto()
    BACK_OFF = auto()
    DONE = auto()
    TERMINATING = auto()


@dataclass(slots=True)
class PodRun:
    """What the kubelet remembers about a pod."""

    namespace: str
    name: str
    stage: Stage = Stage.BOUND
    ip: str = ""
    entered_at: float = 0.0
    pull_failures: int = 0
    crashes: int = 0


class Message(NamedTuple):
    """An Event to record: type (Normal or Warning), reason, text and container ("" for the whole pod)."""

    type: str
    reason: str
    text: str
    container: str = ""


@dataclass(slots=True)
class Transition:
    """
    The effect of one step in a pod's life.

    seconds is the duration of the new stage. If it is None, the stage lasts until the pod or its fault
    changes.
    """

    pod: Object | None = None
    messages: list[Message] = field(default_factory=list)
    seconds: float | None = None
    jittered: bool = False
    delete: bool = False


class Situation(NamedTuple):
    """A pod, its fault, its node's address, and the current time."""

    pod: Object
    active_fault: FaultOfPod | None
    host_ip: str
    now: float

    @property
    def containers(self) -> list[dict[str, Any]]:
        """The containers of the pod's spec."""
        containers: list[dict[str, Any]] = self.pod["spec"]["containers"]
        return containers

    def has(self, *faults: PodFault) -> bool:
        """Return whether the pod has one of these faults."""
        return self.active_fault is not None and self.active_fault.fault in faults

    def with_fault(self, container: dict[str, Any]) -> bool:
        """Return whether this container has the fault."""
        return self.active_fault is not None and container["name"] in self.active_fault.containers

    @property
    def restarts(self) -> bool:
        """Whether failed containers are restarted."""
        return bool(self.pod["spec"].get("restartPolicy", "Always") != "Never")


def stage_of(pod: Object) -> Stage:
    """Return a pod's stage according to its status, for pods that the kubelet does not know yet."""
    if is_pod_finished(pod):
        return Stage.DONE
    if is_pod_ready(pod):
        return Stage.READY
    states = [entry["state"] for entry in (pod.get("status") or {}).get("containerStatuses") or ()]
    reasons = {state["waiting"].get("reason") for state in states if "waiting" in state}
    if "CrashLoopBackOff" in reasons:
        return Stage.BACK_OFF
    if any("terminated" in state for state in states):
        return Stage.CRASHED
    return Stage.RUNNING if states and all("running" in state for state in states) else Stage.BOUND
