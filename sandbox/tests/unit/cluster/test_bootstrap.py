from __future__ import annotations

from support.servers.local_server import LocalServer


def test_a_new_cluster_is_not_empty(server: LocalServer) -> None:
    """Namespaces, the API's service and the administrator's role are there from the start."""
    namespaces = server.request("GET", "/api/v1/namespaces").body["items"]
    assert [item["metadata"]["name"] for item in namespaces] == [
        "default",
        "kube-node-lease",
        "kube-public",
        "kube-system",
    ]
    service = server.request("GET", "/api/v1/namespaces/default/services/kubernetes").body
    assert service["spec"]["clusterIP"] == "10.96.0.1"
    role = server.request("GET", "/apis/rbac.authorization.k8s.io/v1/clusterroles/cluster-admin").body
    assert role["rules"][0]["verbs"] == ["*"]
