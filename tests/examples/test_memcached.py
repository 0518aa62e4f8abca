"""examples/memcached: a Deployment, the names of its Pods, and a finalizer that never stays behind."""

from __future__ import annotations

import threading
from contextlib import closing
from typing import Final, Literal

import pytest

from examples.memcached.reconciler import FINALIZER, set_up
from examples.memcached.types import Memcached, MemcachedSpec
from handloop.apis.conditions import Condition, find_condition
from handloop.apis.meta import FrozenMap, Kind, ObjectMeta
from handloop.client.config import load_config
from handloop.client.resource_client import Client, PatchType
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.planning.attempt import PlannedWrite
from handloop.controller.runtime.planning.planner import PlanningManager
from handloop.kinds.apps_v1 import Deployment, DeploymentSpec
from handloop.kinds.core_v1 import Container, Pod, PodSpec, PodTemplateSpec
from handloop.kinds.meta_v1 import LabelSelector
from support.checks.captured_logs import captured_logs
from support.rigs.example_cluster import OURS, ExampleCluster

KINDS: Final = (Memcached,)
WRITES: Final = ("create", "update", "patch", "delete")


def wanted(cluster: ExampleCluster, size: int) -> Memcached:
    """Create the Memcached `cache`."""
    return cluster.create(Memcached.named("cache", spec=MemcachedSpec(size=size)))


def nodes(cluster: ExampleCluster) -> list[str]:
    """The content of the status; empty without a Memcached."""
    cache = cluster.get(Memcached, "cache")
    return list(cache.status.nodes) if cache else []


def pods(cluster: ExampleCluster) -> list[str]:
    """The names of all Pods, sorted."""
    return [pod.metadata.name for pod in cluster.all(Pod)]


def available(cluster: ExampleCluster) -> Condition:
    """The condition, Unknown before it is set."""
    cache = cluster.get(Memcached, "cache")
    found = find_condition(cache.status.conditions, "Available") if cache else None
    return found or Condition(type="Available", status="Unknown", reason="NotSet")


def has_nodes(cluster: ExampleCluster, size: int) -> bool:
    """Whether there are so many Pods, all of them in the status."""
    return len(pods(cluster)) == size and nodes(cluster) == pods(cluster)


def is_gone(cluster: ExampleCluster) -> bool:
    """Whether nothing is left."""
    kinds: tuple[type[Kind], ...] = (Memcached, Deployment, Pod)
    return not any(cluster.all(kind) for kind in kinds)


def plan(cluster: ExampleCluster) -> tuple[PlannedWrite, ...]:
    """What an operator would write."""
    with closing(HTTPTransport(load_config(kubeconfig=str(cluster.kubeconfig)))) as transport:
        manager = PlanningManager(Client(transport), namespaces=(cluster.namespace,))
        set_up(manager)
        return tuple(manager.make(threading.Event()).writes())


def test_a_plan_is_what_the_next_reconcile_writes(cluster: ExampleCluster) -> None:
    """Field by field, of what is new, of what a user or somebody else has changed; it writes nothing."""
    wanted(cluster, 2)
    deployment, finalizer, status = plan(cluster)
    assert [each.verb for each in (deployment, finalizer, status)] == ["create", "patch", "patch"]
    made = {each.path: each.new for each in deployment.fields}
    assert made["spec.template.spec.containers[name=memcached].image"] == "memcached:1.6"
    assert [each[:3] for each in finalizer.fields] == [("metadata.finalizers", None, [FINALIZER])]
    assert cluster.get(Deployment, "cache") is None
    with cluster.operator(set_up):
        cluster.eventually(lambda: has_nodes(cluster, 2), "2 nodes")
    image = {"containers": [{"name": "memcached", "image": "somebody/else:1"}]}
    objects = cluster.client.resource(Deployment)
    fields = {"spec": {"replicas": 1, "template": {"spec": image}}}
    objects.patch(
        "cache", fields, namespace=cluster.namespace, patch_type=PatchType.STRATEGIC, field_manager="somebody"
    )
    (mended,) = (each for each in plan(cluster) if each.kind == "Deployment")
    assert mended.restarts_for == ("image",)
    assert [tuple(each) for each in mended.fields] == [
        ("spec.replicas", 1, 2, "somebody", ""),
        (
            "spec.template.spec.containers[name=memcached].image",
            "somebody/else:1",
            "memcached:1.6",
            "somebody",
            "image",
        ),
    ]


