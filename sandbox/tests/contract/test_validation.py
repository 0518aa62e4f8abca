from __future__ import annotations

from typing import Any

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import Answer, APIServer

_UNRECOGNIZED = "the object provided is unrecognized (must be of type Widget): "
_NO_META = f"{_UNRECOGNIZED}couldn't get version/kind; json parse error: "
_BARE = '{"metadata":{}}'
_UNQUALIFIED = (
    'metadata.finalizers: "plain": prefer a domain-qualified finalizer name to avoid accidental '
    "conflicts with other finalizer writers"
)


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        (
            {"size": "three"},
            (
                "FieldValueTypeInvalid",
                "spec.size",
                'Invalid value: "string": spec.size in body must be of type ',
            ),
        ),
        ({"size": None}, ("FieldValueRequired", "spec.size", "Required value")),
        (
            {"size": 101},
            (
                "FieldValueInvalid",
                "spec.size",
                "Invalid value: 101: spec.size in body should be less than or ",
            ),
        ),
        (
            {"color": "pink"},
            ("FieldValueNotSupported", "spec.color", 'Unsupported value: "pink": supported values: "red", '),
        ),
        ({"tags": ["a", "a"]}, ("FieldValueDuplicate", "spec.tags[1]", 'Duplicate value: "a"')),
        (
            {"port": 1.5},
            (
                "FieldValueTypeInvalid",
                "spec.port",
                'Invalid value: "number": spec.port in body must be of type ',
            ),
        ),
    ],
)
def test_the_schema_is_enforced(widgets: Widgets, spec: dict[str, Any], cause: tuple[str, str, str]) -> None:
    """An object that breaks the schema is 422 with a cause that names field and rule."""
    refused = widgets.server.create(widgets.path, widgets.new("bad", **spec))
    assert (refused.status, refused.body["reason"]) == (422, "Invalid")
    assert refused.message.startswith(f'Widget.{widgets.group} "bad" is invalid: ')
    reason, field, text = cause
    found = [entry for entry in refused.causes if entry[:2] == (reason, field)]
    assert len(found) == 1
    assert found[0][2].startswith(text)


def test_every_problem_is_a_cause(widgets: Widgets) -> None:
    """Several problems are reported at once."""
    refused = widgets.server.create(widgets.path, widgets.new("bad", size=0, color="pink", replicas=-1))
    fields = {field for _, field, _ in refused.causes}
    assert {"spec.size", "spec.color", "spec.replicas", ".spec.replicas"} <= fields


def test_defaults_and_nulls(widgets: Widgets) -> None:
    """Defaults fill in nested objects; null of a member that is not nullable is as if it were absent."""
    created = widgets.create("a", color=None, fixed=None, nested={"mode": None}).body
    assert created["spec"] == {"size": 3, "color": "red", "replicas": 1, "nested": {"mode": "auto"}}


def test_unknown_members_are_pruned_and_mentioned(widgets: Widgets) -> None:
    """What the schema does not declare is dropped with a warning each, except where it preserves unknowns."""
    obj = {**widgets.new("a", bogus=1, free={"any": [1]}, nested={"mode": "m", "zzz": 1}), "extra": True}
    created = widgets.server.create(widgets.path, obj)
    assert created.body["spec"]["free"] == {"any": [1]}
    assert "bogus" not in created.body["spec"]
    assert "extra" not in created.body
    assert created.warnings == [
        'unknown field "extra"',
        'unknown field "spec.bogus"',
        'unknown field "spec.nested.zzz"',
    ]


def test_strictness_can_be_chosen(widgets: Widgets) -> None:
    """Strict refuses unknown and duplicate members (400), Ignore is silent, another value is 422."""
    unknown = widgets.new("a", bogus=1)
    strict = widgets.server.create(f"{widgets.path}?fieldValidation=Strict", unknown)
    assert strict.status == 400
    assert strict.message == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'unknown field "spec.bogus"'
    )
    twice = (
        b'{"apiVersion":"%s","kind":"Widget","metadata":{"name":"b"},"spec":{"size":1,"size":2}}'
        % widgets.api_version.encode()
    )
    duplicate = widgets.server.create(f"{widgets.path}?fieldValidation=Strict", twice)
    assert duplicate.message.endswith('strict decoding error: duplicate field "spec.size"')
    ignored = widgets.server.create(f"{widgets.path}?fieldValidation=Ignore", unknown)
    assert (ignored.status, ignored.warnings) == (201, [])
    wrong = widgets.server.create(f"{widgets.path}?fieldValidation=Maybe", unknown)
    assert wrong.causes[0][:2] == ("FieldValueNotSupported", "fieldValidation")


def test_rules_of_the_schema_compare_with_before(widgets: Widgets) -> None:
    """A transition rule lets a field be set once and then refuses to change it."""
    widgets.create("a", fixed="x")
    refused = widgets.server.patch(f"{widgets.path}/a", {"spec": {"fixed": "y"}})
    assert refused.causes == [("FieldValueInvalid", "spec.fixed", 'Invalid value: "y": fixed is immutable')]


