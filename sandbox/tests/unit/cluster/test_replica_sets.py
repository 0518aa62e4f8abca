from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.lifecycle import default_controllers
from handloop_sandbox.cluster.replica_sets import DELETION_COST, ReplicaSetController, _counted, doomed
from handloop_sandbox.cluster.workloads import PODS, REPLICA_SETS, condition, is_pod_active
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.owner_references import controller_of, controller_reference
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.resource import GroupResource
from support.servers.simulated_cluster import START, SimulatedCluster, new_pod


def _replica_set(name: str = "web", *, replicas: int = 3, image: str = "nginx:1", **spec: Any) -> Object:
    labels = {"app": name}
    containers = [{"name": "main", "image": image}]
    template = {
        "metadata": {"labels": labels, "annotations": {"note": "x"}},
        "spec": {"containers": containers},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template, **spec},
        "status": {"replicas": 0},
    }


def _status(cluster: SimulatedCluster, name: str = "web") -> dict[str, Any]:
    status: dict[str, Any] = cluster.must_get(REPLICA_SETS, "default", name)["status"]
    return status


def test_pods_carry_template_name_and_owner(cluster: SimulatedCluster) -> None:
    """Pods get the template's labels, annotations and spec, a generated name and a controller reference."""
    made = cluster.create(REPLICA_SETS, _replica_set())
    cluster.run_for(0.2)
    assert len(cluster.pods()) == 3
    for pod in cluster.pods():
        metadata = pod["metadata"]
        assert metadata["generateName"] == "web-"
        assert metadata["name"].startswith("web-")
        assert len(metadata["name"]) == len("web-") + 5
        assert (metadata["labels"], metadata["annotations"]) == ({"app": "web"}, {"note": "x"})
        owner = controller_of(pod)
        assert owner is not None
        assert owner["uid"] == made["metadata"]["uid"]
    created = sorted(cluster.messages("SuccessfulCreate"))
    assert created == sorted(f"Created pod: {pod['metadata']['name']}" for pod in cluster.pods())


