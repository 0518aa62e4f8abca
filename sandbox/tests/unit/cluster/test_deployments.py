from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.deployments import DeploymentController
from handloop_sandbox.cluster.lifecycle import default_controllers
from handloop_sandbox.cluster.rolling_update import bounds_of
from handloop_sandbox.cluster.workloads import (
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    condition,
    is_pod_active,
    is_pod_ready,
)
from handloop_sandbox.storage.owner_references import controller_of
from handloop_sandbox.storage.stored import Object
from support.servers.living_server import APPS, LivingServer, selecting
from support.servers.simulated_cluster import SimulatedCluster, new_deployment, with_image

_MERGE = "application/merge-patch+json"


def _available(cluster: SimulatedCluster, name: str = "web") -> int:
    return int(cluster.deployment(name).get("status", {}).get("availableReplicas", 0))


def _reason(cluster: SimulatedCluster, kind: str = "Progressing") -> str:
    found = condition(cluster.deployment(), kind)
    return str(found["reason"]) if found else ""


def _rolled_out(cluster: SimulatedCluster, name: str = "web") -> bool:
    deployment = cluster.deployment(name)
    status, wanted = deployment.get("status", {}), deployment["spec"]["replicas"]
    counters = ("replicas", "updatedReplicas", "availableReplicas")
    seen = status.get("observedGeneration") == deployment["metadata"]["generation"]
    return seen and all(status.get(counter, 0) == wanted for counter in counters)


def _set_image(cluster: SimulatedCluster, image: str) -> None:
    cluster.change(DEPLOYMENTS, "default", "web", spec=with_image(cluster.deployment(), image))


@pytest.mark.parametrize("seed", range(5))
def test_deployment_becomes_available_within_four_seconds(seed: int) -> None:
    """Available replicas climb one by one to 3, two to four seconds after creation, and stay."""
    cluster = SimulatedCluster(seed=seed)
    cluster.create(DEPLOYMENTS, new_deployment())
    seconds = cluster.run_until(lambda: _available(cluster) == 3)
    assert 2.0 <= seconds <= 4.0
    versions = cluster.history(DEPLOYMENTS, "web")
    climbed = [obj.get("status", {}).get("availableReplicas", 0) for obj in versions]
    assert climbed == sorted(climbed)
    cluster.run_for(60)
    assert _rolled_out(cluster)
    assert _reason(cluster) == "NewReplicaSetAvailable"


def test_status_sequence_is_the_real_controllers(cluster: SimulatedCluster) -> None:
    """The reasons of the Progressing condition follow each other as recorded from kube-controller-manager."""
    cluster.create(DEPLOYMENTS, new_deployment())
    cluster.run_for(10)
    found = [condition(obj, "Progressing") for obj in cluster.history(DEPLOYMENTS, "web")]
    reasons = [entry["reason"] for entry in found if entry]
    assert list(dict.fromkeys(reasons)) == [
        "NewReplicaSetCreated",
        "ReplicaSetUpdated",
        "NewReplicaSetAvailable",
    ]
    first, last = cluster.history(DEPLOYMENTS, "web")[1:3]
    assert "observedGeneration" not in first["status"]
    assert last["status"]["observedGeneration"] == 1
    assert last["status"]["unavailableReplicas"] == 3


def test_idle_cluster_is_silent(cluster: SimulatedCluster) -> None:
    """Once everything runs there are no writes at all."""
    cluster.create(DEPLOYMENTS, new_deployment())
    cluster.run_for(20)
    written = len(cluster.writes)
    cluster.run_for(3600)
    assert len(cluster.writes) == written


def test_same_seed_same_history() -> None:
    """Two runs with one seed make the same changes at the same times; another seed does not."""

    def history(seed: int) -> list[tuple[float, str]]:
        cluster = SimulatedCluster(seed=seed)
        cluster.create(DEPLOYMENTS, new_deployment())
        cluster.run_for(3)
        _set_image(cluster, "nginx:2")
        cluster.run_for(20)
        return [(at, f"{change} {change.new.object}") for at, change in cluster.changes]

    assert history(7) == history(7)
    assert history(7) != history(8)


def test_rolling_update_stays_within_its_bounds(cluster: SimulatedCluster) -> None:
    """During a rollout never fewer than the minimum are ready, nor more than the maximum asked for."""
    cluster.create(DEPLOYMENTS, new_deployment(replicas=10))
    cluster.run_until(lambda: _available(cluster) == 10)
    _set_image(cluster, "nginx:2")
    bounds = bounds_of(cluster.deployment())
    assert (bounds.most, bounds.least_available) == (13, 8)

    def done() -> bool:
        assert sum(rs["spec"]["replicas"] for rs in cluster.replica_sets()) <= 13
        assert sum(is_pod_ready(pod) and is_pod_active(pod) for pod in cluster.pods()) >= 8
        return _rolled_out(cluster)

    cluster.run_until(done)
    images = {pod["spec"]["containers"][0]["image"] for pod in cluster.pods() if is_pod_active(pod)}
    assert images == {"nginx:2"}


