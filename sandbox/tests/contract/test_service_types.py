"""What a Service keeps, gets and loses when its type changes."""

from __future__ import annotations

from typing import Any

import pytest

from support.servers.api_server import JSON_PATCH, Answer, APIServer, Object


@pytest.fixture
def service(server: APIServer, namespace: str) -> str:
    """The path of a ClusterIP Service."""
    collection = f"/api/v1/namespaces/{namespace}/services"
    body = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}], "selector": {"app": "a"}}}
    created = server.create(collection, body)
    assert created.status == 201, created
    return f"{collection}/s"


def changed(server: APIServer, path: str, **spec: Any) -> Object:
    """The spec after a merge patch."""
    answer = server.patch(path, {"spec": spec})
    assert answer.status == 200, answer
    found: Object = answer.body["spec"]
    return found


def test_a_node_port_comes_and_goes_with_the_type(server: APIServer, service: str) -> None:
    """Given out when the type needs one, kept while it does, gone when it does not; the address stays."""
    address = server.get(service).body["spec"]["clusterIP"]
    specs = [
        changed(server, service, type=name) for name in ("NodePort", "LoadBalancer", "NodePort", "ClusterIP")
    ]
    assert {spec["clusterIP"] for spec in specs} == {address}
    ports = [spec["ports"][0].get("nodePort") for spec in specs]
    assert 30000 <= ports[0] <= 32767
    assert ports[1:] == [ports[0], ports[0], None]


def test_a_new_port_gets_a_node_port_of_its_own(server: APIServer, service: str) -> None:
    """The one that was there keeps its number."""
    (first,) = changed(server, service, type="NodePort")["ports"]
    ports = [{**first, "name": "http"}, {"name": "more", "port": 81}]
    kept, new = changed(server, service, ports=ports)["ports"]
    assert kept["nodePort"] == first["nodePort"] != new["nodePort"]
    assert 30000 <= new["nodePort"] <= 32767


_DNS = [
    {"name": "tcp", "port": 53},
    {"name": "udp", "port": 53, "protocol": "UDP"},
    {"name": "web", "port": 80},
]


def _node_ports(answer: Answer) -> list[int | None]:
    assert answer.status in (200, 201), answer
    return [port.get("nodePort") for port in answer.body["spec"]["ports"]]


def _created(server: APIServer, namespace: str, name: str, **spec: Any) -> tuple[str, list[int | None]]:
    """The path of a new service and its node ports."""
    collection = f"/api/v1/namespaces/{namespace}/services"
    created = server.create(collection, {"metadata": {"name": name}, "spec": {"ports": _DNS, **spec}})
    return f"{collection}/{name}", _node_ports(created)


def test_a_port_of_two_protocols_has_one_node_port(server: APIServer, namespace: str) -> None:
    """When the service is new; where it gets its node ports later, each protocol gets its own."""
    _, (tcp, udp, web) = _created(server, namespace, "new", type="NodePort")
    assert tcp == udp != web
    path, none = _created(server, namespace, "later")
    assert none == [None, None, None]
    later = _node_ports(server.patch(path, {"spec": {"type": "NodePort"}}))
    assert len(set(later)) == 3


def test_node_ports_go_with_the_type_when_only_some_are_left_out(server: APIServer, namespace: str) -> None:
    """A patch that clears one of them and changes the type leaves none."""
    path, _ = _created(server, namespace, "s", type="NodePort")
    cleared = [
        {"op": "remove", "path": "/spec/ports/0/nodePort"},
        {"op": "replace", "path": "/spec/type", "value": "ClusterIP"},
    ]
    assert _node_ports(server.patch(path, cleared, JSON_PATCH)) == [None, None, None]


def test_node_ports_left_out_come_back_by_name(server: APIServer, namespace: str) -> None:
    """Those that were left out are as they were, shared ones too, unless a port still has that number."""
    path, before = _created(server, namespace, "s", type="NodePort")
    cleared = [{"op": "remove", "path": f"/spec/ports/{index}/nodePort"} for index in range(3)]
    assert _node_ports(server.patch(path, cleared, JSON_PATCH)) == before
    tcp, udp, web = _node_ports(server.patch(path, cleared[1:2], JSON_PATCH))
    assert [tcp, web] == [before[0], before[2]]
    assert udp not in before
