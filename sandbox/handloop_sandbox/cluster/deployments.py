"""The Deployment controller: it decides which Deployments to sync, and finds their ReplicaSets."""

from __future__ import annotations

from handloop_sandbox.cluster import deployment_status
from handloop_sandbox.cluster.adoption import Orphans, claim, controlled
from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.cluster.deployment_status import PROGRESSING
from handloop_sandbox.cluster.events import ComponentEventRecorder
from handloop_sandbox.cluster.rollout import Rollout
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, PODS, REPLICA_SETS, condition, is_pod_finished
from handloop_sandbox.storage.owner_references import controller_of
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.label_selector import is_everything, matches
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

_REACTION_SECONDS = 0.05
_RETRY_SECONDS = 1.0

_Key = tuple[str, str]


class DeploymentController(KeyedController[_Key]):
    """
    Syncs a Deployment when it or one of its ReplicaSets has changed.

    State: _progressed_at holds, by uid, the time at which each Deployment's Progressing condition last
    changed. This time is more precise than the one in the object, which is in whole seconds.
    """

    interests: frozenset[GroupResource] | None = frozenset({DEPLOYMENTS, REPLICA_SETS})

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._orphans = Orphans(REPLICA_SETS)
        self._progressed_at: dict[str, float] = {}
        self._recorder = ComponentEventRecorder("deployment-controller")

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Sync again. The object has changed in the meantime, or its namespace is being deleted."""
        del status
        for reference in ((write.object or {}).get("metadata") or {}).get("ownerReferences") or ():
            self._dirty.mark((write.namespace, reference["name"]), now + self._pace.seconds(_RETRY_SECONDS))
        if write.group_resource == DEPLOYMENTS:
            self._dirty.mark((write.namespace, write.name), now + self._pace.seconds(_RETRY_SECONDS))

    def _observe(self, view: View, change: Change, now: float) -> None:
        due = now + self._pace.jittered(_REACTION_SECONDS, view.random)
        if change.group_resource == DEPLOYMENTS:
            self._note_progress(change, now)
            if change.type is not ChangeType.DELETED:
                self._dirty.mark((change.namespace, change.name), due)
            return
        for version in (change.new, change.old):
            owner = controller_of(version.object) if version else None
            if owner is not None and owner["kind"] == "Deployment":
                self._dirty.mark((change.namespace, owner["name"]), due)
        if self._orphans.observe(change):
            for deployment in view.state.list(DEPLOYMENTS, change.namespace):
                if matches(deployment["spec"]["selector"], change.new.object["metadata"].get("labels")):
                    self._dirty.mark((change.namespace, deployment["metadata"]["name"]), due)

    def _note_progress(self, change: Change, now: float) -> None:
        uid = change.new.object["metadata"]["uid"]
        if change.type is ChangeType.DELETED:
            self._progressed_at.pop(uid, None)
            return
        before = condition(change.old.object, PROGRESSING) if change.old else None
        if change.old and before != condition(change.new.object, PROGRESSING):
            self._progressed_at[uid] = now

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        deployment = view.state.get(DEPLOYMENTS, *key)
        if deployment is None or is_everything(deployment["spec"]["selector"]):
            return []
        candidates = [
            *controlled(view.state, deployment, REPLICA_SETS),
            *self._orphans.among(view.state, key[0]),
        ]
        claimed = claim(deployment, REPLICA_SETS, candidates, deployment["spec"]["selector"])
        deadline = self._deadline(deployment)
        rollout = Rollout(
            deployment,
            claimed.objects,
            now=now,
            tell=lambda about, message: self._tell(view, about, message, now),
            stuck=deadline is not None and deadline <= now,
            taken=lambda name: view.state.get(REPLICA_SETS, key[0], name) is not None,
            old_pods_run=lambda replica_sets: any(_runs_pods(view, rs) for rs in replica_sets),
        )
        writes = claimed.writes + rollout.decide()
        if deadline is not None and deadline > now:
            self._dirty.mark(key, deadline)
        return writes

    def _deadline(self, deployment: Object) -> float | None:
        if deployment["spec"].get("paused"):
            return None
        progressed_at = self._progressed_at.get(deployment["metadata"]["uid"])
        return deployment_status.deadline_at(deployment, progressed_at, self._pace)

    def _tell(self, view: View, about: Object, message: str, now: float) -> Write:
        return self._recorder.event(
            view, about, kind="Normal", reason="ScalingReplicaSet", message=message, now=now
        )


def _runs_pods(view: View, replica_set: Object) -> bool:
    return any(not is_pod_finished(pod) for pod in controlled(view.state, replica_set, PODS))
