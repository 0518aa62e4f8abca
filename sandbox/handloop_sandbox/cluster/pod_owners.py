"""
The base of all controllers that create pods.

It finds the owners that are due and their pods, handles refusals, and records Events. A refused creation is
retried after a delay that doubles each time. The Event for a new pod is recorded once the pod exists.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from handloop_sandbox.cluster.adoption import Claim, Orphans, claim, controlled
from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, Step, View, Write
from handloop_sandbox.cluster.events import ComponentEventRecorder
from handloop_sandbox.cluster.workloads import PODS, condition, is_pod_ready
from handloop_sandbox.grammar.times import parse_time
from handloop_sandbox.storage.owner_references import controller_of, controller_reference
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.label_selector import matches
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

_REACTION_SECONDS = 0.05
_RETRY_SECONDS = 1.0  # doubles with each consecutive refusal
_MAX_RETRY_SECONDS = 60.0

Key = tuple[str, str]


@dataclass(slots=True)
class Failure:
    """The reason why pods cannot be created. told is True once an Event has reported the last refusal."""

    reason: str
    message: str
    retry_at: float
    refusals: int
    told: bool = False


class PodOwnerController(KeyedController[Key]):
    """
    Syncs an object of one kind, the owner, when it or one of its pods has changed.

    State: _dirty holds the (namespace, name) of each owner to sync. _ready_since holds, by uid, the time at
    which each pod became ready, which is more precise than the one in the object. _failures holds, by owner,
    the reason why pods could not be created. _expected holds the pods that are being created.
    """

    collection: ClassVar[GroupResource]
    kind: ClassVar[str]
    component: ClassVar[str]
    interests: frozenset[GroupResource] | None

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._orphans = Orphans(PODS)
        self._ready_since: dict[str, float] = {}
        self._failures: dict[Key, Failure] = {}
        self._expected: set[Key] = set()
        self._recorder = ComponentEventRecorder(self.component)

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Record the Events of new pods, and sync every owner that is due."""
        told = [write for change in changes for write in self._welcome(view, change, now)]
        step = super().step(view, changes, now)
        return step._replace(writes=[*told, *step.writes])

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Sync the owner again later, or at once if a pod could not be created, to update the status."""
        owner = controller_of(write.object) if write.object and "metadata" in write.object else None
        if write.group_resource != PODS or owner is None:
            return
        key = (write.namespace, owner["name"])
        if write.verb != "create":
            self._dirty.mark(key, now + self._pace.seconds(_RETRY_SECONDS))
            return
        self._expected.discard((write.namespace, write.name))
        known = self._failures.get(key)
        if known is None or known.retry_at <= now:  # of several refusals in a batch, only the first counts
            refusals = known.refusals + 1 if known else 0
            pause = self._pace.seconds(min(_RETRY_SECONDS * 2**refusals, _MAX_RETRY_SECONDS))
            self._failures[key] = Failure("FailedCreate", status["message"], now + pause, refusals)
            self._dirty.mark(key, now)

    @staticmethod
    def selector_of(owner: Object) -> Mapping[str, Any] | None:
        """Return the label selector of an owner."""
        selector: Mapping[str, Any] | None = owner["spec"].get("selector")
        return selector

    def _observe(self, view: View, change: Change, now: float) -> None:
        due = now + self._pace.jittered(_REACTION_SECONDS, view.random)
        if change.group_resource == self.collection:
            if change.type is ChangeType.DELETED:
                self._failures.pop((change.namespace, change.name), None)
            self._dirty.mark((change.namespace, change.name), due)
            return
        if change.group_resource != PODS:
            return
        self._note_readiness(change, now)
        for version in (change.new, change.old):
            owner = controller_of(version.object) if version else None
            if owner is not None and owner["kind"] == self.kind:
                self._dirty.mark((change.namespace, owner["name"]), due)
        if self._orphans.observe(change):
            for owner in view.state.list(self.collection, change.namespace):
                if matches(self.selector_of(owner), change.new.object["metadata"].get("labels")):
                    self._dirty.mark((change.namespace, owner["metadata"]["name"]), due)

    def _note_readiness(self, change: Change, now: float) -> None:
        uid = change.new.object["metadata"]["uid"]
        ready = condition(change.new.object, "Ready")
        if change.type is ChangeType.DELETED or ready is None or ready["status"] != "True":
            self._ready_since.pop(uid, None)
        elif change.type is ChangeType.ADDED and ready["lastTransitionTime"]:
            # this pod is older than the controller
            self._ready_since[uid] = parse_time(ready["lastTransitionTime"])
        else:
            self._ready_since.setdefault(uid, now)

    def _available(self, owner: Object, pods: Sequence[Object], now: float) -> list[Object]:
        """Return the pods that have been ready for minReadySeconds. Schedule a sync for the others."""
        wait = self._pace.seconds(float(owner["spec"].get("minReadySeconds") or 0))
        found = []
        for pod in filter(is_pod_ready, pods):
            at = self._ready_since.get(pod["metadata"]["uid"], now) + wait
            if at <= now:
                found.append(pod)
            else:
                self._dirty.mark((owner["metadata"]["namespace"], owner["metadata"]["name"]), at)
        return found

    def _welcome(self, view: View, change: Change, now: float) -> list[Write]:
        key = (change.namespace, change.name)
        if change.group_resource != PODS or key not in self._expected:
            return []
        self._expected.discard(key)
        owner = controller_of(change.new.object)
        found = view.state.get(self.collection, change.namespace, owner["name"]) if owner else None
        if found is None:
            return []
        return [self._tell(view, found, "SuccessfulCreate", self._created_text(found, change.name), now)]

    def _created_text(self, owner: Object, pod: str) -> str:
        del owner
        return f"Created pod: {pod}"

    def _deleted_text(self, owner: Object, pod: str) -> str:
        del owner
        return f"Deleted pod: {pod}"

    def _claimed(self, view: View, owner: Object) -> Claim:
        candidates = [
            *controlled(view.state, owner, PODS),
            *self._orphans.among(view.state, owner["metadata"]["namespace"]),
        ]
        return claim(owner, PODS, candidates, self.selector_of(owner))

    def _failure(self, key: Key, *, missing: int, now: float) -> Failure | None:
        """Return the error that prevents the creation of pods. If no pods are missing, forget the error."""
        failure = self._failures.get(key)
        if failure is None or missing > 0:
            if failure is not None and failure.retry_at > now:
                self._dirty.mark(key, failure.retry_at)
            return failure
        del self._failures[key]
        return None

    def _tell_failure(self, view: View, owner: Object, failure: Failure | None, now: float) -> list[Write]:
        if failure is None or failure.told:
            return []
        failure.told = True
        return [self._tell(view, owner, failure.reason, f"Error creating: {failure.message}", now)]

    def _create(self, pod: Object) -> Write:
        self._expected.add((pod["metadata"]["namespace"], pod["metadata"]["name"]))
        return Write.of("create", PODS, pod)

    def _delete(self, view: View, owner: Object, pod: Object, now: float) -> list[Write]:
        message = self._deleted_text(owner, pod["metadata"]["name"])
        return [
            Write.of("delete", PODS, pod, propagation="Background"),
            self._tell(view, owner, "SuccessfulDelete", message, now),
        ]

    def _tell(self, view: View, about: Object, reason: str, message: str, now: float) -> Write:
        kind = "Warning" if reason.startswith("Failed") else "Normal"
        return self._recorder.event(view, about, kind=kind, reason=reason, message=message, now=now)

    def _put_status(self, owner: Object, status: Mapping[str, Any]) -> list[Write]:
        if status == (owner.get("status") or {}):
            return []
        return [Write.of("update", self.collection, {**owner, "status": status}, subresource="status")]

    @abstractmethod
    def _sync(self, view: View, key: Key, now: float) -> list[Write]:
        """Reconcile one owner. Returns: the writes."""


def new_pod(view: View, owner: Object, template: Mapping[str, Any], *, prefix: str = "") -> Object:
    """Return a new pod from a template, controlled by owner. The default prefix is `<owner>-`."""
    prefix = prefix or f"{owner['metadata']['name']}-"
    found = template.get("metadata") or {}
    metadata = {
        "generateName": prefix,
        "name": view.new_name(prefix),
        "namespace": owner["metadata"]["namespace"],
        **{field: found[field] for field in ("labels", "annotations", "finalizers") if found.get(field)},
        "ownerReferences": [controller_reference(owner)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}
