from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.requests import definitions
from handloop_sandbox.requests.definitions import CLEANUP_FINALIZER, condition_status, with_condition
from support.builders.widgets import CRDS, definition, widget_definition
from support.servers.local_server import LocalServer


def test_conditions_change_their_time_with_their_status() -> None:
    """A condition is added or replaced in place; its time moves when its status does."""
    crd: dict[str, Any] = {"status": {}}
    crd = with_condition(crd, ("A", "False", "R", "m"), "t1")
    crd = with_condition(crd, ("B", "True", "R", "m"), "t1")
    crd = with_condition(crd, ("A", "False", "Other", "n"), "t2")
    first, second = crd["status"]["conditions"]
    assert (first["type"], first["reason"], first["lastTransitionTime"]) == ("A", "Other", "t1")
    crd = with_condition(crd, ("A", "True", "R", "m"), "t3")
    assert crd["status"]["conditions"][0]["lastTransitionTime"] == "t3"
    assert crd["status"]["conditions"][1] == second
    assert condition_status(crd, "A") == "True"
    assert condition_status(crd, "Z") == ""
    assert condition_status({"status": {"conditions": None}}, "A") == ""


def test_deleting_a_definition_marks_it_first(server: LocalServer) -> None:
    """DELETE puts the cleanup finalizer and a condition on a definition that still has resources."""
    server.request("POST", CRDS, definition("example.com", "things", "Thing", scope="Cluster"))
    path = "/apis/example.com/v1/things"
    obj = {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t", "finalizers": ["x/y"]}}
    server.request("POST", path, obj)
    marked = server.request("DELETE", f"{CRDS}/things.example.com").body
    assert marked["metadata"]["finalizers"] == [CLEANUP_FINALIZER]
    assert "deletionGracePeriodSeconds" not in marked["metadata"]
    assert condition_status(marked, "Terminating") == "True"
    again = server.request("DELETE", f"{CRDS}/things.example.com")
    assert again.status == 200
    all_of_them = server.request("DELETE", CRDS)
    assert (all_of_them.status, len(all_of_them.body["items"])) == (200, 1)
    refused = server.request("POST", path, {**obj, "metadata": {"name": "u"}})
    assert refused.message.endswith("create not allowed while custom resource definition is terminating")


_ANYTHING = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}


def _established(crd: dict[str, Any]) -> dict[str, Any]:
    status = {
        "acceptedNames": crd["spec"]["names"],
        "conditions": [{"type": "Established", "status": "True"}],
    }
    return {**crd, "status": status}


def _version(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "served": True, "storage": name == "v1", "schema": _ANYTHING, **more}


def test_what_a_definition_serves() -> None:
    """Names, scope, schema, subresources, columns and selectable fields come from the definition."""
    (resource,) = definitions.served_by([_established(widget_definition("example.com"))])
    assert (resource.kind, resource.list_kind, resource.singular) == ("Widget", "WidgetList", "widget")
    assert resource.short_names == ("wdg",)
    assert [sub.name for sub in resource.subresources] == ["status", "scale"]
    assert resource.scale_paths is not None
    assert resource.scale_paths.spec_replicas == ".spec.replicas"
    assert resource.selectable_fields == ("spec.color",)
    assert [column["name"] for column in resource.printer_columns] == ["Size", "Phase"]
    assert (resource.custom, resource.unconditional_update) == (True, False)


def test_a_definition_that_is_not_established_serves_nothing() -> None:
    """Without the condition there is no resource; an unserved version is not one either."""
    assert list(definitions.served_by([widget_definition("example.com")])) == []
    versions = [_version("v1"), _version("v0", served=False)]
    found = definitions.served_by([_established(definition("example.com", "ts", "T", versions=versions))])
    assert [resource.version for resource in found] == ["v1"]


def test_versions_are_in_order_of_preference() -> None:
    """Stable before beta before alpha, newer before older, anything else last."""
    names = ["v1alpha1", "foo", "v1", "v2beta1", "v10", "v1beta2", "v2"]
    versions = [_version(name) for name in names]
    found = definitions.served_by([_established(definition("example.com", "ts", "T", versions=versions))])
    assert [resource.version for resource in found] == [
        "v10",
        "v2",
        "v1",
        "v2beta1",
        "v1beta2",
        "v1alpha1",
        "foo",
    ]


@pytest.mark.parametrize(
    ("versions", "warning"),
    [
        ([_version("v1beta1", deprecated=True), _version("v1")], "g/v1beta1 T is deprecated; use g/v1 T"),
        ([_version("v1", deprecated=True), _version("v1alpha1")], "g/v1 T is deprecated"),
        ([_version("v1", deprecated=True, deprecationWarning="old")], "old"),
    ],
)
def test_deprecations(versions: list[dict[str, Any]], warning: str) -> None:
    """A deprecated version has a warning, which names a better one if there is one."""
    found = definitions.served_by([_established(definition("g", "ts", "T", versions=versions))])
    assert warning in [resource.deprecation_warning for resource in found]


def test_names_that_are_free_again(server: LocalServer) -> None:
    """When the definition that held a name is removed, the one that waited for it is established."""
    server.request("POST", CRDS, definition("example.com", "things", "Thing"))
    server.request("POST", CRDS, definition("example.com", "thingz", "Thing"))
    assert server.request("GET", "/apis/example.com/v1/namespaces/default/thingz").status == 404
    waiting = server.request("GET", f"{CRDS}/thingz.example.com").body["status"]
    assert [entry["reason"] for entry in waiting["conditions"]] == ["ListKindConflict", "NotAccepted"]
    server.request("DELETE", f"{CRDS}/things.example.com")
    assert server.request("GET", "/apis/example.com/v1/namespaces/default/thingz").status == 200
    assert server.request("GET", "/apis/example.com/v1/namespaces/default/things").status == 404


def test_a_definition_goes_with_its_objects(server: LocalServer) -> None:
    """Objects are deleted first; one with a finalizer holds the definition until it is let go."""
    server.request("POST", CRDS, definition("example.com", "things", "Thing", scope="Cluster"))
    path = "/apis/example.com/v1/things"
    for name, finalizers in (("a", []), ("b", ["x/y"])):
        metadata = {"name": name, "finalizers": finalizers}
        server.request("POST", path, {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata})
    server.request("DELETE", f"{CRDS}/things.example.com")
    assert [item["metadata"]["name"] for item in server.request("GET", path).body["items"]] == ["b"]
    crd = server.request("GET", f"{CRDS}/things.example.com").body
    assert crd["status"]["conditions"][-1]["reason"] == "InstanceDeletionInProgress"
    body = {"metadata": {"finalizers": None}}
    server.request("PATCH", f"{path}/b", body, content_type="application/merge-patch+json")
    assert server.request("GET", f"{CRDS}/things.example.com").status == 404
    assert server.request("GET", path).status == 404


def test_which_collections_begin_again(server: LocalServer) -> None:
    """A resource whose definition changed in any way is redefined, an unchanged one is not."""
    server.request("POST", CRDS, definition("example.com", "things", "Thing"))
    server.request("POST", CRDS, definition("example.com", "others", "Other"))
    store = server.engine._store
    before = definitions.catalog(store, revision=1)
    assert definitions.redefined(before, definitions.catalog(store, revision=2)) == []
    change = {"spec": {"names": {"shortNames": ["th"]}}}
    server.request("PATCH", f"{CRDS}/things.example.com", change, content_type="application/merge-patch+json")
    after = definitions.catalog(store, revision=3)
    assert [str(kind) for kind in definitions.redefined(before, after)] == ["things.example.com"]
