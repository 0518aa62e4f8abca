from __future__ import annotations

from handloop_sandbox.cluster.nodes import (
    NODES,
    NodeRegistrar,
    address_of,
    is_schedulable,
    new_node,
    node_name,
)
from support.servers.local_server import LocalServer
from support.servers.simulated_cluster import START, SimulatedCluster


def test_nodes_are_registered_once() -> None:
    """The nodes are there from the start; one that someone deletes stays away."""
    cluster = SimulatedCluster([NodeRegistrar(3)])
    cluster.run_for(1)
    assert [node["metadata"]["name"] for node in cluster.store.list(NODES)] == [
        "sandbox-0",
        "sandbox-1",
        "sandbox-2",
    ]
    cluster.delete(NODES, "", "sandbox-1")
    cluster.run_for(60)
    assert cluster.get(NODES, "", "sandbox-1") is None


def test_present_nodes_are_kept() -> None:
    """A node that is already there is not touched."""
    cluster = SimulatedCluster([])
    node = {**new_node(0, START), "spec": {"unschedulable": True}}
    cluster.create(NODES, node)
    cluster.restart([NodeRegistrar(1)])
    cluster.run_for(1)
    (kept,) = cluster.store.list(NODES)
    assert not is_schedulable(kept)


def test_node_is_ready_and_has_an_address() -> None:
    """A node is shown as Ready, and pods take its address as their host's."""
    node = new_node(1, START)
    conditions = {entry["type"]: entry["status"] for entry in node["status"]["conditions"]}
    assert conditions == {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    assert (node["metadata"]["name"], address_of(node)) == (node_name(1), "192.0.2.11")
    assert address_of({"metadata": {}, "spec": {}}) == ""
    assert is_schedulable(node)


def test_nodes_have_no_taint() -> None:
    """The one that admission puts on every new node goes, for they are ready."""
    server = LocalServer(controllers=[NodeRegistrar(1)])
    (node,) = server.request("GET", "/api/v1/nodes").body["items"]
    assert "taints" not in node["spec"]
