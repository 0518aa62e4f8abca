"""What leads to the pods of a Service: Endpoints beside its slices."""

from __future__ import annotations

from support.servers.api_server import Answer, APIServer, Object

_PODS = 2


def _content(endpoints: Object) -> list[Object]:
    """The subsets, in an order of their own: a cluster sorts by hash."""
    found = [dict(subset) for subset in endpoints.get("subsets", [])]
    for subset in found:
        subset["ports"] = sorted(subset.get("ports", []), key=str)
        subset["addresses"] = len(subset.get("addresses", []))
    return found


def _is_full(answer: Answer) -> bool:
    return [subset["addresses"] for subset in _content(answer.body)] == [_PODS]


def test_endpoints_follow_their_service(server: APIServer, namespace: str) -> None:
    """By its name: labels and ports of the Service, addresses of the pods; deleted, they come back."""
    core, apps = f"/api/v1/namespaces/{namespace}", f"/apis/apps/v1/namespaces/{namespace}"
    labels, path = {"app": "web"}, f"{core}/endpoints/web"
    ports = [
        {"name": "one", "port": 80, "targetPort": "http", "appProtocol": "kubernetes.io/ws"},
        {"name": "two", "port": 81},
        {"name": "unknown", "port": 82, "targetPort": "nowhere"},
    ]
    service = {
        "metadata": {"name": "web", "labels": {"a": "b"}},
        "spec": {"selector": labels, "ports": ports},
    }
    assert server.create(f"{core}/services", service).status == 201
    empty = server.eventually(path, lambda answer: answer.status == 200).body
    assert "subsets" not in empty
    assert empty["metadata"]["labels"] == {
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
        "a": "b",
    }
    container = {"name": "main", "image": "nginx", "ports": [{"name": "http", "containerPort": 8080}]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"replicas": _PODS, "selector": {"matchLabels": labels}, "template": template}
    assert server.create(f"{apps}/deployments", {"metadata": {"name": "web"}, "spec": spec}).status == 201
    full = server.eventually(path, _is_full).body
    wanted = [
        {"name": "one", "port": 8080, "protocol": "TCP", "appProtocol": "kubernetes.io/ws"},
        {"name": "two", "port": 81, "protocol": "TCP"},
    ]
    assert _content(full) == [{"addresses": _PODS, "ports": sorted(wanted, key=str)}]
    (subset,) = full["subsets"]
    for address in subset["addresses"]:
        pod = server.get(f"{core}/pods/{address['targetRef']['name']}").body
        place = {"kind": "Pod", "namespace": namespace, "name": pod["metadata"]["name"]}
        assert address == {
            "ip": pod["status"]["podIP"],
            "nodeName": pod["spec"]["nodeName"],
            "targetRef": {**place, "uid": pod["metadata"]["uid"]},
        }
    server.delete(path)
    again = server.eventually(path, lambda answer: answer.status == 200 and _is_full(answer)).body
    assert again["metadata"]["uid"] != full["metadata"]["uid"]
    server.delete(f"{core}/services/web")
    server.eventually(path, lambda answer: answer.status == 404)


def test_own_endpoints_go_with_the_service_of_their_name(server: APIServer, namespace: str) -> None:
    """Nothing changes them before, as the Service selects nothing."""
    core = f"/api/v1/namespaces/{namespace}"
    subsets = [{"addresses": [{"ip": "10.9.9.9"}], "ports": [{"port": 80, "protocol": "TCP"}]}]
    service = {"metadata": {"name": "own"}, "spec": {"ports": [{"port": 80}]}}
    assert server.create(f"{core}/services", service).status == 201
    assert server.create(f"{core}/endpoints", {"metadata": {"name": "own"}, "subsets": subsets}).status == 201
    assert server.get(f"{core}/endpoints/own").body["subsets"] == subsets
    server.delete(f"{core}/services/own")
    server.eventually(f"{core}/endpoints/own", lambda answer: answer.status == 404)
