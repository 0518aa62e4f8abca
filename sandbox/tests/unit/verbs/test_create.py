from __future__ import annotations

from support.servers.local_server import LocalServer, widget, with_widgets


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