def test_a_life(cluster: ExampleCluster) -> None:
    """Created, scaled up, down and to none, repaired, left alone when it is as wanted, and gone."""
    with cluster.operator(set_up) as controller:
        wanted(cluster, 3)
        cluster.eventually(lambda: has_nodes(cluster, 3), "3 nodes")
        for size in (5, 0, 1):
            cluster.patch(Memcached, "cache", spec={"size": size})
            cluster.eventually(lambda size=size: has_nodes(cluster, size), f"{size} nodes")  # type: ignore[misc]
        if cluster.sandbox:  # elsewhere its image may be out of reach
            cluster.eventually(lambda: available(cluster).reason == "Ready", "ready")
            assert available(cluster).message == "1 of 1 nodes available"
        made = cluster.get(Deployment, "cache")
        assert made is not None
        cluster.delete(Deployment, "cache")
        cluster.eventually(lambda: is_another(cluster, made), "made again")
        cluster.eventually(lambda: has_nodes(cluster, 1), "1 node again")
        cluster.assert_quiet(controller, Memcached, Deployment, Pod)
        cache = cluster.get(Memcached, "cache")
        assert cache is not None
        assert available(cluster).observed_generation == cache.metadata.generation
        cluster.delete(Memcached, "cache")
        cluster.eventually(lambda: is_gone(cluster), "gone")
    assert controller.statistics().unexpected == 0


def is_another(cluster: ExampleCluster, before: Deployment) -> bool:
    """Whether there is a Deployment of that name, and not the one before."""
    there = cluster.get(Deployment, before.metadata.name)
    return there is not None and there.metadata.uid != before.metadata.uid


def test_a_deployment_that_is_being_deleted_is_not_taken_for_right(cluster: ExampleCluster) -> None:
    """A finalizer keeps it: it is left to go, the status reports it, and its successor is made at once."""
    with captured_logs() as lines, cluster.operator(set_up) as controller:
        wanted(cluster, 0)
        cluster.eventually(lambda: available(cluster).reason == "Ready", "ready")
        cluster.patch(Deployment, "cache", metadata={"finalizers": ["example.org/slow"]})
        cluster.delete(Deployment, "cache")
        cluster.eventually(lambda: available(cluster).reason == "Waiting", "told")
        assert available(cluster).status == "False"
        cluster.patch(Memcached, "cache", spec={"size": 1})
        generation = 2
        cluster.eventually(lambda: available(cluster).observed_generation == generation, "seen")
        going = cluster.get(Deployment, "cache")
        assert going is not None
        assert (going.spec.replicas, available(cluster).status) == (0, "False")
        cluster.patch(Deployment, "cache", metadata={"finalizers": None})
        cluster.eventually(lambda: is_another(cluster, going) and has_nodes(cluster, 1), "its successor")
    assert controller.statistics().failed == 0
    assert [line for line in lines if line["log_level"] in ("warning", "error")] == []


def test_its_pods_run_memcached(sandbox: ExampleCluster) -> None:
    """The command and port of the tutorial."""
    with sandbox.operator(set_up):
        wanted(sandbox, 1)
        sandbox.eventually(lambda: has_nodes(sandbox, 1), "1 node")
        (pod,) = sandbox.all(Pod)
    (container,) = pod.spec.containers
    assert container.command == ("memcached", "-m=64", "-o", "modern", "-v")
    assert [port.container_port for port in container.ports] == [11211]


def foreign(cluster: ExampleCluster) -> Deployment:
    """Create a Deployment `cache` without a controller."""
    labels = FrozenMap({"app": "theirs"})
    container = Container(name="theirs", image="busybox:1.37", command=("sleep", "infinity"))
    template = PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=(container,)))
    spec = DeploymentSpec(replicas=0, selector=LabelSelector(match_labels=labels), template=template)
    return cluster.create(Deployment.named("cache", spec=spec))


def test_a_deployment_with_another_owner_is_left_alone(cluster: ExampleCluster) -> None:
    """The Memcached reports it, goes to work once the name is free, and leaves the Deployment at its end."""
    theirs = foreign(cluster)
    with cluster.operator(set_up) as controller:
        wanted(cluster, 2)
        cluster.eventually(lambda: available(cluster).reason == "NameTaken", "told")
        cluster.delete(Memcached, "cache")
        cluster.eventually(lambda: not cluster.all(Memcached), "gone")
        assert cluster.get(Deployment, "cache") is not None
        wanted(cluster, 2)
        cluster.eventually(lambda: available(cluster).reason == "NameTaken", "told again")
        cluster.delete(Deployment, "cache")
        cluster.eventually(lambda: is_another(cluster, theirs) and has_nodes(cluster, 2), "at work")
        cluster.delete(Memcached, "cache")
        cluster.eventually(lambda: is_gone(cluster), "gone")
    assert controller.statistics().unexpected == 0


def test_a_deployment_that_no_cache_has_seen_is_left_alone(cluster: ExampleCluster) -> None:
    """The watch of Deployments brings nothing: the server refuses the taken name, before it changes."""
    with cluster.operator(set_up) as controller:
        cluster.create(Memcached.named("first", spec=MemcachedSpec(size=0)))
        cluster.eventually(lambda: cluster.get(Deployment, "first"), "caches filled")
        cluster.watches.hold("deployments")
        theirs = foreign(cluster)
        wanted(cluster, 2)
        cluster.eventually(lambda: available(cluster).reason == "NameTaken", "told")
        assert (
            available(cluster).message == "Deployment cache already exists and has no controller: left alone"
        )
        there = cluster.get(Deployment, "cache")
        assert there is not None
        assert (there.spec, there.metadata.owner_references) == (theirs.spec, ())
    assert controller.statistics().unexpected == 0


