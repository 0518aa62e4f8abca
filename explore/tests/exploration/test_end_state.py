"""What two good runs agree on."""

from __future__ import annotations

from typing import Any

from handloop.apis.apps_v1 import Deployment
from handloop.controller.foo.types import Foo
from handloop.kinds.core_v1 import ConfigMap
from handloop_explore.cluster import VirtualCluster
from handloop_explore.end_state import MADE_BY_CLUSTER, end_state, plain_name, renamed
from handloop_explore.ignored import Ignored
from handloop_explore.rivals import RIVAL
from support.builders.workloads import FOO

MAPS = "/api/v1/namespaces/default/configmaps"


def named(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}}


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


def test_a_uid_is_that_of_its_object(cluster: VirtualCluster) -> None:
    """In a label, too, as a Job has it; that of an object which is gone is another."""
    uids = [cluster.send("POST", MAPS, named(name))["metadata"]["uid"] for name in ("a", "b")]
    cluster.send(
        "PATCH", f"{MAPS}/b", {"metadata": {"labels": {"of": uids[0]}}, "data": {"x": f"-{uids[0]}-"}}
    )
    found = end_state(cluster, (ConfigMap,), ())["ConfigMap default/b"]
    assert found["metadata"]["labels"] == {"of": "the uid of ConfigMap default/a"}
    assert found["data"] == {"x": "-the uid of ConfigMap default/a-"}
    cluster.send("DELETE", f"{MAPS}/a")
    later = end_state(cluster, (ConfigMap,), (), gone={uids[0]: "ConfigMap default/a"})["ConfigMap default/b"]
    assert later["metadata"]["labels"] == {"of": "the uid of the deleted ConfigMap default/a"}


def test_what_is_ignored_is_left_out(cluster: VirtualCluster) -> None:
    """Fields, or all objects of a kind."""
    cluster.send("POST", MAPS, {**named("a"), "data": {"x": "1", "y": "2"}})

    def state(line: str) -> dict[str, Any]:
        found = end_state(cluster, (ConfigMap,), (), ignore=[Ignored.parse(line)])
        return found.get("ConfigMap default/a", {})

    assert state("configmaps:data.x")["data"] == {"y": "2"}
    assert state("secrets:data.x")["data"] == {"x": "1", "y": "2"}
    assert state("configmaps") == {}


def test_names_that_have_changed_places_are_matched() -> None:
    """All at once: one after the other would end as one."""
    good: dict[str, Any] = {"Pod m/a-kfmzx": {"of": "a-kfmzx"}, "Pod n/a-x7k2p": {"of": "a-x7k2p"}}
    found: dict[str, Any] = {"Pod m/a-x7k2p": {"of": "a-x7k2p"}, "Pod n/a-kfmzx": {"of": "a-kfmzx"}}
    assert renamed(found, good) == good