def test_status_history_is_the_real_controllers(cluster: SimulatedCluster) -> None:
    """The first status has 0 and is observed, the second counts the pods, then they become ready."""
    cluster.create(REPLICA_SETS, _replica_set())
    cluster.run_for(10)
    history = [obj["status"] for obj in cluster.history(REPLICA_SETS, "web")]
    assert history[0] == {"replicas": 0}
    assert history[1] == {"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 1}
    assert history[2] == {**history[1], "replicas": 3, "fullyLabeledReplicas": 3}
    assert history[-1] == {**history[2], "readyReplicas": 3, "availableReplicas": 3}


def test_scaling_down_deletes_unready_pods_first(cluster: SimulatedCluster) -> None:
    """Of four pods the one that is not ready goes first; terminating replicas are counted."""
    cluster.create(REPLICA_SETS, _replica_set(replicas=3))
    cluster.run_until(lambda: _status(cluster).get("readyReplicas") == 3)
    spec = cluster.must_get(REPLICA_SETS, "default", "web")["spec"]
    before = {pod["metadata"]["name"] for pod in cluster.pods()}
    cluster.change(REPLICA_SETS, "default", "web", spec={**spec, "replicas": 4})
    cluster.run_for(0.3)
    (youngest,) = {pod["metadata"]["name"] for pod in cluster.pods()} - before
    cluster.change(REPLICA_SETS, "default", "web", spec={**spec, "replicas": 3})
    cluster.run_for(0.3)
    assert cluster.messages("SuccessfulDelete") == [f"Deleted pod: {youngest}"]
    cluster.run_until(lambda: {pod["metadata"]["name"] for pod in cluster.pods()} == before)
    cluster.change(REPLICA_SETS, "default", "web", spec={**spec, "replicas": 1})
    cluster.run_for(0.3)
    assert _status(cluster)["replicas"] == 1
    assert _status(cluster)["terminatingReplicas"] == 2
    cluster.run_for(3)
    assert _status(cluster)["terminatingReplicas"] == 0
    assert len(cluster.pods()) == 1


def test_lost_pod_is_replaced(cluster: SimulatedCluster) -> None:
    """A pod someone deletes, and one that ran to its end, are replaced."""
    cluster.create(REPLICA_SETS, _replica_set(replicas=2))
    cluster.run_until(lambda: _status(cluster).get("readyReplicas") == 2)
    first, second = (pod["metadata"]["name"] for pod in cluster.pods())
    cluster.delete(PODS, "default", first)
    ended = cluster.must_get(PODS, "default", second)
    cluster.change(PODS, "default", second, status={**ended["status"], "phase": "Failed"})
    cluster.run_for(10)
    assert _status(cluster)["readyReplicas"] == 2
    active = {pod["metadata"]["name"] for pod in cluster.pods() if is_pod_active(pod)}
    assert len(active) == 2
    assert not active & {first, second}


def test_matching_pod_is_adopted_and_relabelled_one_released(cluster: SimulatedCluster) -> None:
    """A matching pod without an owner counts as a replica; one whose labels change is replaced."""
    cluster.create(PODS, new_pod("stray", labels={"app": "web"}))
    cluster.create(REPLICA_SETS, _replica_set(replicas=2))
    cluster.run_for(1)
    owner = controller_of(cluster.must_get(PODS, "default", "stray"))
    assert owner is not None
    assert owner["name"] == "web"
    assert len(cluster.pods()) == 2
    cluster.change(PODS, "default", "stray", metadata={"labels": {"app": "other"}})
    cluster.run_for(1)
    assert controller_of(cluster.must_get(PODS, "default", "stray")) is None
    assert len(cluster.pods()) == 3


def test_stray_pod_beyond_the_size_is_deleted(cluster: SimulatedCluster) -> None:
    """A matching pod that appears when all replicas are there is one too many."""
    cluster.create(REPLICA_SETS, _replica_set(replicas=1))
    cluster.run_until(lambda: _status(cluster).get("readyReplicas") == 1)
    cluster.create(PODS, new_pod("stray", labels={"app": "web"}))
    cluster.run_for(3)
    assert cluster.get(PODS, "default", "stray") is None


def test_min_ready_seconds_delay_availability(cluster: SimulatedCluster) -> None:
    """A pod is ready at once and available only after minReadySeconds without interruption."""
    cluster.create(REPLICA_SETS, _replica_set(replicas=1, minReadySeconds=15))
    cluster.run_until(lambda: _status(cluster).get("readyReplicas") == 1)
    assert "availableReplicas" not in _status(cluster)
    seconds = cluster.run_until(lambda: _status(cluster).get("availableReplicas") == 1)
    assert 14.8 <= seconds <= 15.1


def test_pods_that_were_ready_before_are_available_at_once() -> None:
    """A controller that starts later counts minReadySeconds from the condition's time."""
    cluster = SimulatedCluster([])
    made = cluster.create(REPLICA_SETS, _replica_set(replicas=1, minReadySeconds=5))
    pod = new_pod("p", labels={"app": "web"})
    pod["metadata"]["ownerReferences"] = [controller_reference(made)]
    cluster.create(PODS, pod)
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": format_time(START - 60)}
    cluster.change(PODS, "default", "p", status={"phase": "Running", "conditions": [ready]})
    cluster.restart([ReplicaSetController(Pace())])
    cluster.run_for(0.2)
    assert _status(cluster)["availableReplicas"] == 1


def test_refused_pods_become_a_condition_and_are_retried() -> None:
    """While the API refuses pods a condition and an event report it, and attempts go on ever more rarely."""
    cluster = _Refusing(default_controllers())
    cluster.create(REPLICA_SETS, _replica_set(replicas=1))
    cluster.run_for(5)
    failure = condition(cluster.must_get(REPLICA_SETS, "default", "web"), "ReplicaFailure")
    assert failure is not None
    assert (failure["reason"], failure["message"]) == ("FailedCreate", "exceeded quota")
    (event,) = cluster.events("FailedCreate")
    assert (event["type"], event["message"]) == ("Warning", "Error creating: exceeded quota")
    assert cluster.messages("SuccessfulCreate") == []
    written = len(cluster.writes)
    cluster.run_for(60)
    assert len(cluster.writes) - written < 20
    cluster.refusing = False
    cluster.run_for(65)
    assert _status(cluster)["readyReplicas"] == 1
    assert condition(cluster.must_get(REPLICA_SETS, "default", "web"), "ReplicaFailure") is None


class _Refusing(SimulatedCluster):
    refusing = True

    def _create(self, group_resource: GroupResource, obj: Object) -> Object:
        if self.refusing and group_resource == PODS:
            return {"kind": "Status", "status": "Failure", "code": 403, "message": "exceeded quota"}
        return super()._create(group_resource, obj)


def test_a_deleted_replica_set_makes_no_pods() -> None:
    """A ReplicaSet that waits for its dependents neither creates nor deletes pods."""
    cluster = SimulatedCluster([ReplicaSetController(Pace())])
    cluster.create(REPLICA_SETS, _replica_set())
    cluster.delete(REPLICA_SETS, "default", "web", "Foreground")
    cluster.run_for(5)
    assert cluster.pods() == []
    assert cluster.now == START + 5


_NOW = 1_700_000_000.0


def _small_set(**status: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}}
    return {"metadata": {"generation": 4}, "spec": {"template": template}, "status": status}


def _pod(*, ready: bool, **labels: str) -> dict[str, Any]:
    condition = {"type": "Ready", "status": str(ready)}
    return {"metadata": {"labels": labels}, "status": {"phase": "Running", "conditions": [condition]}}


