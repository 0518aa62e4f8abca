from __future__ import annotations

from collections.abc import Sequence

from handloop_sandbox.patches import field_set
from handloop_sandbox.patches.field_set import FieldSet

_A: FieldSet = {"f:a": {}, "f:b": {".": {}, "f:c": {}, "f:d": {}}}
_B: FieldSet = {"f:b": {"f:c": {}}, "f:e": {}}


def _set(*paths: Sequence[str]) -> FieldSet:
    found: FieldSet = {}
    for path in paths:
        field_set.insert(found, path)
    return found


def test_a_parent_of_members_is_one_itself_only_if_it_was_inserted() -> None:
    """The entry "." distinguishes the two, in any order."""
    assert _set(["f:a", "f:b"]) == {"f:a": {"f:b": {}}}
    assert _set(["f:a"], ["f:a", "f:b"]) == {"f:a": {".": {}, "f:b": {}}}
    assert _set(["f:a", "f:b"], ["f:a"]) == {"f:a": {".": {}, "f:b": {}}}
    assert _set([]) == {}


def test_paths_as_messages_show_them() -> None:
    """Names with dots, keys and values in brackets."""
    path = ("f:spec", 'k:{"port":80,"name":"x"}', "f:tags", 'v:"a"', "i:3")
    assert field_set.shown(path) == '.spec[name="x",port=80].tags[="a"][3]'


def test_graft_takes_a_whole_node() -> None:
    """A node becomes part of the set as it is."""
    fields: FieldSet = {"f:a": {}}
    field_set.graft(fields, ["f:a", "f:b"], {"f:c": {}})
    assert fields == {"f:a": {".": {}, "f:b": {"f:c": {}}}}
