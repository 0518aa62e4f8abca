from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.verbs import service_addresses
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
