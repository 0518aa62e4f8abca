"""What two good runs agree on."""

from __future__ import annotations

from typing import Any

from handloop.apis.apps_v1 import Deployment
from handloop.controller.foo.types import Foo
from handloop.testing.explore.cluster import VirtualCluster
from handloop.testing.explore.end_state import MADE_BY_CLUSTER, end_state, plain_name, renamed
from handloop.testing.explore.rivals import RIVAL
from support.builders.workloads import FOO


def test_it_holds_what_counts_and_nothing_of_one_run_alone(cluster: VirtualCluster) -> None:
    """Neither versions, uids, times nor a rival's label; the status only of kinds that are reconciled."""
    path = cluster.path_of(FOO)
    cluster.send(
        "POST", path.rpartition("/")[0], {**FOO, "metadata": {"name": "a", "labels": {RIVAL: "edit"}}}
    )
    cluster.send("PATCH", f"{path}/status", {"status": {"availableReplicas": 1}})
    plain: dict[str, Any] = {"labels": {}, "owners": []}
    with_status = {"spec": FOO["spec"], "status": {"availableReplicas": 1}, "metadata": plain}
    assert end_state(cluster, (Foo, Deployment), {Foo}) == {"Foo default/a": with_status}
    assert "status" not in end_state(cluster, (Foo,), ())["Foo default/a"]


def test_names_by_chance_are_matched_by_what_they_are() -> None:
    """One for one, wherever they stand; a fixed name is itself."""
    good: dict[str, Any] = {
        "Job default/a-1700000021": {"x": 1},
        "Foo default/a": {"status": {"job": "a-1700000021"}},
    }
    found: dict[str, Any] = {
        "Job default/a-1700000084": {"x": 1},
        "Foo default/a": {"status": {"job": "a-1700000084"}},
    }
    assert renamed(found, good) == good
    twice = {**found, "Job default/a-1700000090": {"x": 1}}
    assert renamed(twice, good).keys() == {*good, "Job default/a-1700000090"}
    assert renamed({"Job default/b": {}}, {"Job default/c": {}}) == {"Job default/b": {}}
    masked = [
        plain_name(f"Pod n/{name}") for name in ("a-x7k2p", "a-kfmzx", "web-1", "web-server", "a-nginx")
    ]
    assert masked == ["Pod n/a-*", "Pod n/a-*", "Pod n/web-1", "Pod n/web-server", "Pod n/a-nginx"]


def test_names_by_chance_are_in_no_order() -> None:
    """A list of them is sorted once they are called as in a good run."""
    good: dict[str, dict[str, Any]] = {
        "Pod n/a-kfmzx": {"at": 1},
        "Pod n/a-x7k2p": {"at": 2},
        "S n/s": {"pods": ["a-kfmzx", "a-x7k2p"]},
    }
    found: dict[str, dict[str, Any]] = {
        "Pod n/a-b2222": {"at": 2},
        "Pod n/a-c3333": {"at": 1},
        "S n/s": {"pods": ["a-b2222", "a-c3333"]},
    }
    assert renamed(found, good) == good


def test_what_the_cluster_makes_is_marked(cluster: VirtualCluster) -> None:
    """It is there for its name, and not compared."""
    made = cluster.send("POST", cluster.path_of(FOO, named=False), FOO)
    state = end_state(cluster, (Foo,), (), made_by_cluster={made["metadata"]["uid"]})
    assert MADE_BY_CLUSTER in state["Foo default/a"]["metadata"]
