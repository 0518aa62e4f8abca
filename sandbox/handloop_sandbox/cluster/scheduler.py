"""
The simulated scheduler, which binds pods to nodes round-robin.

It respects nodeSelector, cordoned nodes, scheduling gates and the fault `unschedulable`. It ignores
resources, taints and affinities.
"""

from __future__ import annotations

from collections.abc import Sequence

from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.cluster.events import ComponentEventRecorder
from handloop_sandbox.cluster.nodes import NODES, daemon_node, is_schedulable
from handloop_sandbox.cluster.pod_faults import PodFault, concerned, fault_of_pod
from handloop_sandbox.cluster.workloads import PODS, condition, is_deleting
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

_SCHEDULING_SECONDS = 0.3
_RETRY_SECONDS = 30.0
_NAME = "default-scheduler"
_HOST = "sandbox"

_Key = tuple[str, str]


class Scheduler(KeyedController[_Key]):
    """
    Binds each pod that has no node and no scheduling gates, and that uses the default scheduler.

    State: _unbound holds the (namespace, name) of the pods that wait for a node. _turn counts the bindings,
    and selects the node for the next binding.
    """

    name = "kube-scheduler"
    interests: frozenset[GroupResource] | None = None  # any owner may have a fault annotation

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._turn = 0
        self._unbound: set[_Key] = set()
        self._recorder = ComponentEventRecorder(_NAME, action="Binding")
        self._failures = ComponentEventRecorder(_NAME, action="Scheduling")

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Retry later."""
        del status
        if write.group_resource == PODS:
            self._dirty.mark((write.namespace, write.name), now + self._pace.seconds(_RETRY_SECONDS))

    def _observe(self, view: View, change: Change, now: float) -> None:
        key = (change.namespace, change.name)
        if change.group_resource == PODS:
            if change.type is ChangeType.DELETED or not _wants_node(change.new.object):
                self._unbound.discard(key)
                self._dirty.drop(key)
            elif key not in self._unbound or _asks_anew(change):
                self._unbound.add(key)
                self._dirty.mark(key, now + self._pace.jittered(_SCHEDULING_SECONDS, view.random))
        elif change.group_resource == NODES:
            if change.type is ChangeType.ADDED or change.old is None or _reopened(change):
                self._look_again(list(self._unbound), now)
        else:
            pods = (pod["metadata"] for pod in concerned(view.state, change))
            keys = [(metadata["namespace"], metadata["name"]) for metadata in pods]
            self._look_again([key for key in keys if key in self._unbound], now)

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        pod = view.state.get(PODS, *key)
        return self._schedule(view, pod, now) if pod is not None and _wants_node(pod) else []

    def _look_again(self, keys: Sequence[_Key], now: float) -> None:
        for key in sorted(keys):
            self._dirty.mark(key, now + self._pace.seconds(_SCHEDULING_SECONDS))

    def _schedule(self, view: View, pod: Object, now: float) -> list[Write]:
        active_fault = fault_of_pod(view.state, pod)
        nodes = view.state.list(NODES)
        fitting = [node for node in nodes if _fits(pod, node)]
        if not fitting or (active_fault and active_fault.fault is PodFault.UNSCHEDULABLE):
            return self._give_up(view, pod, nodes, now)
        node = fitting[self._turn % len(fitting)]["metadata"]["name"]
        self._turn += 1
        metadata = pod["metadata"]
        message = f"Successfully assigned {metadata['namespace']}/{metadata['name']} to {node}"
        event = self._recorder.event(
            view, pod, kind="Normal", reason="Scheduled", message=message, now=now, host=_HOST
        )
        return [_binding(pod, node), event]

    def _give_up(self, view: View, pod: Object, nodes: Sequence[Object], now: float) -> list[Write]:
        message = _why_not(pod, nodes)
        event = self._failures.event(
            view, pod, kind="Warning", reason="FailedScheduling", message=message, now=now, host=_HOST
        )
        key = (pod["metadata"]["namespace"], pod["metadata"]["name"])
        self._dirty.mark(key, now + self._pace.seconds(_RETRY_SECONDS))
        before = condition(pod, "PodScheduled")
        if before is not None and before.get("message") == message:
            return [event]
        return [event, _unscheduled(pod, message, now)]


def _wants_node(pod: Object) -> bool:
    spec = pod["spec"]
    if spec.get("nodeName") or spec.get("schedulingGates") or is_deleting(pod):
        return False
    return bool(spec.get("schedulerName", _NAME) == _NAME)


def _asks_anew(change: Change) -> bool:
    """Return whether a part of the pod that affects scheduling has changed."""
    if change.old is None:
        return True
    old, new = change.old.object, change.new.object
    if old["metadata"].get("annotations") != new["metadata"].get("annotations"):
        return True
    return bool(old["spec"] != new["spec"])


def _reopened(change: Change) -> bool:
    return change.old is not None and change.old.object["spec"] != change.new.object["spec"]


def _fits(pod: Object, node: Object) -> bool:
    if target := daemon_node(pod):
        return bool(node["metadata"]["name"] == target)  # the DaemonSet controller has checked the node
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    wanted: dict[str, str] = pod["spec"].get("nodeSelector") or {}
    return is_schedulable(node) and all(labels.get(key) == value for key, value in wanted.items())


def _why_not(pod: Object, nodes: Sequence[Object]) -> str:
    if not nodes:
        return "no nodes available to schedule pods"
    cordoned = sum(not is_schedulable(node) for node in nodes)
    unselected = sum(is_schedulable(node) and not _fits(pod, node) for node in nodes)
    full = len(nodes) - cordoned - unselected
    reasons = [
        (full, "Insufficient cpu"),
        (unselected, "node(s) didn't match Pod's node affinity/selector"),
        (cordoned, "node(s) were unschedulable"),
    ]
    listed = ", ".join(f"{number} {reason}" for number, reason in reasons if number)
    return f"0/{len(nodes)} nodes are available: {listed}."


def _binding(pod: Object, node: str) -> Write:
    metadata = pod["metadata"]
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {field: metadata[field] for field in ("name", "namespace", "uid")},
        "target": {"apiVersion": "v1", "kind": "Node", "name": node},
    }
    return Write.of("create", PODS, binding, subresource="binding")


def _unscheduled(pod: Object, message: str, now: float) -> Write:
    metadata = pod["metadata"]
    before = condition(pod, "PodScheduled")
    entry = {
        "type": "PodScheduled",
        "observedGeneration": metadata.get("generation", 1),
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": before["lastTransitionTime"] if before else format_time(now),
        "reason": "Unschedulable",
        "message": message,
    }
    status = pod.get("status") or {}
    others = [c for c in status.get("conditions") or () if c["type"] != "PodScheduled"]
    updated = {**pod, "status": {**status, "conditions": [*others, entry]}}
    return Write.of("update", PODS, updated, subresource="status")
