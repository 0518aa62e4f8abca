"""
The next writes for a Deployment, decided from its current state.

Follows: kubernetes pkg/controller/deployment/{deployment_controller,sync,rolling,recreate}.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from handloop_sandbox.cluster import deployment_status as statuses
from handloop_sandbox.cluster import revisions
from handloop_sandbox.cluster.cluster_controller import Write
from handloop_sandbox.cluster.deployment_status import PROGRESSING, Finding
from handloop_sandbox.cluster.rolling_update import (
    Resize,
    active,
    annotated_size,
    bounds_of,
    proportional,
    shrink_old,
    size_of_new,
)
from handloop_sandbox.cluster.workloads import (
    DEPLOYMENTS,
    REPLICA_SETS,
    condition,
    is_deleting,
    spec_replicas,
    status_count,
)
from handloop_sandbox.storage.stored import Object

Tell = Callable[[Object, str], Write]
"""Called with a Deployment and a message. Returns: the write of a ScalingReplicaSet Event."""


class Rollout:
    """
    Decides the next writes for a Deployment.

    old_pods_run returns whether pods of the old ReplicaSets still run (Recreate waits for them). taken
    returns whether a ReplicaSet name is in use. stuck is True if the progress deadline has passed.
    State: deployment, new and old already reflect `writes`. Arguments are never modified.
    """

    def __init__(
        self,
        deployment: Object,
        replica_sets: Sequence[Object],
        *,
        now: float,
        tell: Tell,
        stuck: bool = False,
        old_pods_run: Callable[[Sequence[Object]], bool] = lambda _: False,
        taken: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self.deployment = deployment
        self.new = revisions.find_new(deployment, replica_sets)
        self.old = [replica_set for replica_set in replica_sets if replica_set is not self.new]
        self.writes: list[Write] = []
        self._bounds = bounds_of(deployment)
        self._now = now
        self._tell = tell
        self._stuck = stuck
        self._old_pods_run = old_pods_run
        self._taken = taken

    def decide(self) -> list[Write]:
        """Return the writes that are due."""
        if is_deleting(self.deployment):
            self._sync_new(create=False)
            self._write_counts()
            return self.writes
        self._note_pause()
        if self.deployment["spec"].get("paused") or self._is_resized():
            self._resize()
        elif (self.deployment["spec"].get("strategy") or {}).get("type") == "Recreate":
            self._recreate()
        else:
            self._roll()
        return self.writes

    @property
    def _all(self) -> list[Object]:
        return [*self.old, *([self.new] if self.new else [])]

    def _note_pause(self) -> None:
        finding = statuses.pause_finding(self.deployment)
        if finding is not None:
            status = self.deployment.get("status") or {}
            self._write_status(statuses.with_condition(status, finding, self._now))

    def _is_resized(self) -> bool:
        """Return whether spec.replicas has changed since the ReplicaSets were last resized."""
        desired = (annotated_size(rs, revisions.DESIRED_REPLICAS) for rs in active(self._all))
        return any(size is not None and size != self._bounds.replicas for size in desired)

    def _roll(self) -> None:
        self._sync_new(create=True)
        if self.new is None:
            return
        size = spec_replicas(self.new)
        target = size_of_new(self._bounds, new=size, total=sum(spec_replicas(rs) for rs in self._all))
        if target != size:
            self._scale(Resize(self.new, target))
        else:
            steps = shrink_old(self._bounds, self.new, self.old)
            for step in steps:
                self._scale(step)
            if not steps:
                self._clean_up_when_complete()
        self._write_progress()

    def _recreate(self) -> None:
        self._sync_new(create=False)
        shrinking = active(self.old)
        for replica_set in shrinking:
            self._scale(Resize(replica_set, 0))
        if shrinking or self._old_pods_run(self.old):
            self._write_progress()
            return
        self._sync_new(create=True)
        if self.new is None:
            return
        if spec_replicas(self.new) != self._bounds.replicas:
            self._scale(Resize(self.new, self._bounds.replicas))
        self._clean_up_when_complete()
        self._write_progress()

    def _resize(self) -> None:
        """Apply spec.replicas to a paused or resized Deployment, without continuing the rollout."""
        self._sync_new(create=False)
        for step in self._resizes():
            self._scale(step)
        if self.deployment["spec"].get("paused"):
            self._clean_up()
        self._write_counts()

    def _resizes(self) -> list[Resize]:
        only = self._active_or_latest()
        if only is not None:
            wanted = self._bounds.replicas
            return [Resize(only, wanted)] if spec_replicas(only) != wanted else []
        if self._is_saturated():
            return [Resize(replica_set, 0) for replica_set in active(self.old)]
        if self.deployment["spec"].get("strategy", {}).get("type") == "Recreate":
            return []
        return proportional(
            self._bounds, active(self._all), status_replicas=status_count(self.deployment, "replicas")
        )

    def _active_or_latest(self) -> Object | None:
        """
        Return the only ReplicaSet that has replicas.

        If none has replicas, return the new ReplicaSet or else the youngest. If several have replicas, return
        None.
        """
        sized = active(self._all)
        if len(sized) > 1 or not self._all:
            return None
        return sized[0] if sized else self.new or max(self._all, key=_age)

    def _is_saturated(self) -> bool:
        """
        Return whether the new ReplicaSet has all the replicas that the Deployment wants, all of them
        available.
        """
        if self.new is None:
            return False
        wanted = self._bounds.replicas
        marked = _annotations(self.new).get(revisions.DESIRED_REPLICAS) == str(wanted)
        return marked and spec_replicas(self.new) == status_count(self.new, "availableReplicas") == wanted

    def _sync_new(self, *, create: bool) -> None:
        """Update or create the new ReplicaSet, and record its revision."""
        revision = revisions.max_revision(self.old) + 1
        if self.new is not None:
            self._refresh_new(self.new, revision)
        elif create:
            self._create_new(revision)

    def _refresh_new(self, new: Object, revision: int) -> None:
        annotations = revisions.new_annotations(self.deployment, new, revision)
        updated = revisions.with_annotations(new, annotations)
        wait = self.deployment["spec"].get("minReadySeconds", 0)
        if updated["spec"].get("minReadySeconds", 0) != wait:
            updated = {**updated, "spec": {**updated["spec"], "minReadySeconds": wait}}
        if updated is not new:
            self._replace(new, updated)
        status = self.deployment.get("status") or {}
        if statuses.has_deadline(self.deployment) and condition(self.deployment, PROGRESSING) is None:
            status = self._noted(
                status, "FoundNewReplicaSet", f'Found new replica set "{new["metadata"]["name"]}"'
            )
        self._write_status(status, revision=_annotations(updated)[revisions.REVISION])

    def _create_new(self, revision: int) -> None:
        total = sum(spec_replicas(replica_set) for replica_set in self.old)
        replicas = size_of_new(self._bounds, new=0, total=total)
        annotations = revisions.new_annotations(self.deployment, None, revision)
        annotations |= revisions.size_annotations(self._bounds)
        new = revisions.new_replica_set(self.deployment, replicas=replicas, annotations=annotations)
        if self._taken(new["metadata"]["name"]):
            self._write_collision()
            return
        self.writes.append(Write.of("create", REPLICA_SETS, new))
        # The API server will store it like this, as the youngest of all ReplicaSets.
        self.new = {
            **new,
            "metadata": {**new["metadata"], "creationTimestamp": "9999"},
            "status": {"replicas": 0},
        }
        name = new["metadata"]["name"]
        status = self.deployment.get("status") or {}
        if statuses.has_deadline(self.deployment):
            status = self._noted(status, "NewReplicaSetCreated", f'Created new replica set "{name}"')
        self._write_status(status, revision=str(revision))
        if replicas > 0:
            self._announce(f"Scaled up replica set {name} from 0 to {replicas}")

    def _write_collision(self) -> None:
        """Count a collision with another ReplicaSet's name. The next sync will use another hash."""
        status = self.deployment.get("status") or {}
        self._write_status({**status, "collisionCount": int(status.get("collisionCount") or 0) + 1})

    def _noted(self, status: Mapping[str, Any], reason: str, message: str) -> dict[str, Any]:
        return statuses.with_condition(dict(status), Finding(PROGRESSING, "True", reason, message), self._now)

    def _scale(self, step: Resize) -> None:
        replica_set, size = step
        before = spec_replicas(replica_set)
        updated = revisions.with_annotations(replica_set, revisions.size_annotations(self._bounds))
        if size != before:
            updated = {**updated, "spec": {**updated["spec"], "replicas": size}}
        if updated is replica_set:
            return
        self._replace(replica_set, updated)
        if size != before:
            way = "up" if size > before else "down"
            self._announce(
                f"Scaled {way} replica set {replica_set['metadata']['name']} from {before} to {size}"
            )

    def _replace(self, replica_set: Object, updated: Object) -> None:
        self.writes.append(Write.of("update", REPLICA_SETS, updated))
        name = replica_set["metadata"]["name"]
        if self.new is not None and self.new["metadata"]["name"] == name:
            self.new = updated
        else:
            self.old = [updated if rs["metadata"]["name"] == name else rs for rs in self.old]

    def _announce(self, message: str) -> None:
        self.writes.append(self._tell(self.deployment, message))

    def _clean_up_when_complete(self) -> None:
        if statuses.is_complete(self.deployment, self.deployment.get("status") or {}):
            self._clean_up()

    def _clean_up(self) -> None:
        for replica_set in revisions.expendable(self.deployment, self.old):
            self.writes.append(Write.of("delete", REPLICA_SETS, replica_set, propagation="Background"))

    def _write_progress(self) -> None:
        status = statuses.counted(self.deployment, self._all, self.new, self._now)
        status = statuses.with_progress(self.deployment, status, self.new, stuck=self._stuck, now=self._now)
        self._write_status(statuses.with_failure(status, self._all, self.new))

    def _write_counts(self) -> None:
        self._write_status(statuses.counted(self.deployment, self._all, self.new, self._now))

    def _write_status(self, status: Mapping[str, Any], *, revision: str = "") -> None:
        updated = self.deployment
        if revision:
            updated = revisions.with_annotations(updated, {revisions.REVISION: revision})
        if (updated.get("status") or {}) != status:
            updated = {**updated, "status": status}
        if updated is not self.deployment:
            self.deployment = updated
            self.writes.append(Write.of("update", DEPLOYMENTS, updated, subresource="status"))


def _annotations(obj: Object) -> dict[str, str]:
    return obj["metadata"].get("annotations") or {}


def _age(replica_set: Object) -> tuple[str, str]:
    return replica_set["metadata"]["creationTimestamp"], replica_set["metadata"]["name"]
