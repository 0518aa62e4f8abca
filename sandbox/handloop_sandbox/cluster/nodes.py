"""The nodes of simulated pods."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from handloop_sandbox.cluster.cluster_controller import Step, View, Write
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

NODES = GroupResource("", "nodes")

_VERSION = "v1.36.3"
_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
)
_CAPACITY = {"cpu": "64", "memory": "256Gi", "pods": "1000", "ephemeral-storage": "1Ti"}


NAME_PREFIX = "sandbox"


def node_name(index: int, prefix: str = NAME_PREFIX) -> str:
    """Return the name of a simulated node."""
    return f"{prefix}-{index}"


class NodeRegistrar:
    """Registers the simulated nodes in its first step. A node that a client deletes stays deleted."""

    name = "kubelet"
    interests: frozenset[GroupResource] | None = frozenset()

    def __init__(self, count: int = 2, prefix: str = NAME_PREFIX) -> None:
        self._names = [node_name(index, prefix) for index in range(count)]
        self._registered = False

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Create the missing nodes. Later steps do nothing."""
        del changes
        if self._registered:
            return Step()
        self._registered = True
        missing = [i for i, name in enumerate(self._names) if view.state.get(NODES, "", name) is None]
        return Step([write for index in missing for write in _registration(index, self._names[index], now)])

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Do nothing, because the cluster can run without the node."""


def _registration(index: int, name: str, now: float) -> Iterator[Write]:
    node = new_node(index, now, name)
    yield Write.of("create", NODES, node)
    yield Write.of("update", NODES, node, subresource="status")
    # This update removes the taint that every new node has, because this node is ready from the start.
    yield Write.of("update", NODES, node)


def new_node(index: int, now: float, name: str = "") -> Object:
    """Return a node that is ready."""
    name = name or node_name(index)
    stamp = format_time(now)
    times = {"lastHeartbeatTime": stamp, "lastTransitionTime": stamp}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "spec": {"podCIDR": f"10.244.{index}.0/24", "podCIDRs": [f"10.244.{index}.0/24"]},
        "status": {
            "capacity": _CAPACITY,
            "allocatable": _CAPACITY,
            "conditions": [
                {"type": kind, "status": status, "reason": reason, "message": message, **times}
                for kind, status, reason, message in _CONDITIONS
            ],
            "addresses": [
                {"type": "InternalIP", "address": f"192.0.2.{10 + index}"},
                {"type": "Hostname", "address": name},
            ],
            "nodeInfo": {
                "kubeletVersion": _VERSION,
                "kubeProxyVersion": "",
                "containerRuntimeVersion": "sandbox://1.0",
                "operatingSystem": "linux",
                "architecture": "amd64",
                "osImage": "sandbox",
                "kernelVersion": "0",
                "machineID": name,
                "systemUUID": name,
                "bootID": name,
            },
        },
    }


def address_of(node: Object) -> str:
    """Return a node's internal address, or "" if it has none."""
    addresses = (node.get("status") or {}).get("addresses") or ()
    return next((entry["address"] for entry in addresses if entry["type"] == "InternalIP"), "")


def is_schedulable(node: Object) -> bool:
    """Return whether new pods can be bound to a node."""
    return not node["spec"].get("unschedulable")


def daemon_node(pod: Object) -> str:
    """Return the node that a pod is bound to or that its affinity names, or else ""."""
    affinity = (pod["spec"].get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    fields = (term.get("matchFields") or () for term in required.get("nodeSelectorTerms") or ())
    names = (field["values"][0] for each in fields for field in each if field["key"] == "metadata.name")
    return pod["spec"].get("nodeName") or next(names, "")


def has_room_for(node: Object, spec: Mapping[str, Any]) -> bool:
    """Return whether a node's labels and taints allow a DaemonSet pod with this spec."""
    labels: dict[str, str] = node["metadata"].get("labels") or {}
    if any(labels.get(key) != value for key, value in (spec.get("nodeSelector") or {}).items()):
        return False
    if spec.get("nodeName", node["metadata"]["name"]) != node["metadata"]["name"]:
        return False
    repelling = [t for t in node["spec"].get("taints") or () if t["effect"] in {"NoSchedule", "NoExecute"}]
    return all(any(_tolerates(each, taint) for each in spec["tolerations"]) for taint in repelling)


def _tolerates(toleration: Mapping[str, str], taint: Mapping[str, str]) -> bool:
    if toleration.get("effect", taint["effect"]) != taint["effect"]:
        return False
    if toleration.get("key", taint["key"]) != taint["key"]:
        return False
    exists = toleration.get("operator") == "Exists"
    return exists or toleration.get("value", "") == taint.get("value", "")
