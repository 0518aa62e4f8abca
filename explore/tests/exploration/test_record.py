"""Who changes what at the server."""

from __future__ import annotations

from handloop.controller.foo.types import Foo
from handloop_explore.cluster import VirtualCluster
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.record import CLIENTS
from support.builders.workloads import FOO, LIFE, foo_workload


def test_clients_have_names_and_objects_their_story() -> None:
    """Of the cluster's own changes only those of objects that a client has written."""
    played = play(foo_workload(*LIFE), Plan.parse("4:rival-edit"))
    assert {act.key for act in played.acts} == {"Foo default/a", "Deployment default/a"}
    clients = [(act.who, act.key.partition(" ")[0]) for act in played.acts if act.who in CLIENTS]
    assert clients[:4] == [
        ("user", "Foo"),
        ("operator", "Deployment"),
        ("operator", "Foo"),
        ("operator", "Foo"),
    ]
    assert ("rival", "Deployment") in clients
    assert [act.who for act in played.acts if act.ends] == ["user", "kube-controller-manager"]
    assert "managedFields" not in played.acts[0].obj["metadata"]


def test_a_write_knows_how_stale_its_cache_was() -> None:
    """A rival was faster; a write that is never sent has met nothing."""
    write = play(foo_workload(), Plan.parse("4:rival-edit")).writes[3]
    assert write.arrival is not None
    assert (write.status, write.arrival.version) == (409, 0)
    assert 0 < write.arrival.seen < write.arrival.before
    first, again = play(foo_workload(), Plan.parse("1:never-sent")).writes[:2]
    assert first.arrival is None
    assert again.arrival is not None
    assert (again.arrival.seen, again.process) == (0, 1)


def test_objects_before_the_record_have_a_past(cluster: VirtualCluster) -> None:
    """Nothing of the set-up is told; a change tells both states."""
    path = cluster.path_of(FOO)
    cluster.send("POST", path.rpartition("/")[0], FOO)
    cluster.send("PATCH", path, {"spec": {"replicas": 7}})
    cluster.send("DELETE", path)
    acts = cluster.record.acts()
    assert [(act.old is None, act.new is None) for act in acts] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert acts[1].changes("spec")
    assert not acts[1].changes("status")
    assert {act.key for act in acts} == {f"{Foo.resource.kind} default/a"}
