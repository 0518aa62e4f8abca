"""
The DaemonSet controller. It runs one pod on each suitable node, and updates node by node.

Follows: kubernetes pkg/controller/daemon/{daemon_controller,update}.go, util/daemonset_util.go. Differs: it
replaces finished pods without a back-off, and ignores the affinities in a template.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from handloop_sandbox.cluster.cluster_controller import View, Write
from handloop_sandbox.cluster.controller_revisions import REVISION_LABEL, expendable, history, new_revision
from handloop_sandbox.cluster.nodes import NODES, daemon_node, has_room_for
from handloop_sandbox.cluster.pod_owners import Key, PodOwnerController, new_pod
from handloop_sandbox.cluster.revisions import template_hash
from handloop_sandbox.cluster.rolling_update import scaled
from handloop_sandbox.cluster.workloads import (
    DAEMON_SETS,
    PODS,
    is_deleting,
    is_pod_finished,
    is_pod_ready,
)
from handloop_sandbox.kinds.default_rules import TEMPLATE_GENERATION
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.wire.resource import GroupResource

_GENERATION_LABEL: Final = "pod-template-generation"
_PRESSURES: Final = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")


class _Spread(NamedTuple):
    """
    The pods on each node, oldest first, and the names of the nodes that should run one.

    hashed is the hash of the current template. available holds the names of the available pods.
    """

    pods: dict[str, list[Object]]
    wanted: list[str]
    hashed: str
    available: set[str]

    def is_outdated(self, pod: Object) -> bool:
        """Return whether a pod was created from an earlier template."""
        return _hash_of(pod) != self.hashed

    def serves(self, pod: Object) -> bool:
        """Return whether a pod is available and is not being deleted."""
        return pod["metadata"]["name"] in self.available and not is_deleting(pod)


class DaemonSetController(PodOwnerController):
    """Syncs a DaemonSet when it, one of its pods or a node has changed."""

    collection = DAEMON_SETS
    kind = "DaemonSet"
    component = "daemonset-controller"
    interests: frozenset[GroupResource] | None = frozenset({DAEMON_SETS, PODS, NODES})

    def _observe(self, view: View, change: Change, now: float) -> None:
        super()._observe(view, change, now)
        if change.group_resource == NODES:
            for daemon_set in view.state.list(DAEMON_SETS):
                self._dirty.mark((daemon_set["metadata"]["namespace"], daemon_set["metadata"]["name"]), now)

    def _sync(self, view: View, key: Key, now: float) -> list[Write]:
        daemon_set = view.state.get(DAEMON_SETS, *key)
        if daemon_set is None:
            return []
        hashed = template_hash(daemon_set["spec"]["template"])
        known = history(view, daemon_set, _revision(daemon_set, hashed))
        hashed = known.update["metadata"]["labels"][REVISION_LABEL]
        claimed = self._claimed(view, daemon_set)
        pods: dict[str, list[Object]] = {}
        for pod in sorted(claimed.objects, key=lambda pod: str(pod["metadata"]["creationTimestamp"])):
            pods.setdefault(daemon_node(pod), []).append(pod)
        wanted = [
            node["metadata"]["name"]
            for node in view.state.list(NODES)
            if has_room_for(node, _pod_spec(daemon_set, node["metadata"]["name"]))
        ]
        available = {pod["metadata"]["name"] for pod in self._available(daemon_set, claimed.objects, now)}
        writes = [*known.writes, *claimed.writes]
        spread = _Spread(pods, wanted, hashed, available)
        if not is_deleting(daemon_set):
            writes += self._adjust(view, daemon_set, spread, now)
            for pod in _outdated(daemon_set, spread):
                writes += self._delete(view, daemon_set, pod, now)
        writes += self._put_status(daemon_set, _status(daemon_set, spread))
        hashes = {_hash_of(pod) for pod in claimed.objects} | {hashed}
        used = [f"{key[1]}-{each}" for each in hashes]
        return writes + expendable(daemon_set, known.revisions, used)

    def _adjust(self, view: View, daemon_set: Object, spread: _Spread, now: float) -> list[Write]:
        """Return the writes that create missing pods, delete surplus pods, and delete finished pods."""
        key = (daemon_set["metadata"]["namespace"], daemon_set["metadata"]["name"])
        bare = [node for node in spread.wanted if not spread.pods.get(node)]
        failure = self._failure(key, missing=len(bare), now=now)
        writes = self._tell_failure(view, daemon_set, failure, now)
        if failure is None or failure.retry_at <= now:
            writes += [self._create(_pod(view, daemon_set, node, spread.hashed)) for node in bare]
        for node, found in spread.pods.items():
            running = [pod for pod in found if not is_deleting(pod)]
            surplus = running if node not in spread.wanted else running[1:]
            surplus += [pod for pod in running[:1] if is_pod_finished(pod) and pod not in surplus]
            for pod in surplus:
                writes += self._delete(view, daemon_set, pod, now)
        return writes


def _revision(daemon_set: Object, hashed: str) -> Object:
    metadata = daemon_set["metadata"]
    name = f"{metadata['name']}-{hashed}"
    return new_revision(
        daemon_set, name=name, label=(REVISION_LABEL, hashed), annotations=metadata.get("annotations")
    )


def _hash_of(pod: Object) -> str:
    return str((pod["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))


def _outdated(daemon_set: Object, spread: _Spread) -> Iterator[Object]:
    """Yield the outdated pods to delete: all unavailable ones, and others as far as maxUnavailable allows."""
    strategy = daemon_set["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return
    most = (strategy.get("rollingUpdate") or {}).get("maxUnavailable", 1)
    allowed = scaled(most, len(spread.wanted), round_up=True)
    serving: list[Object] = []
    for node in spread.wanted:
        pod = next(iter(spread.pods.get(node, ())), None)
        if pod is None or not spread.serves(pod):
            allowed -= 1
            if pod is not None and spread.is_outdated(pod) and not is_deleting(pod):
                yield pod
        elif spread.is_outdated(pod):
            serving.append(pod)
    yield from serving[: max(0, allowed)]


def _pod(view: View, daemon_set: Object, node: str, hashed: str) -> Object:
    pod = new_pod(view, daemon_set, daemon_set["spec"]["template"])
    generation = (daemon_set["metadata"].get("annotations") or {}).get(TEMPLATE_GENERATION)
    added = {REVISION_LABEL: hashed, **({_GENERATION_LABEL: generation} if generation else {})}
    labels = {**(pod["metadata"].get("labels") or {}), **added}
    return {
        **pod,
        "metadata": {**pod["metadata"], "labels": labels},
        "spec": _pod_spec(daemon_set, node),
    }


def _pod_spec(daemon_set: Object, node: str) -> dict[str, Any]:
    """Return the template's pod spec with an affinity to a node and tolerations for node conditions."""
    spec = daemon_set["spec"]["template"]["spec"]
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    affinity = {**(spec.get("affinity") or {})}
    affinity["nodeAffinity"] = {**(affinity.get("nodeAffinity") or {}), **required}
    pressures = [*_PRESSURES, *(["network-unavailable"] if spec.get("hostNetwork") else [])]
    tolerations = [
        _toleration(name, effect)
        for effect, names in (("NoExecute", ("not-ready", "unreachable")), ("NoSchedule", pressures))
        for name in names
    ]
    return {**spec, "affinity": affinity, "tolerations": [*(spec.get("tolerations") or []), *tolerations]}


def _toleration(name: str, effect: str) -> dict[str, str]:
    return {"key": f"node.kubernetes.io/{name}", "operator": "Exists", "effect": effect}


def _status(daemon_set: Object, spread: _Spread) -> dict[str, Any]:
    first = [found[0] for node in spread.wanted if (found := spread.pods.get(node))]
    available = sum(pod["metadata"]["name"] in spread.available for pod in first)
    counters = {
        "updatedNumberScheduled": sum(not spread.is_outdated(pod) for pod in first),
        "numberAvailable": available,
        "numberUnavailable": len(spread.wanted) - available,
    }
    return {
        "currentNumberScheduled": len(first),
        "numberMisscheduled": sum(node not in spread.wanted for node in spread.pods),
        "desiredNumberScheduled": len(spread.wanted),
        "numberReady": sum(map(is_pod_ready, first)),
        "observedGeneration": daemon_set["metadata"].get("generation", 0),
        **{name: value for name, value in counters.items() if value},
    }
