from __future__ import annotations

import json
from urllib.parse import quote

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APPLY, JSON_PATCH, MERGE, STRATEGIC, APIServer


def test_merge_patch_removes_and_replaces(widgets: Widgets) -> None:
    """A null removes a member (a default comes back), a list is replaced whole."""
    widgets.create("a", color="green", tags=["a", "b"], metadata={"labels": {"x": "1", "y": "2"}})
    body = {"spec": {"color": None, "tags": ["c"]}, "metadata": {"labels": {"x": None, "z": "3"}}}
    patched = widgets.server.patch(f"{widgets.path}/a", body).body
    assert patched["spec"]["color"] == "red"
    assert patched["spec"]["tags"] == ["c"]
    assert patched["metadata"]["labels"] == {"y": "2", "z": "3"}


def test_a_patch_can_carry_a_version(widgets: Widgets) -> None:
    """A version inside a patch makes it conditional."""
    created = widgets.create("a")
    path = f"{widgets.path}/a"
    current = {"metadata": {"resourceVersion": created.rv}, "spec": {"size": 4}}
    assert widgets.server.patch(path, current).status == 200
    assert widgets.server.patch(path, current | {"spec": {"size": 5}}).status == 409


def test_json_patch_operations(widgets: Widgets) -> None:
    """Test, replace, add to the end of a list and copy work as in RFC 6902."""
    widgets.create("a", tags=["a"])
    operations = [
        {"op": "test", "path": "/spec/size", "value": 3},
        {"op": "replace", "path": "/spec/size", "value": 10},
        {"op": "add", "path": "/spec/tags/-", "value": "b"},
        {"op": "copy", "from": "/spec/size", "path": "/spec/replicas"},
    ]
    spec = widgets.server.patch(f"{widgets.path}/a", operations, JSON_PATCH).body["spec"]
    assert (spec["size"], spec["tags"], spec["replicas"]) == (10, ["a", "b"], 10)


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/spec/size", "value": 1},
        {"op": "remove", "path": "/spec/nothing"},
        {"op": "replace", "path": "/spec/free/x", "value": 1},
        {"op": "frob", "path": "/spec/size", "value": 1},
        {"op": "add", "path": "/spec/tags/ 0", "value": "b"},
        {"op": "add", "path": "/spec/tags/0_0", "value": "b"},
        {"op": "add", "path": "/spec/tags/\N{FULLWIDTH DIGIT ZERO}", "value": "b"},
    ],
)
def test_json_patches_that_do_not_apply(widgets: Widgets, operation: dict[str, object]) -> None:
    """A failed test, a missing place, an unknown operation and an index that is no number are 422."""
    widgets.create("a", tags=["a"])
    refused = widgets.server.patch(f"{widgets.path}/a", [operation], JSON_PATCH)
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert refused.message == "the server rejected our request due to an error in our request"


def test_malformed_patches(widgets: Widgets) -> None:
    """A patch that is no JSON, no object or no list is 400 with Go's words."""
    widgets.create("a")
    path = f"{widgets.path}/a"
    assert widgets.server.patch(path, b"{bad").message == (
        "error decoding patch: invalid character 'b' looking for beginning of object key string"
    )
    assert widgets.server.patch(path, b"[1]").message == (
        "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"
    )
    assert widgets.server.patch(path, {}, JSON_PATCH).message == (
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    )
    for name in ("op", "path", "from"):
        operation = {"op": "copy", "path": "/spec/size", "from": "/spec/replicas", name: 5}
        assert widgets.server.patch(path, [operation], JSON_PATCH).message == (
            "error decoding patch: json: cannot unmarshal number into Go struct field "
            f"jsonPatchOp.{name} of type string"
        )


