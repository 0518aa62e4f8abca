"""
The StatefulSet controller.

It creates pods and their claims in the order of their ordinals, and updates pods in reverse order.

Follows: kubernetes pkg/controller/statefulset/{stateful_set_control,stateful_set_utils}.go. Differs: claims
remain when the StatefulSet is scaled down or deleted, even if persistentVolumeClaimRetentionPolicy is Delete;
maxUnavailable is always 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from handloop_sandbox.cluster.cluster_controller import View, Write
from handloop_sandbox.cluster.controller_revisions import (
    REVISION_LABEL,
    History,
    data_hash,
    expendable,
    history,
    new_revision,
    template_of,
)
from handloop_sandbox.cluster.pod_owners import Failure, Key, PodOwnerController, new_pod
from handloop_sandbox.cluster.storage_protection import CLAIMS
from handloop_sandbox.cluster.workloads import (
    PODS,
    STATEFUL_SETS,
    is_deleting,
    is_pod_finished,
    is_pod_ready,
    spec_replicas,
)
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import GroupResource

_HASH: Final = "controller.kubernetes.io/hash"
_POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
_INDEX: Final = "apps.kubernetes.io/pod-index"


class _Set(NamedTuple):
    """A StatefulSet, its revisions, its pods by ordinal, and the names of its available pods."""

    object: Object
    history: History
    current: str
    pods: dict[int, Object]
    available: set[str]

    @property
    def update(self) -> str:
        """The name of the template's revision."""
        return str(self.history.update["metadata"]["name"])

    @property
    def ordinals(self) -> range:
        """The ordinals of the desired pods."""
        start = (self.object["spec"].get("ordinals") or {}).get("start", 0)
        return range(start, start + spec_replicas(self.object))

    @property
    def one_by_one(self) -> bool:
        """Whether each pod waits for the one before it."""
        return bool(self.object["spec"].get("podManagementPolicy", "OrderedReady") == "OrderedReady")

    def is_healthy(self, pod: Object) -> bool:
        """Return whether the pod is available and is not being deleted."""
        return pod["metadata"]["name"] in self.available and not is_deleting(pod)


class StatefulSetController(PodOwnerController):
    """Syncs a StatefulSet when it or one of its pods has changed."""

    collection = STATEFUL_SETS
    kind = "StatefulSet"
    component = "statefulset-controller"
    interests: frozenset[GroupResource] | None = frozenset({STATEFUL_SETS, PODS})

    def _sync(self, view: View, key: Key, now: float) -> list[Write]:
        found = view.state.get(STATEFUL_SETS, *key)
        if found is None:
            return []
        status = found.get("status") or {}
        name, hashed = found["metadata"]["name"], _hash(found)
        known = history(view, found, new_revision(found, name=f"{name}-{hashed}", label=(_HASH, hashed)))
        claimed = self._claimed(view, found)
        pods = {ordinal: pod for pod in claimed.objects if (ordinal := _ordinal(found, pod)) is not None}
        available = {pod["metadata"]["name"] for pod in self._available(found, list(pods.values()), now)}
        current = status.get("currentRevision") or known.update["metadata"]["name"]
        whole = _Set(found, known, current, pods, available)
        writes = [*known.writes, *claimed.writes]
        lost: list[Object] = []
        if not is_deleting(found):
            failure = self._failure(key, missing=len(set(whole.ordinals) - set(pods)), now=now)
            writes += self._tell_failure(view, found, failure, now)
            writes += self._create_claims_and_pods(view, whole, failure, now)
            lost = list(_expendable_pods(whole))
            for pod in lost:
                writes += self._delete(view, found, pod, now)
        writes += self._put_status(found, _status(whole, lost))
        used = {whole.current, whole.update, *(_revision(pod) for pod in pods.values())}
        return writes + expendable(found, known.revisions, used)

    def _create_claims_and_pods(
        self, view: View, whole: _Set, failure: Failure | None, now: float
    ) -> list[Write]:
        if failure is not None and failure.retry_at > now:
            return []
        writes: list[Write] = []
        for ordinal in _missing(whole):
            pod = _pod(view, whole, ordinal)
            for claim in _claims(whole.object, ordinal):
                if view.state.get(CLAIMS, claim["metadata"]["namespace"], claim["metadata"]["name"]) is None:
                    writes += self._create_claim(view, whole.object, claim, pod, now)
            writes.append(self._create(pod))
        return writes

    def _create_claim(self, view: View, owner: Object, claim: Object, pod: Object, now: float) -> list[Write]:
        names = claim["metadata"]["name"], pod["metadata"]["name"], owner["metadata"]["name"]
        message = "Create Claim {} Pod {} in StatefulSet {} success".format(*names)
        told = self._tell(view, owner, "SuccessfulCreate", message, now)
        return [Write.of("create", CLAIMS, claim), told]

    def _created_text(self, owner: Object, pod: str) -> str:
        return f"Create Pod {pod} in StatefulSet {owner['metadata']['name']} successful"

    def _deleted_text(self, owner: Object, pod: str) -> str:
        return f"Delete Pod {pod} in StatefulSet {owner['metadata']['name']} successful"


def _hash(owner: Object) -> str:
    collisions = (owner.get("status") or {}).get("collisionCount") or 0
    return data_hash(owner["spec"]["template"], collisions)


