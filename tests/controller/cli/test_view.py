"""Views of foreign kinds are written so that each object of the kind decodes with them."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml

from handloop.apis.meta import Kind
from handloop.client.resource_client import codec_of
from handloop.controller.cli.view import ViewError, class_of, view_of

SCHEMA = yaml.safe_load("""
type: object
properties:
  spec:
    type: object
    required: [secretName]
    properties:
      secretName: {type: string}
      size: {type: integer, format: int32, default: 3}
      ratio: {type: number}
      paused: {type: boolean}
      mode: {type: string, enum: [a, b]}
      port: {x-kubernetes-int-or-string: true}
      note: {type: string, nullable: true}
      podCIDRs: {type: array, items: {type: string}}
      matrix: {type: array, items: {type: array, items: {type: integer}}}
      labels: {type: object, additionalProperties: {type: string}}
      limits: {type: object, additionalProperties: {x-kubernetes-int-or-string: true}}
      parts: {type: object, additionalProperties: {type: object, properties: {a: {type: string}}}}
      routes:
        type: array
        items:
          type: object
          properties:
            from: {type: string}
            field: {type: string}
            class: {type: object, properties: {name: {type: string}}}
            $ref: {type: string}
            3way: {type: boolean}
            foo_bar: {type: string}
            fooBar: {type: string}
      gaps: {type: array, items: {type: string, nullable: true}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      anything: {x-kubernetes-preserve-unknown-fields: true}
      empty: {type: object}
      inner: {type: object, nullable: true, properties: {a: {type: string}}}
  status:
    type: object
    properties:
      conditions:
        type: array
        items:
          type: object
          properties: {type: {type: string}, status: {type: string}, reason: {type: string}}
""")
WHOLE = {
    "spec": {
        "secretName": "s",
        "size": 4,
        "ratio": 0.5,
        "paused": True,
        "mode": "c",
        "port": "http",
        "note": None,
        "podCIDRs": ["10.0.0.0/8"],
        "matrix": [[1], [2, 3]],
        "labels": {"a": "b"},
        "limits": {"cpu": 1, "memory": "1Gi"},
        "parts": {"x": {"a": "1"}},
        "routes": [
            {"from": "f", "field": "g", "class": {"name": "n"}, "$ref": "r", "3way": True, "foo_bar": "1"},
            {"fooBar": "2"},
        ],
        "gaps": ["a", None],
        "free": {"x": [1]},
        "anything": [1, {"a": None}],
        "empty": {"a": 1},
        "inner": None,
    },
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}


def definition(schema: Mapping[str, Any] = SCHEMA, /, **names: str) -> dict[str, Any]:
    """A definition as a server has it."""
    plural, kind = names.get("plural", "pumps"), names.get("kind", "Pump")
    old = {"name": "v1", "served": True, "storage": False, "schema": {"openAPIV3Schema": {"type": "object"}}}
    new = {"name": "v2", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    gone = {"name": "v0", "served": False, "storage": False}
    group = names.get("group", "example.org")
    return {
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "names": {"plural": plural, "kind": kind},
            "scope": names.get("scope", "Namespaced"),
            "versions": [gone, old, new],
        },
    }


@pytest.fixture
def name() -> Iterator[str]:
    """A module's name; it is forgotten at the end."""
    yield "view_under_test"
    sys.modules.pop("view_under_test", None)


def imported(name: str, text: str, kind: str = "Pump") -> type[Kind]:
    """The view in a text, as an import brings it."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(text, vars(module))  # noqa: S102 - the text that is tested
    found: type[Kind] = vars(module)[kind]
    return found


def read(view: type[Kind], **parts: Any) -> Any:
    """An object as a cache would hold it."""
    names = {"apiVersion": "example.org/v2", "kind": view.resource.kind, "metadata": {"name": "a"}}
    return codec_of(view).decode(json.dumps({**names, **parts}).encode())


def test_each_shape_is_read(name: str) -> None:
    """Names that Python spells otherwise, nulls, lists of lists, values that a newer version may have."""
    view = imported(name, view_of(definition(), []))
    pump = read(view, **WHOLE)
    assert (pump.spec.secret_name, pump.spec.size, pump.spec.mode, pump.spec.port) == ("s", 4, "c", "http")
    assert (pump.spec.pod_cidrs, pump.spec.matrix) == (("10.0.0.0/8",), ((1,), (2, 3)))
    assert (pump.spec.labels["a"], pump.spec.limits["memory"], pump.spec.parts["x"].a) == ("b", "1Gi", "1")
    first, second = pump.spec.routes
    assert (first.from_, first.field_, first.class_.name, first.ref, first.field_3_way) == (
        *("f", "g", "n", "r"),
        True,
    )
    assert (first.foo_bar, second.foo_bar2) == ("1", "2")
    assert (pump.spec.gaps, pump.spec.inner, pump.spec.note) == (("a", None), None, None)
    assert pump.spec.free.value() == {"x": [1]}
    assert pump.spec.anything.value() == [1, {"a": None}]
    assert pump.status.conditions[0].reason == ""
    assert view.partial
    assert view.resource.api_version == "example.org/v2"


def test_what_is_absent_has_a_default(name: str) -> None:
    """Also what the definition demands: an older object may lack it."""
    pump = read(imported(name, view_of(definition(), [])))
    assert (pump.spec.secret_name, pump.spec.size, pump.spec.paused, pump.spec.routes) == ("", None, None, ())
    assert pump.status.conditions == ()


def test_the_fields_that_are_asked_for_are_all_there_is(name: str) -> None:
    """Into lists and maps without a word; the rest takes no memory."""
    text = view_of(definition(), ["spec.routes[].class.name", ".spec.parts.a", "status.conditions"])
    pump = read(imported(name, text), **WHOLE)
    assert pump.spec.routes[0].class_.name == "n"
    assert not hasattr(pump.spec, "secret_name")
    assert not hasattr(pump.spec.routes[0], "from_")
    assert "ForeignCondition" in text


def test_a_kind_is_named_as_the_server_names_it(name: str) -> None:
    """Plural, scope, and a kind whose name is one of ours or of Python's."""
    strange = definition(kind="Kind", plural="kinden", scope="Cluster")
    assert class_of(strange) == "Kind2"
    view = imported(name, view_of(strange, []), "Kind2")
    assert (view.resource.kind, view.resource.plural, view.resource.namespaced) == ("Kind", "kinden", False)
    assert class_of(definition(kind="None")) == "None_"
    assert class_of(definition(kind="postgresql")) == "Postgresql"


def test_a_version_may_be_chosen(name: str) -> None:
    """The stored one is taken otherwise; one that is not served cannot be read."""
    assert 'version="v1"' in view_of(definition(), [], version="v1")
    with pytest.raises(ViewError, match="version v0 is not served") as refused:
        view_of(definition(), [], version="v0")
    assert refused.value.fix == "--version with one of v1, v2"


def test_a_part_with_too_many_fields_is_json(name: str) -> None:
    """A pod template has thousands; a path into it brings a field of it."""
    many = {f"f{number}": {"type": "string"} for number in range(80)}
    template = {"type": "object", "properties": many}
    large = definition({"properties": {"spec": {"type": "object", "properties": {"template": template}}}})
    assert "template: JSON = JSON()" in view_of(large, ["spec.template"])
    assert 'f7: str = ""' in view_of(large, ["spec.template.f7"])


def test_a_kind_without_a_schema_has_no_views() -> None:
    """No path of it leads anywhere."""
    with pytest.raises(ViewError, match="spec: the kind has no schema") as refused:
        view_of(definition({"x-kubernetes-preserve-unknown-fields": True}), ["spec"])
    assert refused.value.fix == "read its objects as Unstructured"


@pytest.mark.parametrize(
    ("path", "says", "fix"),
    [
        ("spec.secretNam", "there is no field spec.secretNam", "such as spec.secretName"),
        ("spek", "there is no field spek", "such as spec"),
        ("spec.free.x", "spec.free has no schema", "request the whole spec.free, as JSON"),
        ("metadata.name", "every view contains metadata", ""),
        ("spec..x", "is not the path of a field", "such as spec.secretName"),
        ("spec.routes.nothing", "there is no field spec.routes.nothing", "such as spec.routes."),
    ],
)
def test_a_path_that_leads_nowhere_is_told(path: str, says: str, fix: str) -> None:
    """With the names that are like it."""
    with pytest.raises(ViewError, match=r".") as refused:
        view_of(definition(), [path])
    assert says in str(refused.value)
    assert refused.value.fix.startswith(fix)


@pytest.mark.parametrize(
    "names",
    [
        {"kind": "X(Kind): pass\nimport os; os.abort()\nclass Y"},
        {"group": 'a"\nraise SystemExit'},
        {"plural": 'x"""\nraise SystemExit\n"""'},
    ],
)
def test_a_name_that_no_server_takes_becomes_no_code(names: dict[str, str]) -> None:
    """A file may hold anything."""
    with pytest.raises(ViewError, match="names that no server accepts"):
        view_of(definition(SCHEMA, **names), [])


def test_a_field_of_any_name_becomes_no_code(name: str) -> None:
    """Quotes, newlines and words of Python are a text in it, and the field is read."""
    evil = ("'): pass; raise SystemExit #", "'''", "import os", "__class__", "é", "", "None", "a.b")
    unreadable = ('a": 1}\nraise SystemExit\n', "back\\slash")
    fields = {each: {"type": "string"} for each in (*evil, *unreadable)}
    spec = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    view = imported(name, view_of(definition(spec), []))
    pump = read(view, spec={each: f"<{each}>" for each in evil})
    read_back = {getattr(pump.spec, each) for each in pump.spec.__struct_fields__}
    assert read_back == {f"<{each}>" for each in evil}


@pytest.mark.parametrize("document", [{}, {"spec": {}}, {"spec": None}, {"spec": {"group": "a"}}])
def test_what_is_no_definition_is_told(document: dict[str, Any]) -> None:
    """Such as a patch of kustomize for one."""
    with pytest.raises(ViewError, match=r"not a definition of apiextensions\.k8s\.io/v1"):
        view_of(document, [])