@pytest.mark.parametrize(
    ("body", "content_type", "problem"),
    [
        (b'{"data":{"x":"1","x":"2"}}', MERGE, 'duplicate field "data.x"'),
        (b'{"data":{"x":"1","x":"2"}}', STRATEGIC, 'duplicate field "data.x"'),
        (
            b'[{"op":"add","path":"/data","value":{"x":"1"},"value":{"x":"2"}}]',
            JSON_PATCH,
            'json patch duplicate field "[0].value"',
        ),
        (
            b'[{"op":"add","path":"/data","value":{"x":"2"},"by":"me"}]',
            JSON_PATCH,
            'json patch unknown field "[0].by"',
        ),
    ],
)
def test_patches_are_decoded_strictly(
    server: APIServer, namespace: str, body: bytes, content_type: str, problem: str
) -> None:
    """Repeated and unknown members of the patch itself are warned about, or refused, as in objects."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    server.create(path, {"metadata": {"name": "a"}})
    refused = server.patch(f"{path}/a?fieldValidation=Strict", body, content_type)
    assert refused.status == 422
    assert refused.message.endswith(f": strict decoding error: {problem}")
    patched = server.patch(f"{path}/a", body, content_type)
    assert (patched.status, patched.body["data"], patched.warnings) == (200, {"x": "2"}, [problem])
    assert server.patch(f"{path}/a?fieldValidation=Ignore", body, content_type).warnings == []


def test_a_strategic_patch_that_is_no_utf_8(server: APIServer, namespace: str) -> None:
    """A byte that is no UTF-8 is replaced, also where the patch is quoted."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    server.create(path, {"metadata": {"name": "a"}})
    refused = server.patch(f"{path}/a?fieldValidation=Strict", b'{"unknown":"\xff"}', STRATEGIC)
    text = '"map[unknown:\N{REPLACEMENT CHARACTER}]": strict decoding error: unknown field "unknown"'
    assert (refused.status, refused.causes) == (
        422,
        [("FieldValueInvalid", "patch", f"Invalid value: {text}")],
    )


@pytest.mark.parametrize("body", [b"[]", b'""', b"0", b"false"])
def test_strategic_patches_are_objects(server: APIServer, namespace: str, body: bytes) -> None:
    """An empty value that is no object is refused like any other."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    server.create(path, {"metadata": {"name": "a"}})
    refused = server.patch(f"{path}/a", body, STRATEGIC)
    assert refused.status == 400
    assert refused.message.endswith(" into Go value of type map[string]interface {}")


def test_apply_checks_the_version_of_a_new_object(widgets: Widgets) -> None:
    """A resource version that is no number is refused, even if the object does not exist."""
    wanted = widgets.new("a", metadata={"resourceVersion": "abc"})
    refused = widgets.server.patch(f"{widgets.path}/a?fieldManager=one", wanted, APPLY)
    assert (refused.status, refused.message) == (500, 'strconv.ParseUint: parsing "abc": invalid syntax')


def test_identity_cannot_be_patched(widgets: Widgets) -> None:
    """Name and namespace are 400, the uid 422, the kind 422."""
    widgets.create("a")
    path = f"{widgets.path}/a"
    name = widgets.server.patch(path, {"metadata": {"name": "b"}})
    assert name.message == "the name of the object (b) does not match the name on the URL (a)"
    assert widgets.server.patch(path, {"metadata": {"namespace": "b"}}).status == 400
    uid = widgets.server.patch(path, {"metadata": {"uid": "x"}})
    assert uid.causes == [("FieldValueInvalid", "metadata.uid", 'Invalid value: "x": field is immutable')] * 2
    kind = widgets.server.patch(path, {"kind": "Gizmo"})
    assert kind.causes == [("FieldValueInvalid", "kind", 'Invalid value: "Gizmo": must be Widget')]


def test_strategic_patches_are_for_built_in_kinds(server: APIServer, widgets: Widgets) -> None:
    """Containers merge by name in a Deployment; a custom resource answers 415 and names the allowed types."""
    widgets.create("a")
    refused = server.patch(f"{widgets.path}/a", {"spec": {"size": 4}}, STRATEGIC)
    assert refused.status == 415
    assert refused.message == (
        "the body of the request was in an unknown format - accepted media types include: "
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"
    )
    path = f"/apis/apps/v1/namespaces/{widgets.namespace}/deployments"
    template = {
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "main", "image": "example.com/a:1"}]},
    }
    spec = {"replicas": 0, "paused": True, "selector": {"matchLabels": {"app": "x"}}, "template": template}
    server.create(path, {"metadata": {"name": "d"}, "spec": spec})
    change = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "example.com/a:2"}]}}}}
    server.patch(f"{path}/d", change, STRATEGIC)
    side = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "example.com/s:1"}]}}}}
    patched = server.patch(f"{path}/d", side, STRATEGIC).body
    images = {c["name"]: c["image"] for c in patched["spec"]["template"]["spec"]["containers"]}
    assert images == {"main": "example.com/a:2", "side": "example.com/s:1"}


@pytest.mark.parametrize(
    ("spec", "status"),
    [
        ({"$retainKeys": 5, "nodeName": "x"}, 400),
        ({"$retainKeys": None, "nodeName": "x"}, 400),
        ({"$setElementOrder/containers": [{"name": {"a": 1}}]}, 200),
        ({"$setElementOrder/containers": [{"name": ["a"]}]}, 200),
    ],
)
def test_directives_of_a_wrong_type(
    server: APIServer, namespace: str, spec: dict[str, object], status: int
) -> None:
    """Keys to retain must be a list; keys in an element order can be anything."""
    path = f"/api/v1/namespaces/{namespace}/podtemplates"
    template = {"spec": {"containers": [{"name": "main", "image": "example.com/a:1"}]}}
    server.create(path, {"metadata": {"name": "t"}, "template": template})
    assert server.patch(f"{path}/t", {"template": {"spec": spec}}, STRATEGIC).status == status


def test_apply_creates_owns_and_conflicts(widgets: Widgets) -> None:
    """Apply creates; another manager's apply of the same field conflicts by field unless it is forced."""
    path = f"{widgets.path}/a"
    wanted = widgets.new("a", size=5)
    created = widgets.server.patch(f"{path}?fieldManager=one", wanted, APPLY)
    assert created.status == 201
    assert [entry["operation"] for entry in created.body["metadata"]["managedFields"]] == ["Apply"]
    other = widgets.new("a", size=6)
    conflict = widgets.server.patch(f"{path}?fieldManager=two", other, APPLY)
    assert conflict.status == 409
    assert conflict.message == 'Apply failed with 1 conflict: conflict with "one": .spec.size'
    assert conflict.causes == [("FieldManagerConflict", ".spec.size", 'conflict with "one"')]
    forced = widgets.server.patch(f"{path}?fieldManager=two&force=true", other, APPLY)
    assert (forced.status, forced.body["spec"]["size"]) == (200, 6)