def test_rollout_and_rollback_events_and_revisions(cluster: SimulatedCluster) -> None:
    """A rollout and its undo give the event texts, revisions and history that kubectl rollout reads."""
    cluster.create(DEPLOYMENTS, new_deployment(replicas=1))
    cluster.run_for(10)
    _set_image(cluster, "nginx:2")
    cluster.run_for(15)
    _set_image(cluster, "nginx:1")
    cluster.run_for(15)
    first, second = (
        cluster.replica_sets()[::-1] if _revision(cluster.replica_sets()[0]) == 3 else cluster.replica_sets()
    )
    back, away = sorted((first, second), key=_revision, reverse=True)
    one, two = back["metadata"]["name"], away["metadata"]["name"]
    assert (_revision(back), _revision(away), _revision(cluster.deployment())) == (3, 2, 3)
    assert back["metadata"]["annotations"]["deployment.kubernetes.io/revision-history"] == "1"
    assert cluster.messages("ScalingReplicaSet") == [
        f"Scaled up replica set {one} from 0 to 1",
        f"Scaled up replica set {two} from 0 to 1",
        f"Scaled down replica set {one} from 1 to 0",
        # the same text as the first: its count rises instead
        f"Scaled down replica set {two} from 1 to 0",
    ]
    assert cluster.events("ScalingReplicaSet")[0]["count"] == 2


def _revision(obj: Object) -> int:
    return int(obj["metadata"]["annotations"]["deployment.kubernetes.io/revision"])


def test_stuck_rollout_exceeds_its_deadline_and_recovers(cluster: SimulatedCluster) -> None:
    """With an image that cannot be pulled the deadline passes, old pods stay, and a good image ends it."""
    cluster.create(DEPLOYMENTS, new_deployment(progressDeadlineSeconds=30))
    cluster.run_until(lambda: _rolled_out(cluster))
    _set_image(cluster, "nginx:pull-fail")
    seconds = cluster.run_until(lambda: _reason(cluster) == "ProgressDeadlineExceeded")
    assert 30 <= seconds <= 33
    assert _available(cluster) == 3
    _set_image(cluster, "nginx:3")
    cluster.run_until(lambda: _rolled_out(cluster))
    assert _reason(cluster) == "NewReplicaSetAvailable"


def test_deadline_and_min_ready_seconds_follow_the_speed() -> None:
    """At speed 10 a deadline of 30 s passes after 3, and minReadySeconds of 20 after 2."""
    cluster = SimulatedCluster(speed=10)
    cluster.create(DEPLOYMENTS, new_deployment(minReadySeconds=20))
    seconds = cluster.run_until(lambda: _available(cluster) == 3)
    assert 2.0 <= seconds <= 2.6
    cluster.create(DEPLOYMENTS, new_deployment("bad", image="nginx:never-ready", progressDeadlineSeconds=30))

    def timed_out() -> bool:
        found = condition(cluster.deployment("bad"), "Progressing")
        return bool(found and found["reason"] == "ProgressDeadlineExceeded")

    assert 3.0 <= cluster.run_until(timed_out) <= 3.5


def test_recreate_never_runs_two_versions(cluster: SimulatedCluster) -> None:
    """With Recreate no pod of the new version exists while one of the old still terminates."""
    cluster.create(DEPLOYMENTS, new_deployment(strategy={"type": "Recreate"}))
    cluster.run_until(lambda: _rolled_out(cluster))
    _set_image(cluster, "nginx:2")

    def done() -> bool:
        running = [pod for pod in cluster.pods() if pod["status"]["phase"] in ("Pending", "Running")]
        assert len({pod["spec"]["containers"][0]["image"] for pod in running}) <= 1
        return _rolled_out(cluster)

    cluster.run_until(done)


def test_orphaned_replica_sets_are_adopted_and_strangers_let_go(cluster: SimulatedCluster) -> None:
    """A Deployment made again takes over ReplicaSets its predecessor left; one relabelled is released."""
    cluster.create(DEPLOYMENTS, new_deployment())
    cluster.run_until(lambda: _rolled_out(cluster))
    (replica_set,) = cluster.replica_sets()
    cluster.delete(DEPLOYMENTS, "default", "web", "Orphan")
    cluster.run_for(5)
    name = replica_set["metadata"]["name"]
    assert controller_of(cluster.must_get(REPLICA_SETS, "default", name)) is None
    made = cluster.create(DEPLOYMENTS, new_deployment())
    cluster.run_for(5)
    owner = controller_of(cluster.must_get(REPLICA_SETS, "default", name))
    assert owner is not None
    assert owner["uid"] == made["metadata"]["uid"]
    assert len(cluster.pods()) == 3
    cluster.change(REPLICA_SETS, "default", name, metadata={"labels": {"app": "other"}})
    cluster.run_for(5)
    assert controller_of(cluster.must_get(REPLICA_SETS, "default", name)) is None
    assert len(cluster.replica_sets()) == 2


