"""What takes the place of required fields that are missing."""

from __future__ import annotations

from copy import deepcopy

from handloop.apis.crd_schema import object_schema
from handloop.apis.meta import APIStruct, Kind
from handloop.apis.zero_values import completed


class Inner(APIStruct):
    """A part."""

    name: str
    note: str = ""


class Spec(APIStruct):
    """One of each."""

    text: str
    number: int
    share: float
    on: bool
    names: tuple[str, ...]
    inner: Inner
    several: tuple[Inner, ...] = ()
    default: str = "d"


class Thing(Kind, group="example.org", version="v1"):
    """A kind."""

    spec: Spec


ZERO = {"text": "", "number": 0, "share": 0, "on": False, "names": [], "inner": {"name": ""}}


def test_each_required_field_that_is_missing_has_its_zero() -> None:
    """At every depth; what is there stays, and what is not required is not made."""
    schema = object_schema(Thing)
    assert completed({}, schema)["spec"] == ZERO
    given = {"spec": {"text": "t", "several": [{}, {"name": "a"}, {"note": "n"}]}, "unknown": {"a": [{}]}}
    before = deepcopy(given)
    found = completed(given, schema)
    assert given == before
    several = [{"name": ""}, {"name": "a"}, {"name": "", "note": "n"}]
    assert found == {"spec": ZERO | {"text": "t", "several": several}, "unknown": {"a": [{}]}}


def test_maps_and_values_that_do_not_fit_are_gone_through() -> None:
    """They are for the decoder to refuse."""
    schema = {
        "type": "object",
        "properties": {
            "map": {"type": "object", "additionalProperties": {"type": "object", "required": ["a"]}},
            "port": {"x-kubernetes-int-or-string": True},
        },
        "required": ["port", "unheard"],
    }
    found = {"port": 0, "unheard": {}, "map": {"k": {"a": {}}, "l": 3}}
    assert completed({"map": {"k": {}, "l": 3}}, schema) == found
    for odd in (None, 3, "x", [1]):
        assert completed(odd, schema) == odd
