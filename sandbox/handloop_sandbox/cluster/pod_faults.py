"""
The faults that users can request for simulated pods.

A user sets the annotation `sandbox.controller.dev/fault` on the pod or on any of its controllers, such as a
Deployment or a custom object (found through owner references). Without it, the image tag can name the fault.
The annotation `sandbox.handloop.dev/job` has simpler values for Jobs: succeed, fail, or hold (keep running).
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple

from handloop_sandbox.cluster.workloads import MAX_GENERATIONS, PODS, lineage
from handloop_sandbox.storage.owner_references import controller_of
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.wire.resource import GroupResource

FAULT_ANNOTATION = "sandbox.controller.dev/fault"
JOB_ANNOTATION = "sandbox.handloop.dev/job"


class PodFault(StrEnum):
    """Annotation values and image tags."""

    PULL_FAIL = "pull-fail"
    CRASH = "crash"
    NEVER_READY = "never-ready"
    SLOW = "slow"
    OOM = "oom"
    FLAKY = "flaky"
    UNSCHEDULABLE = "unschedulable"
    HOLD = "hold"


_FAULTS = {fault.value: fault for fault in PodFault}
_JOB_WORDS = {"fail": PodFault.CRASH.value, "hold": PodFault.HOLD.value, "succeed": "none"}


class FaultOfPod(NamedTuple):
    """A fault, and the names of the containers that have it."""

    fault: PodFault
    containers: frozenset[str]


def fault_of_pod(state: State, pod: Object, *, hold_jobs: bool = False) -> FaultOfPod | None:
    """
    Return the fault of a pod.

    The nearest annotation takes precedence over others, and any annotation over the image tags. If the
    annotation's value does not name a fault, the pod has none. With hold_jobs, the pods of Jobs keep running
    by default.
    """
    containers = pod["spec"]["containers"]
    for obj in lineage(state, pod):
        text = annotated(obj)
        if text:
            fault = _FAULTS.get(text)
            return FaultOfPod(fault, frozenset(c["name"] for c in containers)) if fault else None
    owner = controller_of(pod)
    if hold_jobs and owner is not None and owner["kind"] == "Job":
        return FaultOfPod(PodFault.HOLD, frozenset())
    return _by_image(containers)


def _by_image(containers: list[dict[str, Any]]) -> FaultOfPod | None:
    tags = {container["name"]: tag_of(container.get("image", "")) for container in containers}
    fault = next((_FAULTS[tag] for tag in tags.values() if tag in _FAULTS), None)
    if fault is None:
        return None
    return FaultOfPod(fault, frozenset(name for name, tag in tags.items() if tag == fault))


def tag_of(image: str) -> str:
    """Return an image's tag (`1.25` in `registry:5000/nginx:1.25@sha256:...`), or "" if it has none."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]


def annotated(obj: Object) -> str:
    """Return the fault that an object's annotations request, or "" if they request none."""
    annotations = obj["metadata"].get("annotations") or {}
    text: str = annotations.get(FAULT_ANNOTATION, "")
    return text or _JOB_WORDS.get(annotations.get(JOB_ANNOTATION, ""), "")


def concerned(state: State, change: Change) -> Iterator[Object]:
    """Yield the pods whose fault may change because the annotations of this object have changed."""
    before = annotated(change.old.object) if change.old else ""
    if before != annotated(change.new.object):
        yield from _pods_below(state, change.new.object, MAX_GENERATIONS)


def _pods_below(state: State, obj: Object, generations: int) -> Iterator[Object]:
    owned: list[tuple[GroupResource, Object]] = state.by_owner(obj["metadata"]["uid"]) if generations else []
    for place, child in owned:
        if place == PODS:
            yield child
        else:
            yield from _pods_below(state, child, generations - 1)