def _ordinal(owner: Object, pod: Object) -> int | None:
    """Return the ordinal in a pod's name, or None if the name is not `<owner>-<ordinal>`."""
    parent, _, number = pod["metadata"]["name"].rpartition("-")
    return int(number) if parent == owner["metadata"]["name"] and number.isdecimal() else None


def _revision(pod: Object) -> str:
    return str((pod["metadata"].get("labels") or {}).get(REVISION_LABEL, ""))


def _missing(whole: _Set) -> Iterator[int]:
    """Yield the ordinals of the pods to create now."""
    for ordinal in whole.ordinals:
        pod = whole.pods.get(ordinal)
        if pod is None:
            yield ordinal
        if whole.one_by_one and (pod is None or not whole.is_healthy(pod)):
            return


def _expendable_pods(whole: _Set) -> Iterator[Object]:
    """Yield the pods to delete now: finished, surplus and outdated pods."""
    wanted = [whole.pods[ordinal] for ordinal in whole.ordinals if ordinal in whole.pods]
    for pod in wanted:
        if is_pod_finished(pod) and not is_deleting(pod):
            yield pod
            return
    settled = len(wanted) == len(whole.ordinals) and all(map(whole.is_healthy, wanted))
    beyond = [
        whole.pods[ordinal] for ordinal in sorted(whole.pods, reverse=True) if ordinal not in whole.ordinals
    ]
    if not whole.one_by_one:
        yield from (pod for pod in beyond if not is_deleting(pod))
    elif beyond and settled:
        yield from (pod for pod in beyond[:1] if not is_deleting(pod))
    if beyond and whole.one_by_one:
        return
    yield from _outdated(whole)


def _outdated(whole: _Set) -> Iterator[Object]:
    """Yield the next pod to update, from the last ordinal down to the partition. Stop at an unhealthy pod."""
    strategy = whole.object["spec"].get("updateStrategy") or {}
    if strategy.get("type", "RollingUpdate") != "RollingUpdate":
        return
    for ordinal in reversed(range(max(whole.ordinals.start, _partition(whole.object)), whole.ordinals.stop)):
        pod = whole.pods.get(ordinal)
        if pod is None:
            return
        if _revision(pod) != whole.update and not is_deleting(pod):
            yield pod
            return
        if not whole.is_healthy(pod):
            return


def _partition(owner: Object) -> int:
    rolling = (owner["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
    return int(rolling.get("partition") or 0)


def _pod(view: View, whole: _Set, ordinal: int) -> Object:
    owner, revision = whole.object, whole.history.update
    if ordinal < _partition(owner):
        known = (each for each in whole.history.revisions if each["metadata"]["name"] == whole.current)
        revision = next(known, revision)
    pod = new_pod(view, owner, template_of(revision))
    name = f"{owner['metadata']['name']}-{ordinal}"
    added = {_POD_NAME: name, _INDEX: str(ordinal), REVISION_LABEL: revision["metadata"]["name"]}
    labels = {**(pod["metadata"].get("labels") or {}), **added}
    mounted = [
        {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]},
        }
        for template, claim in zip(_claim_templates(owner), _claims(owner, ordinal), strict=True)
    ]
    names = {volume["name"] for volume in mounted}
    volumes = mounted + [each for each in pod["spec"].get("volumes") or () if each["name"] not in names]
    spec = {**pod["spec"], "hostname": name, **({"volumes": volumes} if volumes else {})}
    if owner["spec"].get("serviceName"):
        spec["subdomain"] = owner["spec"]["serviceName"]
    return {**pod, "metadata": {**pod["metadata"], "name": name, "labels": labels}, "spec": spec}


def _claim_templates(owner: Object) -> list[Object]:
    templates: list[Object] = owner["spec"].get("volumeClaimTemplates") or []
    return templates


def _claims(owner: Object, ordinal: int) -> Iterator[Object]:
    for template in _claim_templates(owner):
        metadata = template["metadata"]
        selected = (owner["spec"].get("selector") or {}).get("matchLabels") or {}
        yield {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                **metadata,
                "name": f"{metadata['name']}-{owner['metadata']['name']}-{ordinal}",
                "namespace": owner["metadata"]["namespace"],
                "labels": {**(metadata.get("labels") or {}), **selected},
            },
            "spec": template["spec"],
        }


def _status(whole: _Set, lost: Sequence[Object]) -> dict[str, Any]:
    pods = list(whole.pods.values())
    leaving = [pod["metadata"]["name"] for pod in lost]
    kept = [pod for pod in pods if not is_deleting(pod) and pod["metadata"]["name"] not in leaving]
    of_current = sum(_revision(pod) == whole.current for pod in kept)
    updated = sum(_revision(pod) == whole.update for pod in kept)
    ready, current = sum(map(is_pod_ready, pods)), whole.current
    done = updated == len(pods) == len(whole.available) == spec_replicas(whole.object)
    strategy = whole.object["spec"].get("updateStrategy") or {}
    if done and strategy.get("type", "RollingUpdate") == "RollingUpdate":
        of_current, current = updated, whole.update
    counters = {"readyReplicas": ready, "currentReplicas": of_current, "updatedReplicas": updated}
    return {
        "observedGeneration": whole.object["metadata"].get("generation", 0),
        "replicas": len(pods),
        **{name: value for name, value in counters.items() if value},
        "currentRevision": current,
        "updateRevision": whole.update,
        "collisionCount": (whole.object.get("status") or {}).get("collisionCount") or 0,
        "availableReplicas": len(whole.available),
    }
