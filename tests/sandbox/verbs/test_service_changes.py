from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.verbs.service_changes import (
    has_health_port,
    is_external,
    kept,
    without_what_the_type_lost,
)

_ADDRESS = {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}
_CLUSTER = {"type": "ClusterIP", **_ADDRESS, "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}]}
_NODES = {**_CLUSTER, "type": "NodePort", "ports": [{"name": "a", "port": 80, "nodePort": 30080}]}


def test_an_address_is_kept() -> None:
    """What a change does not mention stays; a changed address is the only one; an external name has none."""
    assert kept({"type": "ClusterIP", "ports": [{"port": 81}]}, _CLUSTER) == {
        **_CLUSTER,
        "ports": [{"port": 81}],
    }
    other = kept({**_CLUSTER, "clusterIP": "10.0.0.2"}, _CLUSTER)
    assert other["clusterIPs"] == ["10.0.0.2"]
    assert kept({"type": "ExternalName"}, _CLUSTER) == {"type": "ExternalName"}
    assert "clusterIP" not in kept({"type": "ClusterIP"}, {"type": "ExternalName"})


def test_node_ports_go_with_their_names() -> None:
    """A port keeps the number of its name, unless another has it now."""
    renumbered = kept({**_NODES, "ports": [{"name": "a", "port": 81}]}, _NODES)
    assert renumbered["ports"] == [{"name": "a", "port": 81, "nodePort": 30080}]
    moved = [{"name": "b", "port": 80, "nodePort": 30080}, {"name": "a", "port": 81}]
    assert kept({**_NODES, "ports": moved}, _NODES)["ports"] == moved


def test_a_health_port_is_kept() -> None:
    """As long as the load balancer needs one."""
    before = {**_NODES, "type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 5}
    assert has_health_port(before)
    after = {name: value for name, value in before.items() if name != "healthCheckNodePort"}
    assert kept(after, before)["healthCheckNodePort"] == 5


@pytest.mark.parametrize(
    ("before", "after", "lost"),
    [
        (_CLUSTER, {"type": "ExternalName"}, {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"}),
        (_CLUSTER, {"type": "ExternalName", "clusterIP": "10.0.0.2"}, {"ipFamilies", "ipFamilyPolicy"}),
        ({**_NODES, "externalTrafficPolicy": "Cluster"}, {"type": "ClusterIP"}, {"externalTrafficPolicy"}),
        (
            {**_NODES, "type": "LoadBalancer", "allocateLoadBalancerNodePorts": True},
            {"type": "NodePort"},
            {"allocateLoadBalancerNodePorts"},
        ),
    ],
)
def test_what_a_type_does_not_have_goes(
    before: dict[str, Any], after: dict[str, Any], lost: set[str]
) -> None:
    """What only the former type had is dropped when it was not changed."""
    service = {"metadata": {}, "spec": {**before, **after}}
    spec = without_what_the_type_lost(service, {"metadata": {}, "spec": before})["spec"]
    assert set(service["spec"]) - set(spec) == lost


def test_node_ports_go_with_the_type() -> None:
    """All of them, if none was changed."""
    service = {"metadata": {}, "spec": {**_NODES, "type": "ClusterIP"}}
    spec = without_what_the_type_lost(service, {"metadata": {}, "spec": _NODES})["spec"]
    assert spec["ports"] == [{"name": "a", "port": 80}]
    assert is_external({"type": "ClusterIP", "externalIPs": ["1.2.3.4"]})
