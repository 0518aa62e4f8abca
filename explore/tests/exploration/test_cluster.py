"""A cluster in virtual time."""

from __future__ import annotations

import pytest

from handloop import Kind, Manager, controller_for
from handloop.controller.foo.types import Foo
from handloop.kinds.core_v1 import Event
from handloop_explore.cluster import VirtualCluster
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.virtual_threads import VirtualThreads
from handloop_explore.workload import Invariant, Workload, applied
from support.builders.workloads import DEPLOYMENT

DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"


def test_its_own_controllers_work_as_time_passes(cluster: VirtualCluster, threads: VirtualThreads) -> None:
    """A Deployment gets pods after some seconds of virtual time, and not before."""
    labels = {"app": "a"}
    pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}}
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": pod}
    cluster.send("POST", DEPLOYMENTS, {"metadata": {"name": "a"}, "spec": spec})
    version = cluster.version
    assert "availableReplicas" not in cluster.send("GET", f"{DEPLOYMENTS}/a")["status"]
    threads.run_for(30)
    assert cluster.send("GET", f"{DEPLOYMENTS}/a")["status"]["availableReplicas"] == 2
    assert cluster.version > version


@pytest.mark.parametrize(("watched", "there"), [(Foo, False), (Event, True)])
def test_the_clusters_own_events_are_left_out_unless_somebody_reads_them(
    watched: type[Kind], there: bool
) -> None:
    """Nearly half of what its controllers write."""

    def set_up(manager: Manager) -> None:
        controller_for(manager, "reader").for_(watched).complete(lambda _object, _context: None)

    def tells(cluster: VirtualCluster) -> bool:
        reasons = [one["reason"] for one in cluster.send("GET", "/api/v1/events")["items"]]
        return ("ScalingReplicaSet" in reasons) is there

    played = play(Workload(set_up, [applied(DEPLOYMENT)]), Plan(), [Invariant("Events", tells)])
    assert played.broken == []
