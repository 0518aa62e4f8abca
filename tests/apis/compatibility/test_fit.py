"""What does not fit: of changed definitions of the kinds that are here, and of views of others' kinds."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.compatibility.finding import BREAKS, Finding
from handloop.apis.compatibility.fit import in_words, misfits, misfits_of_view
from handloop.apis.compatibility.schema_changes import lost_paths
from handloop.apis.crd_schema import object_schema
from support.builders.changed_definitions import KINDS, Changed, changes, seen

CHANGED = [pytest.param(kind, each, id=each.name) for kind in KINDS for each in changes(kind)]


def spec(**fields: Any) -> dict[str, Any]:
    """The schema of an object with these fields in its spec."""
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}


TEXT = {"type": "string"}


def test_there_are_several_hundred_changes() -> None:
    """Of each field of each kind."""
    assert len(CHANGED) > 300


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_fits_its_own_definition(kind: type[Any]) -> None:
    """Nothing is found, and nothing is newer."""
    schema = object_schema(kind)
    assert misfits(schema, object_schema(kind)) == []
    assert [*lost_paths(schema, schema)] == []


@pytest.mark.parametrize(("kind", "changed"), CHANGED)
def test_each_change_is_found_and_nothing_else(kind: type[Any], changed: Changed) -> None:
    """The rule, and the path."""
    schema = object_schema(kind)
    assert seen(misfits(schema, changed.schema)) == changed.found
    assert tuple(lost_paths(changed.schema, schema)) == changed.newer


def test_a_subresource_that_is_missing() -> None:
    """Each is a finding of its own."""
    assert seen(misfits({}, {}, ["status", "scale"])) == {("no-scale", "scale"), ("no-status", "status")}


def test_what_a_view_says_nothing_of_is_no_finding() -> None:
    """What the server demands, fills in, bounds or lists, where the type has a plain text."""
    there = spec(a={**TEXT, "enum": ["x"], "maxLength": 3, "default": "x"}, b={"type": "object"}, c=TEXT)
    there["properties"]["spec"]["required"] = ["a", "c"]
    number = {"type": "integer", "format": "int64"}
    assert misfits_of_view(spec(a=TEXT), there) == []
    assert misfits_of_view(spec(a=number), spec(a={**number, "format": "int32"})) == []


@pytest.mark.parametrize(
    ("mine", "there", "rule"),
    [
        (TEXT, None, "field"),
        (TEXT, {"type": "integer"}, "type"),
        ({**TEXT, "enum": ["x", "y"]}, {**TEXT, "enum": ["x"]}, "enum"),
        ({"type": "integer", "maximum": 9}, {"type": "integer", "maximum": 3}, "maximum"),
    ],
)
def test_what_a_view_says_is_held_against_it(
    mine: dict[str, Any], there: dict[str, Any] | None, rule: str
) -> None:
    """Its fields, their types, and the values that it names."""
    served = spec() if there is None else spec(a=there)
    assert seen(misfits_of_view(spec(a=mine), served)) == {(rule, "spec.a")}


def test_the_words() -> None:
    """Dropped fields are in one line; a long value is cut."""
    found = [
        Finding("field", BREAKS, "spec.a", "string", None, ""),
        Finding("maximum", BREAKS, "spec.n", 9, 3, ""),
        Finding("field", BREAKS, "status.b", "string", None, ""),
        Finding("required", BREAKS, "", [], ["spec"], ""),
        Finding("enum", BREAKS, "spec.e", ["x" * 99], None, ""),
        *misfits({}, {}, ["scale"]),
    ]
    dropped, maximum, required, enum, scale = in_words(found)
    assert dropped == "the server drops spec.a, status.b"
    assert maximum == "spec.n: maximum is 9 in the type, but 3 on the server"
    assert required == "the object: the server requires spec, which the type may leave out"
    assert enum.startswith('spec.e: enum is ["xxx')
    assert enum.endswith("xx... in the type, but none on the server")
    assert scale == "there is no subresource scale"
