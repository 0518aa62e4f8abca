"""What holds of all patches: twice is once, there and back is nowhere, and parts may come in any order."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from handloop_sandbox.patches import field_set
from handloop_sandbox.patches.json_patch import json_patch
from handloop_sandbox.patches.managed_fields import decode, encode
from handloop_sandbox.patches.merge_patches import merge_patch, strategic_merge_patch
from handloop_sandbox.patches.merge_type import compile_type
from handloop_sandbox.patches.server_side_apply import server_side_apply
from handloop_sandbox.patches.typed_merge import merge, remove
from handloop_sandbox.patches.typed_value import compare
from handloop_sandbox.patches.typed_value import field_set as fields_of
from support.builders.builtin import builtin
from support.builders.thing import SCHEMA, THINGS, thing
from support.recorded.apply_cases import NOW

Object = dict[str, Any]

_TYPE = compile_type(SCHEMA)
_NUMBERS, _WORDS = st.integers(0, 2), st.sampled_from("xyz")
_STRUCTS = st.fixed_dictionaries({"x": _NUMBERS}, optional={"y": _WORDS})
_ENTRIES = st.fixed_dictionaries({"name": _WORDS}, optional={"v": _WORDS, "w": _NUMBERS})
_SPECS = st.fixed_dictionaries(
    {"a": _NUMBERS},
    optional={
        "b": _WORDS,
        "flag": st.booleans(),
        "inner": _STRUCTS,
        "atom": _STRUCTS,
        "labels": st.dictionaries(_WORDS, _WORDS, min_size=1),
        "plain": st.lists(_WORDS, min_size=1),
        "tags": st.lists(_WORDS, min_size=1, unique=True),
        "items": st.lists(_ENTRIES, min_size=1, unique_by=lambda entry: entry["name"]),
    },
)
_JSON = st.recursive(
    _NUMBERS | _WORDS | st.lists(_NUMBERS), lambda inner: st.dictionaries(_WORDS, inner), max_leaves=8
)
_OBJECTS = st.dictionaries(_WORDS, _JSON)
_PODS = st.lists(
    st.fixed_dictionaries({"name": _WORDS}, optional={"image": _WORDS, "args": st.lists(_WORDS)}),
    unique_by=lambda entry: entry["name"],
).map(lambda containers: {"spec": {"containers": containers}})


def _spec(spec: Object) -> Object:
    return {"spec": spec}


def _ordered(spec: Object) -> Object:
    """A spec with the lists whose entries have names in one order."""
    named: Object = {name: sorted(spec[name], key=str) for name in ("tags", "items") if name in spec}
    return {**spec, **named}


@given(_OBJECTS, _OBJECTS)
def test_merging_twice_is_merging_once(current: Object, patch: Object) -> None:
    """Of merge patches; an object merged into nothing is itself."""
    once = merge_patch(current, patch)
    assert merge_patch(once, patch) == once
    assert merge_patch({}, patch) == patch


@given(_OBJECTS, _OBJECTS)
def test_null_takes_back_what_was_merged(current: Object, patch: Object) -> None:
    """Removing every member that a patch has leaves the members that it does not have."""
    merged = merge_patch(current, patch)
    left = merge_patch(merged, dict.fromkeys(patch))
    assert left == {key: value for key, value in current.items() if key not in patch}


@given(_PODS, _PODS)
def test_merging_by_key_twice_is_merging_once(current: Object, patch: Object) -> None:
    """Of strategic merge patches; entries that a patch does not name stay."""
    schema = builtin("", "pods").schema
    assert schema is not None
    once = strategic_merge_patch(current, patch, schema)
    assert strategic_merge_patch(once, patch, schema) == once
    names = [{entry["name"] for entry in each["spec"]["containers"]} for each in (current, patch, once)]
    assert names[0] | names[1] == names[2]


@given(_OBJECTS, _WORDS, _JSON)
def test_json_operations_have_an_inverse(current: Object, key: str, value: Any) -> None:
    """What is added can be removed, and what is moved can be moved back."""
    current = {name: each for name, each in current.items() if name != key}
    added = json_patch(current, [{"op": "add", "path": f"/{key}", "value": value}])
    assert json_patch(added, [{"op": "remove", "path": f"/{key}"}]) == current
    there = {"op": "move", "from": f"/{key}", "path": "/elsewhere"}
    back = {"op": "move", "from": "/elsewhere", "path": f"/{key}"}
    assert json_patch(added, [there, back]) == added


@given(_SPECS, _SPECS)
def test_typed_merging_twice_is_merging_once(live: Object, applied: Object) -> None:
    """And merging what is there changes nothing."""
    once = merge(_spec(live), _spec(applied), _TYPE)
    assert merge(once, _spec(applied), _TYPE) == once
    assert merge(_spec(live), _spec(live), _TYPE) == _spec(live)


@given(_SPECS, _SPECS)
def test_differences_turn_with_their_sides(left: Object, right: Object) -> None:
    """Added one way is removed the other way; the order of entries is no difference."""
    there, back = compare(_spec(left), _spec(right), _TYPE), compare(_spec(right), _spec(left), _TYPE)
    assert (there.added, there.modified, there.removed) == (back.removed, back.modified, back.added)
    assert compare(_spec(left), _spec(_ordered(left)), _TYPE).same
    assert there.same is (_ordered(left) == _ordered(right))


@given(_SPECS, _SPECS)
def test_sets_of_fields_obey_algebra(left: Object, right: Object) -> None:
    """Unions have no order; what two sets share and what they do not make them up."""
    first, second = fields_of(_spec(left), _TYPE), fields_of(_spec(right), _TYPE)
    assert field_set.union(first, second) == field_set.union(second, first)
    assert field_set.union(first, first) == first
    assert field_set.difference(first, first) == {}
    shared, rest = field_set.intersection(first, second), field_set.difference(first, second)
    assert field_set.union(shared, rest) == first
    assert field_set.intersection(rest, second) == {}
    assert remove(_spec(left), {"f:spec": {}}, _TYPE) is None


@given(_SPECS, _SPECS)
def test_applying_twice_is_applying_once(first: Object, second: Object) -> None:
    """The object and its managers stay; what is decoded of them is encoded the same."""
    current = server_side_apply(None, thing(**first), resource=THINGS, manager="one", force=True, now=NOW)
    once = server_side_apply(current, thing(**second), resource=THINGS, manager="two", force=True, now=NOW)
    again = server_side_apply(once, thing(**second), resource=THINGS, manager="two", force=True, now=NOW)
    assert again == once
    entries = once["metadata"]["managedFields"]
    assert encode(decode(entries)) == entries
    assert compare(merge(_spec(first), _spec(second), _TYPE), _spec(once["spec"]), _TYPE).same
