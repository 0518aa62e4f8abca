from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tools import generate_sandbox_tables as generate
from tools.go_source import Member, ProtoField
from tools.named_types import NamedTypes

_REF = "#/components/schemas/io.k8s.api.core.v1.Inner"


def test_schemas_lose_their_prose() -> None:
    """Descriptions and zero defaults go, an allOf of one reference is that reference."""
    schema: dict[str, Any] = {
        "description": "text",
        "type": "object",
        "required": ["a"],
        "x-kubernetes-group-version-kind": [{"kind": "A"}],
        "properties": {
            "a": {"description": "text", "default": {}, "allOf": [{"$ref": _REF}]},
            "b": {
                "type": "array",
                "items": {"$ref": _REF, "default": ""},
                "x-kubernetes-list-type": "atomic",
            },
            "c": {"type": "string", "default": "x"},
        },
    }
    assert generate.strip(schema) == {
        "type": "object",
        "required": ["a"],
        "properties": {
            "a": {"$ref": "api.core.v1.Inner"},
            "b": {
                "type": "array",
                "items": {"$ref": "api.core.v1.Inner"},
                "x-kubernetes-list-type": "atomic",
            },
            "c": {"type": "string", "default": "x"},
        },
    }
    assert list(generate.references(generate.strip(schema))) == ["api.core.v1.Inner"] * 2


def test_go_decides_which_zero_values_are_written() -> None:
    """A pointer can be absent, a field that is not omitted appears, a struct by value does, too."""
    schema: dict[str, Any] = {
        "properties": {
            "pointer": {"type": "integer"},
            "always": {"type": "string"},
            "sometimes": {"type": "string"},
            "struct": {"$ref": "api.core.v1.Inner"},
        }
    }
    structs = {
        "x.Outer": [
            Member("P", "*int32", "pointer", "", frozenset({"omitempty"})),
            Member("A", "string", "always", "", frozenset()),
            Member("S", "string", "sometimes", "", frozenset({"omitempty"})),
            Member("T", "Inner", "struct", "", frozenset({"omitempty"})),
        ]
    }
    generate.mark_members(schema, "x.Outer", structs, NamedTypes({}))
    omissions = {name: child.get("x-omit") for name, child in schema["properties"].items()}
    assert omissions == {"pointer": "pointer", "always": "never", "sometimes": None, "struct": "never"}


def test_schemas_name_the_types_of_go() -> None:
    """Of named texts and maps, of the entries of lists, and the struct that is inlined."""
    schema: dict[str, Any] = {
        "properties": {
            "text": {"type": "string"},
            "named": {"type": "string"},
            "list": {"type": "array", "items": {"type": "string"}},
            "map": {"type": "object", "additionalProperties": {"type": "string"}},
            "keyed": {"type": "object", "additionalProperties": {"type": "integer"}},
        }
    }
    none: frozenset[str] = frozenset({"omitempty"})
    structs = {
        "a.v1.Outer": [Member("Inner", "Inner", "", "", frozenset({"inline"}))],
        "a.v1.Inner": [
            Member("T", "string", "text", "", none),
            Member("N", "*Phase", "named", "", none),
            Member("L", "[]metav1.Verb", "list", "", none),
            Member("M", "Phases", "map", "", none),
            Member("K", "map[Phase]int32", "keyed", "", none),
        ],
    }
    named = {"a.v1.Phase": "string", "a.v1.Phases": "map[string]Phase", "b.v1.Verb": "string"}
    generate.mark_members(schema, "a.v1.Outer", structs, NamedTypes(named))
    properties = schema["properties"]
    assert {child.get("x-in") for child in properties.values()} == {"Inner"}
    assert "x-go" not in properties["text"]
    assert properties["named"]["x-go"] == "v1.Phase"
    assert properties["list"]["items"]["x-go"] == "v1.Verb"
    assert "x-go" not in properties["list"]
    assert (properties["map"]["x-go"], properties["map"]["additionalProperties"]["x-go"]) == (
        "v1.Phases",
        "v1.Phase",
    )
    assert properties["keyed"]["x-go"] == "map[v1.Phase]int32"


def test_entries_of_discovery() -> None:
    """Empty fields are left out; a subresource names its kind's group only if it is another."""
    found = {
        "resource": "things",
        "responseKind": {"kind": "Thing"},
        "singularResource": "thing",
        "scope": "Namespaced",
        "verbs": ["get"],
        "subresources": [
            {"subresource": "status", "responseKind": {"kind": "Thing", "version": ""}, "verbs": ["get"]},
            {
                "subresource": "scale",
                "responseKind": {"kind": "Scale", "group": "autoscaling", "version": "v1"},
                "verbs": ["get"],
            },
        ],
    }
    entry = generate.resource_entry("example.com", "v1", found)
    assert "short_names" not in entry
    assert entry["namespaced"] is True
    assert entry["subresources"] == [
        {"name": "status", "kind": "Thing", "verbs": ["get"]},
        {"name": "scale", "kind": "Scale", "verbs": ["get"], "group": "autoscaling", "version": "v1"},
    ]
    assert (generate.base_path("", "v1"), generate.base_path("apps", "v1")) == ("api/v1", "apis/apps/v1")


def test_messages_that_are_reached() -> None:
    """Fields by number with JSON names, and with their types where no schema tells them."""
    messages = {
        "x.A": [
            ProtoField(1, "inner", "x.B", ""),
            ProtoField(2, "names", "string", "repeated"),
            ProtoField(3, "time", next(iter(generate.SHAPES)), ""),
            ProtoField(4, "extra", "x.Extra", "map"),
        ],
        "x.B": [ProtoField(1, "value", "string", ""), ProtoField(2, "values", "string", "repeated")],
        "x.C": [ProtoField(1, "value", "string", "")],
        next(iter(generate.SHAPES)): [ProtoField(1, "seconds", "int64", "")],
    }
    structs = {"x.A": [Member("Inner", "B", "theInner", "inner", frozenset())]}
    texts = {"type": "array", "items": {"type": "string"}}
    extra = {"type": "object", "additionalProperties": texts}
    schemas = {"x.A": {"properties": {"theInner": {"$ref": "x.B"}, "names": texts, "extra": extra}}}
    assert generate.build_messages(["x.A"], structs, messages, schemas) == {
        "x.A": {
            "1": "theInner",
            "2": "names",
            "3": ["time", next(iter(generate.SHAPES))],
            "4": ["extra", "x.Extra", "map"],
        },
        "x.B": {"1": ["value", "string"], "2": ["values", "string", "repeated"]},
    }


def test_equal_descriptions_are_kept_once() -> None:
    """A column refers to its text by number."""
    texts: list[str] = []
    column = {"name": "A", "type": "string", "format": "", "priority": 0, "description": "text"}
    assert generate.column_row(column, texts) == ["A", "string", "", 0, 0]
    assert generate.column_row({**column, "name": "B"}, texts) == ["B", "string", "", 0, 0]
    assert texts == ["text"]


def test_tables_are_written_one_entry_a_line(tmp_path: Path) -> None:
    """So that a difference between two versions can be read; it is still JSON."""
    table = {"resources": [{"a": 1}, {"b": 2}], "schemas": {"x": {"type": "object"}}}
    generate.write(tmp_path / "t.json", table)
    text = (tmp_path / "t.json").read_text(encoding="utf-8")
    assert json.loads(text) == table
    assert '{"a":1},\n{"b":2}' in text
