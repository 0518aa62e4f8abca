from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.patches.managed_fields import capped, decode, record_update
from support.builders.thing import THINGS, thing
from support.recorded.apply_cases import NOW

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


def test_a_write_that_changes_nothing_changes_no_time() -> None:
    """The entries stay as they are."""
    entries = _recorded(None, thing(a=1), "one")
    same = _with(thing(a=1), entries)
    assert _recorded(same, same, "two", now=_LATER) == entries


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
