"""What a Service keeps, gets and loses when its type changes."""

from __future__ import annotations

from typing import Any

import pytest

from support.api_server import APIServer, Object


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