def test_deleted_replica_set_comes_back(cluster: SimulatedCluster) -> None:
    """A ReplicaSet someone deletes is made again with its pods."""
    cluster.create(DEPLOYMENTS, new_deployment())
    cluster.run_until(lambda: _rolled_out(cluster))
    (before,) = cluster.replica_sets()
    cluster.delete(REPLICA_SETS, "default", before["metadata"]["name"])
    cluster.run_until(lambda: not _rolled_out(cluster))
    cluster.run_until(lambda: _rolled_out(cluster))
    (after,) = cluster.replica_sets()
    assert after["metadata"]["name"] == before["metadata"]["name"]
    assert after["metadata"]["uid"] != before["metadata"]["uid"]


def test_proportional_scaling_in_mid_rollout(cluster: SimulatedCluster) -> None:
    """Scaling while a rollout is stuck grows old and new together. Follows TestScale."""
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    cluster.create(DEPLOYMENTS, new_deployment(replicas=10, strategy=rolling))
    cluster.run_until(lambda: _rolled_out(cluster))
    _set_image(cluster, "nginx:never-ready")
    cluster.run_for(10)
    sizes = sorted(rs["spec"]["replicas"] for rs in cluster.replica_sets())
    assert sizes == [5, 8]
    spec = cluster.deployment()["spec"]
    cluster.change(DEPLOYMENTS, "default", "web", spec={**spec, "replicas": 20})
    cluster.run_for(1)
    assert sorted(rs["spec"]["replicas"] for rs in cluster.replica_sets()) == [9, 14]


def test_each_change_costs_only_what_it_touches(cluster: SimulatedCluster) -> None:
    """With 200 Deployments there, one more makes about as many writes as the first one did."""
    cluster.run_for(1)

    def cost(name: str) -> int:
        before = len(cluster.writes)
        cluster.create(DEPLOYMENTS, new_deployment(name))
        cluster.run_until(lambda: _rolled_out(cluster, name))
        return len(cluster.writes) - before

    alone = cost("first")
    for index in range(200):
        cluster.create(DEPLOYMENTS, new_deployment(f"d{index}"))
    cluster.run_for(10)
    assert abs(cost("last") - alone) <= 3


class _CountingDeployments(DeploymentController):
    """Counts the looks."""

    looks = 0

    def _sync(self, view: Any, key: Any, now: float) -> Any:
        self.looks += 1
        return super()._sync(view, key, now)


def test_unrelated_deployments_are_not_looked_at() -> None:
    """A change of one Deployment's pods leads to looks at that Deployment alone."""
    controllers = list(default_controllers())
    counting = _CountingDeployments(Pace())
    controllers[3] = counting
    cluster = SimulatedCluster(controllers)
    for index in range(50):
        cluster.create(DEPLOYMENTS, new_deployment(f"d{index}"))
    cluster.run_for(20)
    counting.looks = 0
    pod = next(pod for pod in cluster.pods() if pod["metadata"]["labels"]["app"] == "d7")
    cluster.delete(PODS, "default", pod["metadata"]["name"])
    cluster.run_for(20)
    assert 0 < counting.looks < 15


@pytest.mark.parametrize("kind", ["Progressing", "Available"])
@pytest.mark.parametrize("state", ["True", "False", "Unknown"])
def test_a_condition_without_a_reason_is_replaced(kind: str, state: str) -> None:
    """A user can write one, as only type and status are required."""
    server = LivingServer()
    server.make(f"{APPS}/deployments", "web", selecting(replicas=2))
    server.wait(5)
    body = {"status": {"conditions": [{"type": kind, "status": state}]}}
    path = f"{APPS}/deployments/web"
    assert server.request("PATCH", f"{path}/status", body, content_type=_MERGE).status == 200
    server.change(path, replicas=3)
    server.wait(5)
    status = server.status(path)
    assert status["availableReplicas"] == 3
    reasons = {entry["type"]: entry.get("reason") for entry in status["conditions"]}
    assert reasons["Available"] == "MinimumReplicasAvailable"
    assert reasons.get("Progressing", "NewReplicaSetAvailable") == "NewReplicaSetAvailable"


@pytest.mark.parametrize("note", ["desired-replicas", "max-replicas", "revision"])
@pytest.mark.parametrize("text", ["many", "", "1.5", "٣"])
def test_annotations_that_are_no_numbers_are_ignored(note: str, text: str) -> None:
    """As in a cluster, a rollout and a resize go on."""
    server = LivingServer()
    server.make(f"{APPS}/deployments", "web", selecting(replicas=2))
    server.wait(5)
    broken = selecting(replicas=2)["template"]
    broken["spec"]["containers"][0]["image"] = "nginx:pull-fail"
    server.change(f"{APPS}/deployments/web", template=broken)
    server.wait(5)
    names = server.items(f"{APPS}/replicasets")
    assert len(names) == 2
    for name in names:
        body = {"metadata": {"annotations": {f"deployment.kubernetes.io/{note}": text}}}
        server.request("PATCH", f"{APPS}/replicasets/{name}", body, content_type=_MERGE)
    server.change(f"{APPS}/deployments/web", replicas=6)
    server.wait(5)
    server.change(f"{APPS}/deployments/web", template=selecting()["template"])
    server.wait(20)
    assert server.status(f"{APPS}/deployments/web")["availableReplicas"] == 6
