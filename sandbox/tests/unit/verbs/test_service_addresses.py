from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.verbs import service_addresses
from handloop_sandbox.verbs.service_addresses import has_health_port, kept
from support.servers.local_server import LocalServer

_SERVICES = "/api/v1/namespaces/default/services"


def _create(server: LocalServer, name: str, **spec: Any) -> dict[str, Any]:
    body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    answer = server.request("POST", _SERVICES, body)
    assert answer.status == 201, answer
    created: dict[str, Any] = answer.body["spec"]
    return created


def test_addresses_are_unique(server: LocalServer) -> None:
    """Every service gets an address of its own from one range."""
    addresses = [_create(server, f"s{number}")["clusterIP"] for number in range(30)]
    assert len(set(addresses)) == 30
    assert all(address.startswith("10.96.") for address in addresses)


def test_low_node_ports_are_left_to_those_who_ask_for_one(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """30000 to 30085 are given out only when there are no others."""
    monkeypatch.setattr(service_addresses, "_NODE_PORTS", (30_084, 30_087))
    ports = [_create(server, f"s{number}", type="NodePort")["ports"][0]["nodePort"] for number in range(4)]
    assert (set(ports[:2]), set(ports[2:])) == ({30_086, 30_087}, {30_084, 30_085})


_ADDRESS = {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}
_CLUSTER = {"type": "ClusterIP", **_ADDRESS, "ipFamilyPolicy": "SingleStack", "ports": [{"port": 80}]}
_NODES = {**_CLUSTER, "type": "NodePort", "ports": [{"name": "a", "port": 80, "nodePort": 30080}]}


def test_a_change_keeps_the_address() -> None:
    """What a change does not mention stays; a changed address is the only one; an external name has none."""
    assert kept({"type": "ClusterIP", "ports": [{"port": 81}]}, _CLUSTER) == {
        **_CLUSTER,
        "ports": [{"port": 81}],
    }
    other = kept({**_CLUSTER, "clusterIP": "10.0.0.2"}, _CLUSTER)
    assert other["clusterIPs"] == ["10.0.0.2"]
    assert kept({"type": "ExternalName"}, _CLUSTER) == {"type": "ExternalName"}
    assert "clusterIP" not in kept({"type": "ClusterIP"}, {"type": "ExternalName"})


def test_a_health_port_is_kept() -> None:
    """As long as the load balancer needs one."""
    before = {**_NODES, "type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": 5}
    assert has_health_port(before)
    after = {name: value for name, value in before.items() if name != "healthCheckNodePort"}
    assert kept(after, before)["healthCheckNodePort"] == 5
