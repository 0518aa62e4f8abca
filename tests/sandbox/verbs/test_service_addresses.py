from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.verbs import service_addresses
from handloop.sandbox.verbs.service_addresses import (
    has_health_port,
    is_external,
    kept,
    without_what_the_type_lost,
)
from support.local_server import LocalServer

_MERGE = "application/merge-patch+json"
_SERVICES = "/api/v1/namespaces/default/services"


def _create(server: LocalServer, name: str, **spec: Any) -> dict[str, Any]:
    body = {"metadata": {"name": name}, "spec": {"ports": [{"port": 80}], **spec}}
    answer = server.request("POST", _SERVICES, body)
    assert answer.status == 201, answer
    created: dict[str, Any] = answer.body["spec"]
    return created


def test_addresses_are_unique() -> None:
    """Every service gets an address of its own from one range."""
    server = LocalServer()
    addresses = [_create(server, f"s{number}")["clusterIP"] for number in range(30)]
    assert len(set(addresses)) == 30
    assert all(address.startswith("10.96.") for address in addresses)


def test_what_has_no_address() -> None:
    """A headless service says None, an external name has nothing at all."""
    server = LocalServer()
    assert _create(server, "headless", clusterIP="None")["clusterIPs"] == ["None"]
    external = _create(server, "out", type="ExternalName", externalName="example.com")
    assert "clusterIP" not in external


def test_node_ports() -> None:
    """Node ports are given out once, and kept when they were asked for."""
    server = LocalServer()
    first = _create(server, "a", type="NodePort", ports=[{"port": 80, "nodePort": 30080}])
    assert first["ports"][0]["nodePort"] == 30080
    second = _create(server, "b", type="LoadBalancer")["ports"][0]["nodePort"]
    assert 30000 <= second <= 32767
    assert second != 30080


def test_low_node_ports_are_left_to_those_who_ask_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """30000 to 30085 are given out only when there are no others."""
    monkeypatch.setattr(service_addresses, "_NODE_PORTS", (30_084, 30_087))
    server = LocalServer()
    ports = [_create(server, f"s{number}", type="NodePort")["ports"][0]["nodePort"] for number in range(4)]
    assert (set(ports[:2]), set(ports[2:])) == ({30_086, 30_087}, {30_084, 30_085})


def test_an_address_is_kept() -> None:
    """A change that does not mention the address keeps it; becoming external drops nothing by itself."""
    server = LocalServer()
    address = _create(server, "s")["clusterIP"]
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 81}]}}
    changed = server.request("PUT", f"{_SERVICES}/s", body)
    assert (changed.status, changed.body["spec"]["clusterIP"]) == (200, address)


def test_a_service_that_comes_to_need_a_node_port_gets_one() -> None:
    """It stays while the type has node ports, goes with them, and nothing else is given out anew."""
    server = LocalServer()
    before = _create(server, "s")

    def changed(**spec: Any) -> dict[str, Any]:
        answer = server.request("PATCH", f"{_SERVICES}/s", {"spec": spec}, content_type=_MERGE)
        assert answer.status == 200, answer
        after: dict[str, Any] = answer.body["spec"]
        assert after["clusterIP"] == before["clusterIP"]
        return after

    port = changed(type="NodePort")["ports"][0]["nodePort"]
    assert 30000 <= port <= 32767
    assert changed(type="LoadBalancer")["ports"][0]["nodePort"] == port
    assert "nodePort" not in changed(type="ClusterIP")["ports"][0]


def test_a_service_that_comes_to_need_an_address_gets_one() -> None:
    """An external name has none; a NodePort has one, and a port."""
    server = LocalServer()
    _create(server, "out", type="ExternalName", externalName="example.com")
    patch = {"spec": {"type": "NodePort", "externalName": None}}
    answer = server.request("PATCH", f"{_SERVICES}/out", patch, content_type=_MERGE)
    assert answer.status == 200, answer
    assert answer.body["spec"]["clusterIP"].startswith("10.96.")
    assert answer.body["spec"]["ports"][0]["nodePort"] >= 30000


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
