from __future__ import annotations

import pytest

from handloop_sandbox.verbs import patching
from handloop_sandbox.verbs.patching import restoring
from handloop_sandbox.wire.patch_types import APPLY, JSON_PATCH, MERGE, STRATEGIC
from handloop_sandbox.wire.status import StatusError
from support.servers.local_server import LocalServer, widget, with_widgets


@pytest.fixture
def path(server: LocalServer) -> str:
    """That of a widget."""
    widgets = with_widgets(server)
    assert server.request("POST", widgets, widget("a", tags=["x"])).status == 201
    return f"{widgets}/a"


@pytest.mark.parametrize(
    ("content_type", "body", "size"),
    [
        (MERGE, {"spec": {"size": 5}}, 5),
        (JSON_PATCH, [{"op": "replace", "path": "/spec/size", "value": 6}], 6),
        (f"{MERGE}; charset=utf-8", {"spec": {"size": 7}}, 7),
    ],
)
def test_kinds_of_patches(server: LocalServer, path: str, content_type: str, body: object, size: int) -> None:
    """Merge and JSON patches change a custom resource."""
    patched = server.request("PATCH", path, body, content_type=content_type)
    assert (patched.status, patched.body["spec"]["size"]) == (200, size)


def test_patches_that_are_not_taken(server: LocalServer, path: str) -> None:
    """Strategic patches and plain JSON are 415 for a custom resource; built-in kinds word it otherwise."""
    for content_type in (STRATEGIC, "application/json", ""):
        refused = server.request("PATCH", path, {}, content_type=content_type)
        assert refused.status == 415
        assert "application/apply-patch+yaml" in refused.message
    built_in = server.request("PATCH", "/api/v1/namespaces/n", {}, content_type="application/json")
    assert built_in.message == "415: Unsupported Media Type"


def test_what_a_patch_leaves_is_decoded_strictly(server: LocalServer, path: str) -> None:
    """An unknown member that a patch adds is a warning, or with Strict a refusal that shows the object."""
    warned = server.request("PATCH", path, {"spec": {"bogus": 1}}, content_type=MERGE)
    assert ("Warning", '299 - "unknown field \\"spec.bogus\\""') in warned.headers
    strict = server.request(
        "PATCH", f"{path}?fieldValidation=Strict", {"spec": {"bogus": 1}}, content_type=MERGE
    )
    assert strict.status == 422
    assert strict.message.startswith(
        ' "" is invalid: patch: Invalid value: "{\\"apiVersion\\":\\"example.com/v1\\"'
    )
    assert strict.message.endswith('strict decoding error: unknown field "spec.bogus"')


def test_strategic_patches_in_refusals(server: LocalServer) -> None:
    """A strategic patch is shown as Go prints a map."""
    server.request("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})
    refused = server.request(
        "PATCH",
        "/api/v1/namespaces/default/configmaps/c?fieldValidation=Strict",
        {"bogus": 1},
        content_type=STRATEGIC,
    )
    assert refused.message == (
        ' "" is invalid: patch: Invalid value: "map[bogus:1]": strict decoding error: unknown field "bogus"'
    )


def test_what_is_no_patch() -> None:
    """Syntax errors, wrong shapes and null are 400."""
    for body, kind, message in (
        (b"{bad", MERGE, "error decoding patch: invalid character 'b' looking for"),
        (b"[1]", MERGE, "error decoding patch: json: cannot unmarshal array into Go value"),
        (b"null", MERGE, "Invalid JSON Patch"),
        (b"{bad", STRATEGIC, "invalid character 'b' looking for"),
    ):
        with pytest.raises(StatusError) as raised:
            patching.patched({}, body, kind, None)
        assert str(raised.value).startswith(message)
    assert patching.patched({"a": 1}, b"null", JSON_PATCH, None) == {"a": 1}


def test_apply(server: LocalServer, path: str) -> None:
    """Apply creates missing objects, owns the named fields, and refuses a body that is no object."""
    new = f"{path[:-2]}/b"
    created = server.request("PATCH", f"{new}?fieldManager=me", widget("b"), content_type=APPLY)
    assert created.status == 201
    assert created.body["metadata"]["managedFields"][0]["operation"] == "Apply"
    uid = widget("c", metadata={"uid": "x"})
    refused = server.request("PATCH", f"{path[:-2]}/c?fieldManager=me", uid, content_type=APPLY)
    assert refused.message.endswith("the provided object specified uid x, and no existing object was found")
    status = server.request(
        "PATCH",
        f"{path[:-2]}/d/status?fieldManager=me",
        widget("d"),
        content_type=APPLY,
    )
    assert status.status == 404
    for body, message in (
        (b"a: b: c", "error decoding YAML: error converting YAML to JSON: yaml: mapping values are not"),
        (b"[1]", "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal"),
    ):
        bad = server.request("PATCH", f"{path}?fieldManager=me", body, content_type=APPLY)
        assert (bad.status, bad.message.startswith(message)) == (400, True)


def test_a_missing_object_cannot_be_patched(server: LocalServer, path: str) -> None:
    """A patch of nothing is 404, and so is a body that is no patch at all."""
    missing = f"{path[:-2]}/z"
    assert server.request("PATCH", missing, {}, content_type=MERGE).status == 404
    assert server.request("PATCH", missing, b"{bad", content_type=MERGE).status == 404


def test_the_api_version_stays(server: LocalServer, path: str) -> None:
    """A patch that changes the apiVersion is 422."""
    refused = server.request("PATCH", path, {"apiVersion": "example.com/v2"}, content_type=MERGE)
    assert refused.body["details"]["causes"][0]["field"] == "apiVersion"


_FIELD = "json: cannot unmarshal {} into Go struct field S.spec.x of type {}"


@pytest.mark.parametrize(
    ("value", "go_type", "restored"),
    [
        ("array", "v1.ObjectMeta", "cannot restore struct from: slice"),
        ("number", "v1.ObjectMeta", "cannot restore struct from: int64"),
        ("array", "string", "unrecognized type: string"),
        ("number", "string", "cannot convert int64 to string"),
        ("number 1.5", "int32", "cannot convert float64 to int32"),
        ("string", "map[string]string", "cannot restore map from string"),
        ("object", "[]v1.ServicePort", "cannot restore slice from map"),
    ],
)
def test_complaints_in_the_words_of_the_converter(value: str, go_type: str, restored: str) -> None:
    """The errors of JSON decoding are those for a value that was decoded before."""
    assert restoring(_FIELD.format(value, go_type)) == restored


def test_other_complaints() -> None:
    """Base64 is decoded from JSON even then; parts without a type stay."""
    complaint = "illegal base64 data at input byte 3"
    assert restoring(complaint) == f"error decoding from json: {complaint}"
    assert restoring("quantities must match") == "quantities must match"
