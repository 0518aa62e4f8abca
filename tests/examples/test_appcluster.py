"""examples/appcluster: exactly the wanted number of Pods, with any trouble meanwhile."""

from __future__ import annotations

from typing import Final, Literal

import pytest

from examples.appcluster.reconciler import last_to_go_first, set_up
from examples.appcluster.types import AppCluster, AppClusterSpec
from handloop.apis.grammar.times import format_time
from handloop.apis.meta import FrozenMap, ObjectMeta, controller_of
from handloop.kinds.core_v1 import Container, Pod, PodCondition, PodSpec, PodStatus
from support.rigs.example_cluster import OURS, ExampleCluster

KINDS: Final = (AppCluster,)


def wanted(cluster: ExampleCluster, size: int) -> AppCluster:
    """Create the AppCluster `web`."""
    return cluster.create(AppCluster.named("web", spec=AppClusterSpec(size=size)))


def pods(cluster: ExampleCluster) -> list[str]:
    """The names of the Pods that web controls and that are not being deleted."""
    return [
        pod.metadata.name
        for pod in cluster.all(Pod)
        if controller_of(pod) is not None and pod.metadata.deletion_timestamp is None
    ]


def ready(cluster: ExampleCluster) -> int:
    """The content of the status."""
    web = cluster.get(AppCluster, "web")
    return web.status.ready if web else -1


def test_a_life(cluster: ExampleCluster) -> None:
    """Created, scaled up and down, repaired, left alone when it is as wanted, and gone with its owner."""
    with cluster.operator(set_up) as controller:
        wanted(cluster, 3)
        cluster.eventually(lambda: len(pods(cluster)) == 3, "3 Pods")
        cluster.patch(AppCluster, "web", spec={"size": 5})
        cluster.eventually(lambda: len(pods(cluster)) == 5, "5 Pods")
        gone = pods(cluster)[0]
        cluster.delete(Pod, gone, grace_period_seconds=0)
        cluster.eventually(lambda: gone not in pods(cluster) and len(pods(cluster)) == 5, "repaired")
        cluster.patch(AppCluster, "web", spec={"size": 1})
        cluster.eventually(lambda: len(cluster.all(Pod)) == 1, "1 Pod")
        if cluster.sandbox:  # elsewhere its image may be out of reach
            cluster.eventually(lambda: ready(cluster) == 1, "1 ready")
        cluster.assert_quiet(controller, AppCluster, Pod)
        cluster.delete(AppCluster, "web")
        cluster.eventually(lambda: not cluster.all(Pod) and not cluster.all(AppCluster), "gone")
    assert controller.statistics().unexpected == 0


def test_a_foreign_pod_is_left_alone(cluster: ExampleCluster) -> None:
    """It has the label, even before the AppCluster: it is neither counted nor deleted."""
    container = Container(name="theirs", image="busybox:1.37", command=("sleep", "infinity"))
    metadata = ObjectMeta(name="theirs", namespace=cluster.namespace, labels=FrozenMap({"app": "web"}))
    theirs = cluster.create(Pod(metadata=metadata, spec=PodSpec(containers=(container,))))
    with cluster.operator(set_up) as controller:
        wanted(cluster, 2)
        cluster.eventually(lambda: len(pods(cluster)) == 2, "2 Pods")
        cluster.patch(AppCluster, "web", spec={"size": 0})
        cluster.eventually(lambda: len(cluster.all(Pod)) == 1, "only theirs")
        cluster.assert_quiet(controller, AppCluster)
    left = cluster.get(Pod, "theirs")
    assert left is not None
    assert left.metadata.uid == theirs.metadata.uid


@pytest.mark.parametrize("cluster", [pytest.param("real", marks=pytest.mark.real)], indirect=True)
def test_a_watch_that_is_held_back_and_broken_makes_no_pod_too_many(cluster: ExampleCluster) -> None:
    """The operator does not see its Pods come, nor one go: those that it made stay, and another is made."""
    with cluster.operator(set_up) as controller:
        wanted(cluster, 1)
        cluster.eventually(lambda: len(pods(cluster)) == 1, "1 Pod")
        cluster.assert_quiet(controller, Pod)  # by then the operator has seen it
        cluster.watches.hold("pods")
        cluster.patch(AppCluster, "web", spec={"size": 3})
        cluster.eventually(lambda: len(pods(cluster)) == 3, "3 Pods")
        made = set(pods(cluster))
        cluster.patch(AppCluster, "web", spec={"size": 5})
        cluster.watches.drop()
        cluster.watches.hold()
        cluster.eventually(lambda: len(pods(cluster)) == 5, "5 Pods")
        assert made < set(pods(cluster))
        cluster.watches.hold("pods")
        cluster.delete(Pod, min(made), grace_period_seconds=0)
        cluster.watches.drop()
        cluster.watches.hold()
        cluster.eventually(lambda: len(pods(cluster)) == 5, "5 Pods again")
        assert made - {min(made)} < set(pods(cluster))
        cluster.assert_quiet(controller, AppCluster, Pod)


@pytest.mark.parametrize(
    "how", ["cut", *(pytest.param(how, marks=pytest.mark.nightly) for how in ("end", "reset"))]
)
def test_a_lagging_and_dropped_watch_makes_no_pod_too_many(
    sandbox: ExampleCluster, how: Literal["end", "cut", "reset"]
) -> None:
    """The cache is behind for half a second, and its watch breaks twice: each Pod is made once."""
    with sandbox.operator(set_up) as controller:
        sandbox.faults.delay_watches(0.5, **OURS)
        wanted(sandbox, 6)
        sandbox.eventually(lambda: len(pods(sandbox)) == 6, "6 Pods")
        sandbox.faults.drop_watches(how, only_open=True, **OURS)
        sandbox.patch(AppCluster, "web", spec={"size": 9})
        sandbox.eventually(lambda: ready(sandbox) == 9, "9 Pods, ready")
        sandbox.faults.drop_watches(how, only_open=True, **OURS)
        sandbox.patch(AppCluster, "web", spec={"size": 4})
        sandbox.eventually(lambda: len(sandbox.all(Pod)) == 4, "4 Pods")
        sandbox.faults.clear()
        sandbox.assert_quiet(controller, AppCluster, Pod)
        assert sandbox.asked("create", "pods") == 9
        assert sandbox.asked("delete", "pods") == 5


def test_the_newest_of_those_that_are_not_ready_goes_first() -> None:
    """The order in which Pods stay: ready, old, and last by name."""
    ready = PodStatus(conditions=(PodCondition(type="Ready", status="True"),))
    waiting = PodStatus(conditions=(PodCondition(type="Ready", status="False"),))
    found = [
        new_pod("newest", second=3, status=waiting),
        new_pod("new", second=2, status=ready),
        new_pod("older", second=1, status=ready),
        new_pod("oldest", second=0, status=waiting),
    ]
    kept = [pod.metadata.name for pod in sorted(found, key=last_to_go_first)]
    assert kept == ["older", "new", "oldest", "newest"]


def new_pod(name: str, *, second: int, status: PodStatus) -> Pod:
    """A Pod that was made at a second."""
    metadata = ObjectMeta(name=name, creation_timestamp=format_time(second))
    return Pod(metadata=metadata, spec=PodSpec(containers=()), status=status)