@pytest.mark.parametrize(
    ("metadata", "cause"),
    [
        (
            {"name": "Upper"},
            ("metadata.name", 'Invalid value: "Upper": a lowercase RFC 1123 subdomain must '),
        ),
        (
            {"name": "a" * 254},
            ("metadata.name", f'Invalid value: "{"a" * 254}": must be no more than 253 char'),
        ),
        (
            {"name": "a", "labels": {"bad key!": "v"}},
            (
                "metadata.labels",
                'Invalid value: "bad key!": name part must consist of alphanumeric characters',
            ),
        ),
        (
            {"name": "a", "finalizers": ["bad finalizer"]},
            ("metadata.finalizers", 'Invalid value: "bad finalizer": name part must consist of alphanumeric'),
        ),
        (
            {"name": "a", "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "c"}]},
            ("metadata.ownerReferences.uid", 'Invalid value: "": must not be empty'),
        ),
    ],
)
def test_metadata_is_validated(widgets: Widgets, metadata: dict[str, Any], cause: tuple[str, str]) -> None:
    """Names, labels, finalizers and owner references have rules of their own."""
    obj = widgets.new("")
    obj["metadata"] = metadata
    refused = widgets.server.create(widgets.path, obj)
    assert refused.status == 422
    field, text = cause
    assert [entry for entry in refused.causes if entry[1] == field and entry[2].startswith(text)]


def test_unqualified_finalizers_are_mentioned(widgets: Widgets) -> None:
    """A finalizer without a domain is taken with a warning."""
    created = widgets.server.create(
        f"{widgets.path}?dryRun=All", widgets.new("a", metadata={"finalizers": ["plain"]})
    )
    assert created.warnings == [_UNQUALIFIED]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b"{not json",
            f"{_NO_META}invalid character 'n' looking for beginning of object key string ({{not json)",
        ),
        (b"", f"{_NO_META}unexpected end of JSON input (<empty>)"),
        (
            b'{"metadata":{}}',
            f"{_UNRECOGNIZED}Object 'Kind' is missing in '{_BARE}' ({_BARE})",
        ),
    ],
)
def test_bodies_that_cannot_be_read(widgets: Widgets, body: bytes, message: str) -> None:
    """A body that is no object of the kind is 400 and quotes its beginning."""
    refused = widgets.server.create(widgets.path, body)
    assert (refused.status, refused.message) == (400, message)


def test_types_of_built_in_kinds_are_checked_while_decoding(server: APIServer, namespace: str) -> None:
    """A value of the wrong type in a built-in kind is 400 with Go's words, an unknown field a warning."""
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    refused = server.create(path, {"metadata": {"name": "c"}, "data": {"a": 1}})
    assert refused.status == 400
    assert refused.message == (
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go '
        "struct field ConfigMap.data of type string"
    )
    created = server.create(path, {"metadata": {"name": "c"}, "bogus": 1})
    assert created.warnings == ['unknown field "bogus"']


def test_kind_and_version_must_be_the_paths(widgets: Widgets) -> None:
    """Another apiVersion is 400, another kind 422."""
    version = widgets.server.create(widgets.path, {**widgets.new("a"), "apiVersion": f"{widgets.group}/v2"})
    assert version.message == (
        f"the API version in the data ({widgets.group}/v2) does not match the expected API version "
        f"({widgets.api_version})"
    )
    kind = widgets.server.create(widgets.path, {**widgets.new("a"), "kind": "Gizmo"})
    assert kind.message == (
        f'Gizmo.{widgets.group} "a" is invalid: kind: Invalid value: "Gizmo": must be Widget'
    )


def test_yaml_bodies(widgets: Widgets) -> None:
    """A body may be YAML."""
    text = f"apiVersion: {widgets.api_version}\nkind: Widget\nmetadata:\n  name: why\nspec:\n  size: 4\n"
    created = widgets.server.create(widgets.path, text.encode(), content_type="application/yaml")
    assert (created.status, created.body["spec"]["size"]) == (201, 4)


def test_odd_yaml(widgets: Widgets) -> None:
    """`=` and `<<` are texts; a key that occurs twice is refused, or warned of and the last counts."""
    head = f"apiVersion: {widgets.api_version}\nkind: Widget\nmetadata: {{name: odd}}\n"
    body = f"{head}spec: {{size: 1, size: 2}}\n".encode()
    twice = 'yaml: unmarshal errors:\n  line 4: key "size" already set in map'

    def sent(path: str, content: bytes = body, validation: str = "") -> Answer:
        query = f"?dryRun=All&fieldValidation={validation}"
        return widgets.server.create(f"{path}{query}", content, content_type="application/yaml")

    strict = sent(widgets.path, validation="Strict")
    assert (strict.status, strict.message.partition("strict decoding error: ")[2]) == (400, twice)
    assert sent(widgets.path, validation="Warn").warnings == ['line 4: key "size" already set in map']
    ignored = sent(widgets.path, validation="Ignore")
    assert (ignored.status, ignored.body["spec"]["size"], ignored.warnings) == (201, 2, [])
    plain = b"metadata: {name: odd}\ndata: {a: =, b: <<, c: 2020-01-01}\n"
    found = sent(f"/api/v1/namespaces/{widgets.namespace}/configmaps", plain)
    assert found.body["data"] == {"a": "=", "b": "<<", "c": "2020-01-01"}


def test_rules_of_all_kinds_come_last(server: APIServer, namespace: str) -> None:
    """A budget is refused for what is its own alone, as long as there is something."""
    path = f"/apis/policy/v1/namespaces/{namespace}/poddisruptionbudgets?dryRun=All"
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": ""}
    metadata = {"name": "p", "ownerReferences": [owner]}
    wrong = server.create(path, {"metadata": metadata, "spec": {"minAvailable": "x"}})
    assert [cause[1] for cause in wrong.causes] == ["spec.minAvailable"]
    right = server.create(path, {"metadata": metadata, "spec": {"minAvailable": 1}})
    assert [cause[1] for cause in right.causes] == ["metadata.ownerReferences.uid"]