@pytest.mark.parametrize("cluster", [pytest.param("real", marks=pytest.mark.real)], indirect=True)
def test_a_watch_that_is_held_back_and_broken_changes_nothing(cluster: ExampleCluster) -> None:
    """The operator sees neither its Deployment nor its Pods change: the same Deployment, all nodes, quiet."""
    with cluster.operator(set_up) as controller:
        wanted(cluster, 1)
        cluster.eventually(lambda: has_nodes(cluster, 1), "1 node")
        cluster.watches.hold("pods", "deployments")
        cluster.patch(Memcached, "cache", spec={"size": 2})
        cluster.eventually(lambda: len(pods(cluster)) == 2, "2 Pods")
        made = cluster.get(Deployment, "cache")
        assert made is not None
        cluster.patch(Memcached, "cache", spec={"size": 4})
        cluster.watches.drop()
        cluster.watches.hold()
        cluster.eventually(lambda: has_nodes(cluster, 4), "4 nodes")
        assert not is_another(cluster, made)
        cluster.assert_quiet(controller, Memcached, Deployment, Pod)
        cluster.delete(Memcached, "cache")
        cluster.eventually(lambda: is_gone(cluster), "gone")


@pytest.mark.parametrize(
    "how", ["cut", *(pytest.param(how, marks=pytest.mark.nightly) for how in ("end", "reset"))]
)
def test_a_lagging_and_dropped_watch_changes_nothing(
    sandbox: ExampleCluster, how: Literal["end", "cut", "reset"]
) -> None:
    """The same end state, one change of the Deployment for each size, and then quiet."""
    with sandbox.operator(set_up) as controller:
        sandbox.faults.delay_watches(0.5, **OURS)
        wanted(sandbox, 2)
        sandbox.eventually(lambda: has_nodes(sandbox, 2), "2 nodes")
        sandbox.faults.drop_watches(how, only_open=True, **OURS)
        sandbox.patch(Memcached, "cache", spec={"size": 4})
        sandbox.eventually(lambda: has_nodes(sandbox, 4), "4 nodes")
        sandbox.faults.drop_watches(how, only_open=True, **OURS)
        sandbox.patch(Memcached, "cache", spec={"size": 1})
        sandbox.eventually(lambda: has_nodes(sandbox, 1), "1 node")
        sandbox.eventually(lambda: available(sandbox).reason == "Ready", "ready")
        sandbox.faults.clear()
        sandbox.assert_quiet(controller, Memcached, Deployment, Pod)
        made = sandbox.get(Deployment, "cache")
        assert made is not None
        assert made.metadata.generation == 3
        sandbox.delete(Memcached, "cache")
        sandbox.eventually(lambda: is_gone(sandbox), "gone")


@pytest.mark.parametrize("done", [0, 1, 2])
def test_one_that_died_at_a_creation_leaves_nothing_that_stays(sandbox: ExampleCluster, done: int) -> None:
    """The operator dies after none, one or two writes, the Memcached is deleted, another ends the work."""
    dying = sandbox.faults.error(500, verbs=WRITES, skip=done, **OURS)
    with sandbox.operator(set_up):
        wanted(sandbox, 2)
        sandbox.eventually(lambda: dying.hits, "dead")
    sandbox.delete(Memcached, "cache")
    sandbox.faults.clear()
    assert (sandbox.get(Memcached, "cache") is not None) == (done > 0)
    with sandbox.operator(set_up):
        sandbox.eventually(lambda: is_gone(sandbox), "gone")


@pytest.mark.parametrize("done", [0, 1])
def test_one_that_died_at_a_deletion_leaves_nothing_that_stays(sandbox: ExampleCluster, done: int) -> None:
    """The operator dies before or after it deletes the Deployment; the finalizer holds until the next one."""
    with sandbox.operator(set_up):
        wanted(sandbox, 2)
        sandbox.eventually(lambda: available(sandbox).reason == "Ready", "ready")
        dying = sandbox.faults.error(500, verbs=WRITES, skip=done, **OURS)
        sandbox.delete(Memcached, "cache")
        sandbox.eventually(lambda: dying.hits, "dead")
    held = sandbox.get(Memcached, "cache")
    assert held is not None
    assert held.metadata.finalizers == (FINALIZER,)
    assert bool(sandbox.all(Pod)) == (done == 0)
    sandbox.faults.clear()
    with sandbox.operator(set_up):
        sandbox.eventually(lambda: is_gone(sandbox), "gone")
