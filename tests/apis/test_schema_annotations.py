from __future__ import annotations

import types
from typing import Annotated, Any

import pytest
from msgspec import Meta

from handloop.apis.crd_schema import object_schema
from handloop.apis.meta import EMPTY_MAP, APIStruct, FrozenMap, Kind
from handloop.apis.schema_annotations import (
    LIST_ATOMIC,
    MAP_ATOMIC,
    NO_FORMAT,
    SERVER_DEFAULT,
    Rule,
    property_counts,
    rules,
    schema_format,
)


class Inner(APIStruct):
    """With defaults of both sorts."""

    count: int = 5
    on: Annotated[bool, SERVER_DEFAULT] = False
    word: str = ""


def _schema(annotation: Any, *default: Any, **attributes: Any) -> dict[str, Any]:
    """The schema of a field, with that default if there is one, in a struct with those attributes."""
    body = {
        "__annotations__": {"field": annotation},
        **attributes,
        **({"field": default[0]} if default else {}),
    }
    spec = types.new_class("Spec", (APIStruct,), {}, lambda namespace: namespace.update(body))
    names = {"group": "x.org", "version": "v1"}
    fields = {"__annotations__": {"spec": spec}}
    kind = types.new_class("Thing", (Kind,), names, lambda namespace: namespace.update(fields))
    found: dict[str, Any] = object_schema(kind)["properties"]["spec"]["properties"]["field"]
    return found


@pytest.mark.parametrize(
    ("annotation", "default", "told"),
    [
        (Annotated[bool, SERVER_DEFAULT], False, False),
        (Annotated[str, SERVER_DEFAULT], "", ""),
        (Annotated[tuple[str, ...], SERVER_DEFAULT], (), []),
        (Annotated[FrozenMap, SERVER_DEFAULT], EMPTY_MAP, {}),
        (Annotated[Inner, SERVER_DEFAULT], Inner(), {}),
        (Annotated[Inner, SERVER_DEFAULT], Inner(count=7, word="a"), {"count": 7, "word": "a"}),
        (Annotated[bool, SERVER_DEFAULT] | None, False, False),
    ],
)
def test_a_default_that_says_nothing_is_told_on_request(annotation: Any, default: Any, told: Any) -> None:
    """A struct's without what its own fields say."""
    schema = _schema(annotation, default)
    assert schema["default"] == told
    assert not [key for key in schema if key.startswith("x-handloop")]


@pytest.mark.parametrize(
    ("annotation", "default", "says"),
    [
        (Annotated[bool, SERVER_DEFAULT], (), "the field has none"),
        (Annotated[bool, SERVER_DEFAULT] | None, (None,), "the field has none"),
        (tuple[Annotated[int, SERVER_DEFAULT], ...], ((),), "an item of a list or map has no default"),
        (Annotated[tuple[str, ...], MAP_ATOMIC], ((),), "write LIST_ATOMIC"),
        (Annotated[str, property_counts(least=1)], ("",), "property_counts is for a struct"),
        (Annotated[int, schema_format("cidr")], (0,), "the format cidr is for strings"),
        (Annotated[str, schema_format("double")], ("",), "the format double is for numbers"),
    ],
)
def test_an_annotation_at_the_wrong_field_is_refused(annotation: Any, default: Any, says: str) -> None:
    """With the path of the field."""
    with pytest.raises(TypeError, match=r"Thing\.spec\.field.*: ") as refused:
        _schema(annotation, *default)
    assert says in str(refused.value)


def test_a_default_is_the_servers_or_the_authors() -> None:
    """A field that authors must give has none."""
    with pytest.raises(TypeError, match="SERVER_DEFAULT contradicts crd_required"):
        _schema(Annotated[bool, SERVER_DEFAULT], False, crd_required=("field",))


def test_annotations_add_up() -> None:
    """Rules of bounds, of a Meta and of several annotations; a format of its own leaves the bounds."""
    one, two = Rule(expression="self != 3", message="a"), Rule(expression="self != 4", message="b")
    schema = _schema(
        Annotated[int, Meta(ge=0, le=2**31 - 1, multiple_of=5), NO_FORMAT, rules(one), rules(two)]
    )
    assert schema == {
        "type": "integer",
        "minimum": 0,
        "maximum": 2**31 - 1,
        "x-kubernetes-validations": [
            {"rule": "self % 5 == 0", "message": "should be a multiple of 5"},
            {"rule": "self != 3", "message": "a"},
            {"rule": "self != 4", "message": "b"},
        ],
    }
    assert _schema(Annotated[tuple[str, ...], LIST_ATOMIC, rules(one)])["x-kubernetes-list-type"] == "atomic"


def test_a_rule_says_what_it_is_told() -> None:
    """In the server's words, and nothing else."""
    whole = Rule(
        expression="a",
        message="b",
        message_expression="c",
        reason="FieldValueRequired",
        field_path=".d",
        optional_old_self=True,
    )
    assert whole.schema() == {
        "rule": "a",
        "message": "b",
        "messageExpression": "c",
        "reason": "FieldValueRequired",
        "fieldPath": ".d",
        "optionalOldSelf": True,
    }
    assert Rule(expression="a", message="b").schema() == {"rule": "a", "message": "b"}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({}, "has no message"),
        ({"message": "m", "reason": "Wrong"}, "reason='Wrong' is none of FieldValueInvalid"),
        ({"message": "m", "field_path": "spec"}, 'must start with a dot: ".spec"'),
    ],
)
def test_a_rule_that_no_server_takes_is_refused(fields: dict[str, Any], says: str) -> None:
    """When it is made."""
    with pytest.raises(TypeError, match=r".") as refused:
        Rule(expression="true", **fields)
    assert says in str(refused.value)


def test_a_misspelt_format_is_refused() -> None:
    """A server ignores what it does not know."""
    with pytest.raises(TypeError, match="no server checks the format 'datetime': did you mean 'date-time'"):
        schema_format("datetime")