def test_apply_removes_what_it_no_longer_wants(widgets: Widgets) -> None:
    """A field that a manager applied and leaves out next time goes."""
    path = f"{widgets.path}/a?fieldManager=one"
    widgets.server.patch(path, widgets.new("a", port=80, tags=["x"]), APPLY)
    applied = widgets.server.patch(path, widgets.new("a", port=80), APPLY)
    assert applied.body["spec"]["port"] == 80
    assert "tags" not in applied.body["spec"]


@pytest.mark.parametrize(("field", "kind"), [("tags", "array"), ("free", "object"), ("fixed", "string")])
def test_apply_does_not_drop_nulls(widgets: Widgets, field: str, kind: str) -> None:
    """An applied null that is no value of its field is refused, not left out, and nothing is changed."""
    path = f"{widgets.path}/a?fieldManager=one"
    created = widgets.server.patch(path, widgets.new("a"), APPLY)
    refused = widgets.server.patch(path, widgets.new("a", **{field: None}), APPLY)
    text = f'Invalid value: "null": spec.{field} in body must be of type {kind}: "null"'
    assert (refused.status, refused.causes[0]) == (422, ("FieldValueTypeInvalid", f"spec.{field}", text))
    assert widgets.server.get(f"{widgets.path}/a").body == created.body


@pytest.mark.parametrize("emptied", [{}, None])
def test_apply_does_not_empty_the_status(widgets: Widgets, emptied: object) -> None:
    """A manager that applied the whole status and now applies none of its fields leaves null: refused."""
    widgets.create("a")
    path = f"{widgets.path}/a/status?fieldManager=one"
    body = {"apiVersion": widgets.api_version, "kind": "Widget", "metadata": {"name": "a"}}
    applied = widgets.server.patch(path, {**body, "status": {"phase": "A"}}, APPLY)
    refused = widgets.server.patch(path, {**body, "status": emptied}, APPLY)
    text = 'Invalid value: "null":  in body must be of type object: "null"'
    assert (refused.status, refused.causes[0]) == (422, ("FieldValueTypeInvalid", "status", text))
    assert widgets.server.get(f"{widgets.path}/a").body == applied.body


def test_apply_of_null_where_there_is_a_default(widgets: Widgets) -> None:
    """The default takes its place."""
    applied = widgets.server.patch(f"{widgets.path}/a?fieldManager=one", widgets.new("a", color=None), APPLY)
    assert (applied.status, applied.body["spec"]["color"]) == (201, "red")


