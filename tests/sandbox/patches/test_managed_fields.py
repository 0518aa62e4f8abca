from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.patches import managed_fields
from handloop.sandbox.patches.managed_fields import capped, decode, encode, record_update
from support.apply_cases import NOW
from support.builtin import builtin
from support.thing import THINGS, thing

_API_VERSION = THINGS.api_version
_LATER = NOW + 60


def _with(obj: dict[str, Any], entries: list[dict[str, Any]]) -> dict[str, Any]:
    return {**obj, "metadata": {**obj["metadata"], "managedFields": entries}}


def _recorded(
    old: dict[str, Any] | None, new: dict[str, Any], manager: str, *, now: float = NOW, subresource: str = ""
) -> list[dict[str, Any]]:
    return record_update(old, new, resource=THINGS, manager=manager, now=now, subresource=subresource)


def test_a_creator_owns_what_it_wrote() -> None:
    """One Update entry with everything but what the server fills in."""
    (entry,) = _recorded(None, thing(a=1), "m")
    assert entry == {
        "manager": "m",
        "operation": "Update",
        "apiVersion": _API_VERSION,
        "time": "2023-11-14T22:13:20Z",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {".": {}, "f:a": {}}},
    }


def test_a_change_takes_the_field_away() -> None:
    """Who changes a value owns it alone; an entry that owns nothing any more is gone."""
    old = _with(thing(a=1, b="x"), _recorded(None, thing(a=1, b="x"), "one"))
    new = _with(thing(a=2, b="x"), old["metadata"]["managedFields"])
    owners = {
        entry["manager"]: entry["fieldsV1"]["f:spec"] for entry in _recorded(old, new, "two", now=_LATER)
    }
    assert owners == {"one": {".": {}, "f:b": {}}, "two": {"f:a": {}}}
    again = _with(thing(a=2, b="y"), old["metadata"]["managedFields"])
    assert "f:a" not in str([e for e in _recorded(old, again, "two") if e["manager"] == "one"])


def test_a_write_that_changes_nothing_changes_no_time() -> None:
    """The entries stay as they are."""
    entries = _recorded(None, thing(a=1), "one")
    same = _with(thing(a=1), entries)
    assert _recorded(same, same, "two", now=_LATER) == entries


def test_subresources_are_managers_of_their_own() -> None:
    """The same manager has one entry for the object and one for its status."""
    entries = _recorded(None, thing(a=1), "m")
    old = _with(thing(a=1), entries)
    new = {**old, "status": {"n": 1}}
    both = _recorded(old, new, "m", subresource="status")
    assert [entry.get("subresource", "") for entry in both] == ["", "status"]
    assert both[1]["fieldsV1"] == {"f:status": {".": {}, "f:n": {}}}


def test_entries_survive_decoding() -> None:
    """What is decoded is encoded the same; what is no entry is an empty set."""
    entries = _recorded(None, thing(a=1), "m")
    assert encode(decode(entries)) == entries
    assert encode(decode(None)) == []


@pytest.mark.parametrize(("writers", "kept"), [(5, 5), (10, 10), (15, 10)])
def test_old_updates_are_merged_when_there_are_too_many(writers: int, kept: int) -> None:
    """At most 10 Update entries: the oldest become one of "ancient-changes"."""
    entries: list[dict[str, Any]] = []
    for index in range(writers):
        names = [f"k{number}" for number in range(index + 1)]
        old = _with(thing(labels=dict.fromkeys(names[:-1], "1")), entries) if entries else None
        new = _with(thing(labels=dict.fromkeys(names, "1")), entries)
        entries = _recorded(old, new, f"m{index}", now=NOW + index)
    assert len(entries) == kept
    ancient = [entry for entry in entries if entry["manager"] == "ancient-changes"]
    assert bool(ancient) is (writers > 10)
    assert capped(decode(entries)) == decode(entries)


def test_a_status_is_nobodys_through_the_object() -> None:
    """What an endpoint resets is not owned by those who sent it there."""
    reset = managed_fields.reset_fields(builtin("apps", "deployments"), "")
    assert "f:status" in reset
    assert "f:spec" in managed_fields.reset_fields(builtin("apps", "deployments"), "status")
