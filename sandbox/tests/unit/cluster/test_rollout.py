from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from handloop_sandbox.cluster import revisions
from handloop_sandbox.cluster.cluster_controller import Write
from handloop_sandbox.cluster.events import EVENTS
from handloop_sandbox.cluster.rolling_update import bounds_of
from handloop_sandbox.cluster.rollout import Rollout
from handloop_sandbox.cluster.workloads import DEPLOYMENTS, REPLICA_SETS
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Object
from support.servers.simulated_cluster import START, new_deployment, with_image

_Sizes = dict[str, int]


def _deployment(*, status: dict[str, Any] | None = None, **spec: Any) -> Object:
    deployment = new_deployment(**spec)
    deployment["metadata"] |= {"uid": "d", "generation": 1}
    return {**deployment, "status": status or {}}


def _replica_set(
    deployment: Object, replicas: int, *, image: str = "nginx:1", age: int = 0, **status: Any
) -> Object:
    """A ReplicaSet of an earlier or the present template, as the controller leaves it."""
    of = {**deployment, "spec": with_image(deployment, image)}
    annotations = revisions.size_annotations(bounds_of(deployment)) | {revisions.REVISION: str(age + 1)}
    made = revisions.new_replica_set(of, replicas=replicas, annotations=annotations)
    made["metadata"] |= {"creationTimestamp": format_time(START + age), "uid": f"rs-{age}", "generation": 1}
    counters = {"replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
    return {**made, "status": {**counters, "observedGeneration": 1, **status}}


def _tell(about: Object, message: str) -> Write:
    event = {"kind": "Event", "metadata": {"name": "e", "namespace": "default"}, "message": message}
    return Write(verb="create", group_resource=EVENTS, namespace=about["metadata"]["namespace"], object=event)


def _decide(
    deployment: Object,
    replica_sets: Sequence[Object],
    *,
    stuck: bool = False,
    old_pods_run: Callable[[Sequence[Object]], bool] = lambda _: False,
) -> list[Write]:
    rollout = Rollout(deployment, replica_sets, now=START, tell=_tell, stuck=stuck, old_pods_run=old_pods_run)
    return rollout.decide()


def _sizes(writes: Sequence[Write]) -> _Sizes:
    sized = [w for w in writes if w.group_resource == REPLICA_SETS and w.object is not None]
    return {w.name: w.object["spec"]["replicas"] for w in sized if w.object}


def _messages(writes: Sequence[Write]) -> list[str]:
    return [w.object["message"] for w in writes if w.group_resource == EVENTS and w.object]


def _status(writes: Sequence[Write]) -> dict[str, Any]:
    last = [w.object for w in writes if w.group_resource == DEPLOYMENTS and w.object][-1]
    status: dict[str, Any] = last["status"]
    return status


def _reason(status: dict[str, Any], kind: str = "Progressing") -> str:
    return next((str(c["reason"]) for c in status["conditions"] if c["type"] == kind), "")


def _names(*replica_sets: Object) -> list[str]:
    return [replica_set["metadata"]["name"] for replica_set in replica_sets]


def test_first_look_creates_a_replica_set() -> None:
    """A new Deployment gets its ReplicaSet at full size, its revision, two conditions and an event."""
    deployment = _deployment()
    writes = _decide(deployment, [])
    (name,) = _sizes(writes)
    assert _sizes(writes) == {name: 3}
    assert [(w.verb, str(w.group_resource), w.subresource) for w in writes] == [
        ("create", "replicasets.apps", ""),
        ("update", "deployments.apps", "status"),
        ("create", "events", ""),
        ("update", "deployments.apps", "status"),
    ]
    assert _messages(writes) == [f"Scaled up replica set {name} from 0 to 3"]
    created = writes[1].object
    assert created is not None
    assert created["metadata"]["annotations"] == {revisions.REVISION: "1"}
    assert _reason(_status(writes)) == "NewReplicaSetCreated"
    assert _reason(_status(writes), "Available") == "MinimumReplicasUnavailable"
    assert _status(writes)["unavailableReplicas"] == 3


def test_settled_deployment_makes_no_writes() -> None:
    """Looking again at an own write leads to nothing."""
    deployment = _deployment()
    replica_set = _replica_set(deployment, 3)
    for write in _decide(deployment, [replica_set]):
        if write.group_resource == DEPLOYMENTS and write.object:
            deployment = write.object
    assert _reason(deployment["status"]) == "NewReplicaSetAvailable"
    assert _decide(deployment, [replica_set]) == []


def test_new_template_starts_with_the_surge() -> None:
    """A rollout begins with the surge and takes no old pod away before a new one is available."""
    deployment = _deployment(image="nginx:2")
    old = _replica_set(deployment, 3)
    writes = _decide(deployment, [old])
    assert list(_sizes(writes).values()) == [1]
    new = _replica_set(deployment, 1, image="nginx:2", age=1, availableReplicas=0, readyReplicas=0)
    assert _sizes(_decide(deployment, [old, new])) == {}


def test_available_replicas_replace_old_ones() -> None:
    """Each new available pod lets an old one go; the next look makes the next new pod."""
    deployment = _deployment(image="nginx:2")
    old, new = _replica_set(deployment, 3), _replica_set(deployment, 1, image="nginx:2", age=1)
    writes = _decide(deployment, [old, new])
    assert _sizes(writes) == {old["metadata"]["name"]: 2}
    assert _messages(writes) == [f"Scaled down replica set {old['metadata']['name']} from 3 to 2"]
    smaller = {**old, "spec": {**old["spec"], "replicas": 2}}
    assert _sizes(_decide(deployment, [smaller, new])) == {new["metadata"]["name"]: 2}


def test_rolling_back_reuses_the_old_replica_set() -> None:
    """An earlier ReplicaSet becomes the new one again, with the next revision; none is created."""
    deployment = _deployment()
    first = _replica_set(deployment, 0)
    second = _replica_set(deployment, 3, image="nginx:2", age=1)
    writes = _decide(deployment, [first, second])
    assert {write.verb for write in writes if write.group_resource == REPLICA_SETS} == {"update"}
    assert _sizes(writes) == {first["metadata"]["name"]: 1}
    last = [w.object for w in writes if w.name == first["metadata"]["name"] and w.object][-1]
    assert last["metadata"]["annotations"][revisions.REVISION] == "3"
    assert last["metadata"]["annotations"][revisions.REVISION_HISTORY] == "1"


def test_scaling_leaves_a_rollout_alone() -> None:
    """A changed spec.replicas resizes the present ones; the rollout goes on at the next look."""
    deployment = _deployment()
    only = _replica_set(deployment, 3)
    grown = {**deployment, "spec": {**deployment["spec"], "replicas": 5}}
    writes = _decide(grown, [only])
    assert _sizes(writes) == {only["metadata"]["name"]: 5}
    assert _messages(writes) == [f"Scaled up replica set {only['metadata']['name']} from 3 to 5"]
    annotations = next(w.object for w in writes if w.object and w.group_resource == REPLICA_SETS)["metadata"]
    assert annotations["annotations"]["deployment.kubernetes.io/desired-replicas"] == "5"


def test_scaling_to_zero_and_back_uses_the_latest() -> None:
    """Without active ReplicaSets the new one is scaled."""
    deployment = _deployment()
    first, second = _replica_set(deployment, 0, age=0), _replica_set(deployment, 0, image="nginx:0", age=-1)
    writes = _decide({**deployment, "spec": {**deployment["spec"], "paused": True}}, [first, second])
    assert _sizes(writes) == {first["metadata"]["name"]: 3}


def test_paused_deployment_scales_but_does_not_roll() -> None:
    """While paused no ReplicaSet is made for a new template, and the condition reports it."""
    deployment = _deployment(image="nginx:2", paused=True)
    writes = _decide(deployment, [_replica_set(deployment, 3)])
    assert _sizes(writes) == {}
    assert _reason(_status(writes)) == "DeploymentPaused"


def test_recreate_waits_for_the_last_old_pod() -> None:
    """Recreate takes all old pods away, waits until they have gone, then creates all new ones."""
    deployment = _deployment(image="nginx:2", strategy={"type": "Recreate"})
    old = _replica_set(deployment, 3)
    (name,) = _names(old)
    assert _sizes(_decide(deployment, [old])) == {name: 0}
    empty = {**old, "spec": {**old["spec"], "replicas": 0}}
    assert _sizes(_decide(deployment, [empty], old_pods_run=lambda _: True)) == {}
    assert list(_sizes(_decide(deployment, [empty])).values()) == [3]


def test_deadline_turns_the_condition() -> None:
    """A stuck rollout is reported as ProgressDeadlineExceeded and nothing is undone."""
    deployment = _deployment()
    waiting = _replica_set(deployment, 3, readyReplicas=0, availableReplicas=0)
    for write in _decide(deployment, [waiting]):
        if write.group_resource == DEPLOYMENTS and write.object:
            deployment = write.object
    writes = _decide(deployment, [waiting], stuck=True)
    assert _reason(_status(writes)) == "ProgressDeadlineExceeded"
    assert _sizes(writes) == {}


def test_complete_rollout_trims_the_history() -> None:
    """Once everything is new, ReplicaSets beyond revisionHistoryLimit go, oldest revision first."""
    deployment = _deployment(image="nginx:9", revisionHistoryLimit=1)
    sets = [_replica_set(deployment, 0, image=f"nginx:{age}", age=age) for age in range(3)]
    sets.append(_replica_set(deployment, 3, image="nginx:9", age=9))
    for write in _decide(deployment, sets):
        if write.group_resource == DEPLOYMENTS and write.object:
            deployment = write.object
    assert [w.name for w in _decide(deployment, sets) if w.verb == "delete"] == _names(*sets[:2])


def test_deleted_deployment_only_reports() -> None:
    """A Deployment that waits for its finalizers gets a status, and no ReplicaSet."""
    deployment = _deployment()
    deployment["metadata"]["deletionTimestamp"] = format_time(START)
    assert {write.subresource for write in _decide(deployment, [])} == {"status"}


def test_given_objects_are_never_changed() -> None:
    """Deciding works on copies: stored objects are shared."""
    deployment = _deployment(image="nginx:2")
    old = _replica_set(deployment, 3)
    before = repr((deployment, old))
    _decide(deployment, [old])
    assert repr((deployment, old)) == before
