"""Objects are loaded as a test in any language would: over HTTP, out of YAML."""

from __future__ import annotations

import pytest

from support.servers.local_server import LocalServer

_LOAD = "/sandbox/load"
_DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %(plural)s.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {plural: %(plural)s, kind: Pump, listKind: PumpList, singular: %(singular)s}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
_PUMP = """
apiVersion: example.org/v1
kind: Pump
metadata: {name: a}
spec: {litres: 5}
status: {state: running}
"""
_FIRST, _SECOND = (
    _DEFINITION % {"plural": plural, "singular": plural[:-1]} for plural in ("pumps", "engines")
)


def _map(name: str) -> str:
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, namespace: default}}\n"


def test_a_kind_may_follow_its_definition(server: LocalServer) -> None:
    """In one text; and what kubectl would drop is there: the status."""
    loaded = server.request("POST", _LOAD, f"{_FIRST}---\n---{_PUMP}".encode())
    assert loaded.status == 200
    definition, pump = loaded.body["items"]
    assert definition["status"]["acceptedNames"]["plural"] == "pumps"
    assert (pump["spec"], pump["status"]) == ({"litres": 5}, {"state": "running"})
    assert server.request("GET", "/apis/example.org/v1/namespaces/default/pumps/a").body == pump
    managers = {(each["manager"], each.get("subresource")) for each in pump["metadata"]["managedFields"]}
    assert managers == {("sandbox-fixture", None), ("sandbox-fixture", "status")}


def test_twice_changes_nothing_and_takes_fields_from_others(server: LocalServer) -> None:
    """A fixture is what it says, whoever wrote before."""
    first = server.request("POST", _LOAD, _map("a").encode()).body["items"][0]
    again = server.request("POST", _LOAD, _map("a").encode()).body["items"][0]
    assert first["metadata"]["resourceVersion"] == again["metadata"]["resourceVersion"]
    path = "/api/v1/namespaces/default/configmaps/a"
    merge = "application/merge-patch+json"
    server.request("PATCH", path, {"data": {"colour": "blue"}}, content_type=merge)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"colour": "red"}}
    assert server.request("POST", _LOAD, body).body["items"][0]["data"] == {"colour": "red"}


def test_a_list_stands_for_its_items(server: LocalServer) -> None:
    """As kubectl get -o yaml writes it."""
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in "ab"]
    loaded = server.request("POST", _LOAD, {"apiVersion": "v1", "kind": "List", "items": items})
    assert [each["metadata"]["name"] for each in loaded.body["items"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("just text", "no object: 'just text'"),
        ("- a\n- b", "no object: ['a', 'b']"),
        ("a: [", "no YAML: "),
        ("\x00", "no YAML: "),
        ("kind: ConfigMap", "needs apiVersion: {'kind': 'ConfigMap'}"),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}", "needs metadata.name"),
        ("{apiVersion: v1, kind: List, items: {}}", "needs apiVersion"),
        (f"a: {'[' * 2000}", "no YAML: "),
    ],
)
def test_what_is_no_object_is_refused_before_anything_is_applied(
    server: LocalServer, text: str, says: str
) -> None:
    """With 400 and the reason."""
    refused = server.request("POST", _LOAD, f"{_map('good')}---\n{text}".encode())
    assert refused.status == 400
    assert says in refused.message
    assert server.request("GET", "/api/v1/namespaces/default/configmaps/good").status == 404


def test_a_refusal_is_the_servers(server: LocalServer) -> None:
    """What came before it stays; unknown kinds, too, are told."""
    wrong = _map("good") + "---\n" + _map("A_")
    refused = server.request("POST", _LOAD, wrong.encode())
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert server.request("GET", "/api/v1/namespaces/default/configmaps/good").status == 200
    unknown = server.request("POST", _LOAD, _map("a").replace("ConfigMap", "Nonsense").encode())
    assert (unknown.status, unknown.message) == (404, "the sandbox serves no kind Nonsense in v1")
    assert server.request("POST", _LOAD, _PUMP.encode()).status == 404


def test_a_definition_whose_names_are_taken_is_told(server: LocalServer) -> None:
    """It is stored, and would never be served."""
    server.request("POST", _LOAD, _FIRST.encode())
    refused = server.request("POST", _LOAD, _SECOND.encode())
    assert refused.status == 409
    assert 'is not served: "PumpList" is already in use' in refused.message