def test_managers_outside_of_ascii(widgets: Widgets) -> None:
    """A manager's name is shown as it is in a conflict; its length and positions are those of its bytes."""
    path = f"{widgets.path}/a?fieldManager="
    assert widgets.server.patch(path + quote('é"'), widgets.new("a", size=5), APPLY).status == 201
    conflict = widgets.server.patch(f"{path}two", widgets.new("a", size=6), APPLY)
    assert conflict.causes == [("FieldManagerConflict", ".spec.size", 'conflict with "é\\""')]
    assert widgets.server.patch(path + quote("é" * 64), widgets.new("a"), APPLY).status == 409
    long = widgets.server.patch(path + quote("é" * 65), widgets.new("a"), APPLY)
    assert long.causes == [("FieldValueTooLong", "fieldManager", "Too long: may not be more than 128 bytes")]
    odd = widgets.server.patch(path + quote("é\x01"), widgets.new("a"), APPLY)
    assert odd.causes[0][2] == r'Invalid value: "é\x01": invalid character U+0001 (at position 2)'


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        (5, True),
        ([], True),
        ({"f:spec": 5}, True),
        ({"fx": {}}, True),
        ({"k:5": {}}, True),
        ({"v:{": {}}, True),
        ({"i:x": {}}, True),
        ({"x:y": {}}, False),
        (None, False),
    ],
)
def test_sets_of_fields_that_cannot_be_read(widgets: Widgets, fields: object, left: bool) -> None:
    """Malformed managedFields are ignored; elements of an unknown kind and empty sets are left out."""
    before = widgets.create("a").body["metadata"]["managedFields"]
    entry = _entry(widgets, manager="x", fieldsV1=fields)
    path = f"{widgets.path}/a"
    patched = widgets.server.patch(path, {"metadata": {"managedFields": [entry]}})
    assert (patched.status, patched.body["metadata"].get("managedFields")) == (200, before if left else None)
    assert widgets.server.patch(path, {"spec": {"size": 4}}).status == 200


def _entry(widgets: Widgets, **more: object) -> dict[str, object]:
    known = {"operation": "Update", "apiVersion": widgets.api_version, "fieldsType": "FieldsV1"}
    return {**known, **more}


def test_managers_in_managed_fields(widgets: Widgets) -> None:
    """The names of managers and subresources in managedFields are limited."""
    widgets.create("a")
    for field, most in (("manager", 128), ("subresource", 256)):
        entry = _entry(widgets, fieldsV1={"f:spec": {"f:size": {}}}, **{field: "x" * (most + 1)})
        refused = widgets.server.patch(f"{widgets.path}/a", {"metadata": {"managedFields": [entry]}})
        where = f"metadata.managedFields[0].{field}"
        text = f"Too long: may not be more than {most} bytes"
        assert ("FieldValueTooLong", where, text) in refused.causes


@pytest.mark.parametrize("more", [{}, {"metadata": None}, {"metadata": {}}])
def test_apply_without_metadata(server: APIServer, namespace: str, more: dict[str, object]) -> None:
    """An applied object can lack metadata; kubectl's annotation then shows it as it was sent."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    note = "kubectl.kubernetes.io/last-applied-configuration"
    server.create(path, {"metadata": {"name": "a", "annotations": {note: "{}"}}})
    wanted = {"apiVersion": "v1", "kind": "ConfigMap", **more}
    applied = server.patch(f"{path}/a?fieldManager=kubectl", wanted, APPLY)
    text = json.dumps(wanted, separators=(",", ":")) + "\n"
    assert (applied.status, applied.body["metadata"]["annotations"][note]) == (200, text)
    unnamed = server.patch(f"{path}/b?fieldManager=kubectl", wanted, APPLY)
    assert (unnamed.status, unnamed.message[:32]) == (400, "the name of the object (b based ")


def test_patch_options(widgets: Widgets) -> None:
    """Apply needs a manager; force is for apply only."""
    widgets.create("a")
    path = f"{widgets.path}/a"
    unnamed = widgets.server.patch(path, widgets.new("a"), APPLY)
    assert unnamed.causes == [
        ("FieldValueRequired", "fieldManager", "Required value: is required for apply patch")
    ]
    forced = widgets.server.patch(f"{path}?force=true", {"spec": {"size": 4}})
    assert forced.causes == [
        ("FieldValueForbidden", "force", "Forbidden: may not be specified for non-apply patch")
    ]
