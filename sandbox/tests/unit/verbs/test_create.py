from __future__ import annotations

from support.servers.local_server import LocalServer, widget, with_widgets


def test_a_new_object_is_complete(server: LocalServer) -> None:
    """The answer to a create is the object as stored, with defaults, identity and a manager."""
    path = with_widgets(server)
    created = server.request("POST", path, widget("a"))
    assert created.status == 201
    assert created.body["spec"] == {"size": 3, "color": "red", "replicas": 1, "nested": {"mode": "auto"}}
    assert created.body["metadata"]["managedFields"][0]["manager"] == "test"
    assert server.request("GET", f"{path}/a").body == created.body


def test_runs_are_a_function_of_the_seed() -> None:
    """Two servers with one seed answer the same, uids and generated names included."""
    answers = []
    for _ in range(2):
        server = LocalServer(seed=5)
        path = with_widgets(server)
        obj = widget("", metadata={"generateName": "g-"})
        answers.append(server.request("POST", path, obj).body)
    assert answers[0] == answers[1]
    assert answers[0]["metadata"]["name"].startswith("g-")


def test_refusals_change_nothing(server: LocalServer) -> None:
    """A create that is refused leaves version and state as they were."""
    path = with_widgets(server)
    before = server.request("GET", path).body["metadata"]["resourceVersion"]
    for body, code in (
        (widget("A"), 422),
        (widget("a", size=0), 422),
        (widget("a", metadata={"namespace": "other"}), 400),
        ({**widget("a"), "apiVersion": "example.com/v2"}, 400),
        ({**widget("a"), "kind": "Gizmo"}, 422),
        (widget("a", metadata={"resourceVersion": "5"}), 500),
    ):
        assert server.request("POST", path, body).status == code
    assert server.request("GET", path).body["metadata"]["resourceVersion"] == before


def test_cluster_scoped_objects_lose_their_namespace(server: LocalServer) -> None:
    """A namespace in the metadata of a cluster-scoped object is dropped."""
    body = {"metadata": {"name": "pc", "namespace": "x"}, "value": 5}
    created = server.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses", body)
    assert created.status == 201
    assert "namespace" not in created.body["metadata"]


def test_a_namespace_must_be_there_and_staying(server: LocalServer) -> None:
    """Creating in a missing namespace is 404, in one that is going away 403."""
    path = with_widgets(server)
    assert server.request("POST", path.replace("/n/", "/m/"), widget("a")).status == 404
    server.request("DELETE", "/api/v1/namespaces/n")
    refused = server.request("POST", path, widget("a"))
    assert refused.status == 403
    assert refused.body["details"]["causes"][0]["reason"] == "NamespaceTerminating"


def test_definitions_with_rules_that_are_not_evaluated_get_a_warning() -> None:
    """A definition whose rule uses something unknown here is accepted with a warning."""
    rules = [{"rule": "self.matches('a') || url(self).getHost() == 'x'"}]
    schema = {"type": "object", "properties": {"s": {"type": "string", "x-kubernetes-validations": rules}}}
    crd = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "things", "kind": "Thing"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
            ],
        },
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    created = LocalServer().request("POST", path, crd)
    assert created.status == 201
    warnings = [value for name, value in created.headers if name == "Warning"]
    assert any("the sandbox does not evaluate the validation rule" in warning for warning in warnings)