def test_counters_leave_zeros_out_as_the_real_controller_does() -> None:
    """replicas, terminatingReplicas and observedGeneration are always there, other counters only above 0."""
    status = _counted(_small_set(), [], available=0, terminating=0, failure=None, now=_NOW)
    assert status == {"replicas": 0, "terminatingReplicas": 0, "observedGeneration": 4}


def test_counters_over_active_pods() -> None:
    """Ready pods and those with all labels of the template are counted."""
    pods = [_pod(ready=True, app="web"), _pod(ready=False, app="web"), _pod(ready=True, app="db")]
    status = _counted(_small_set(), pods, available=1, terminating=2, failure=None, now=_NOW)
    assert status == {
        "replicas": 3,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 1,
        "terminatingReplicas": 2,
        "observedGeneration": 4,
    }


def test_failure_comes_and_goes() -> None:
    """A refused create is a condition until a look without one; its time stays as long as the reason does."""
    failure = ("FailedCreate", "no quota")
    first = _counted(_small_set(), [], available=0, terminating=0, failure=failure, now=_NOW)
    (condition,) = first["conditions"]
    assert condition == {
        "type": "ReplicaFailure",
        "status": "True",
        "lastTransitionTime": format_time(_NOW),
        "reason": "FailedCreate",
        "message": "no quota",
    }
    again = _counted(
        _small_set(**first),
        [],
        available=0,
        terminating=0,
        failure=failure,
        now=_NOW + 9,
    )
    assert again["conditions"] == [condition]
    over = _counted(_small_set(**first), [], available=0, terminating=0, failure=None, now=_NOW)
    assert "conditions" not in over


_OLD, _NEW = "2023-01-01T00:00:00Z", "2023-01-02T00:00:00Z"


def _ranked_pod(
    name: str,
    *,
    node: str = "n",
    phase: str = "Running",
    ready: str = _OLD,
    cost: str = "",
    restarts: int = 0,
    created: str = _OLD,
) -> dict[str, Any]:
    condition = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": ready or _OLD}
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": created,
            "annotations": {DELETION_COST: cost} if cost else {},
        },
        "spec": {"nodeName": node} if node else {},
        "status": {
            "phase": phase,
            "conditions": [condition],
            "containerStatuses": [{"restartCount": restarts}],
        },
    }


@pytest.mark.parametrize(
    ("goes", "stays"),
    [
        (_ranked_pod("a", node=""), _ranked_pod("b", phase="Pending")),
        (_ranked_pod("a", phase="Pending"), _ranked_pod("b", phase="Unknown")),
        (_ranked_pod("a", phase="Unknown"), _ranked_pod("b")),
        (_ranked_pod("a", ready=""), _ranked_pod("b")),
        (_ranked_pod("a", cost="-5"), _ranked_pod("b")),
        (_ranked_pod("a"), _ranked_pod("b", cost="5")),
        (_ranked_pod("a", cost="rubbish", created=_NEW), _ranked_pod("b")),
        (_ranked_pod("a", restarts=2), _ranked_pod("b", restarts=1)),
        (_ranked_pod("a", ready=_NEW), _ranked_pod("b")),
        (_ranked_pod("a", created=_NEW), _ranked_pod("b")),
        (_ranked_pod("a"), _ranked_pod("b")),
    ],
)
def test_least_valuable_pod_goes_first(goes: dict[str, Any], stays: dict[str, Any]) -> None:
    """
    Unassigned, pending, unready, cheap, restarted and young pods go before others.

    Follows TestSortingActivePodsWithRanks.
    """
    for pods in ([goes, stays], [stays, goes]):
        assert [pod["metadata"]["name"] for pod in doomed(pods, 1, pods)] == ["a"]


def test_crowded_nodes_lose_pods_first() -> None:
    """Of two equal pods the one with more relatives on its node goes, those of other ReplicaSets included."""
    lonely, crowded = _ranked_pod("a", node="one"), _ranked_pod("b", node="two")
    related = [lonely, crowded, _ranked_pod("other", node="two")]
    assert doomed([lonely, crowded], 1, related) == [crowded]


def test_count_limits_the_number() -> None:
    """As many pods go as asked for, in the order of their value."""
    pods = [_ranked_pod("a"), _ranked_pod("b", ready=""), _ranked_pod("c", node="")]
    assert [pod["metadata"]["name"] for pod in doomed(pods, 2, pods)] == ["c", "b"]
    assert doomed(pods, 0, pods) == []


def test_a_pod_that_is_ready_since_nobody_knows_when_goes_first() -> None:
    """A user's condition can lack the time. Kubernetes takes it for the latest one."""
    pods = [new_pod(name, nodeName="n") for name in "abc"]
    for pod, since in zip(pods, (format_time(START), None, format_time(START + 1)), strict=True):
        pod["metadata"]["creationTimestamp"] = format_time(START)
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": since}
        pod["status"] = {"phase": "Running", "conditions": [ready]}
    assert [pod["metadata"]["name"] for pod in doomed(pods, 2, pods)] == ["b", "c"]
