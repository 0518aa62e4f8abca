from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.patches.server_side_apply import server_side_apply
from handloop_sandbox.wire.status import StatusError
from support.builders.thing import THINGS, thing
from support.recorded.apply_cases import NOW, check
from support.recorded.recordings import recorded

_STORIES = [(plural, story) for plural in ("things", "podtemplates") for story in recorded(f"apply-{plural}")]


@pytest.mark.parametrize(("plural", "story"), _STORIES)
def test_stories_go_as_recorded(plural: str, story: list[dict[str, Any]]) -> None:
    """Managers who create, apply and patch one object get the real server's objects and conflicts."""
    check(plural, story)


def _applied(current: dict[str, Any] | None, manager: str, *, force: bool = False, **spec: Any) -> Any:
    return server_side_apply(current, thing(**spec), resource=THINGS, manager=manager, force=force, now=NOW)


def test_a_field_has_one_owner_until_it_is_forced() -> None:
    """Another value is a conflict that names field and manager; the same value is shared."""
    first = _applied(None, "one", a=1, b="x")
    with pytest.raises(StatusError) as caught:
        _applied(first, "two", a=2)
    assert (caught.value.code, caught.value.status["reason"]) == (409, "Conflict")
    assert caught.value.status["message"] == 'Apply failed with 1 conflict: conflict with "one": .spec.a'
    assert _applied(first, "two", a=1)["spec"] == {"a": 1, "b": "x"}
    forced = _applied(first, "two", force=True, a=2)
    assert forced["spec"] == {"a": 2, "b": "x"}
    owners = {entry["manager"]: entry["fieldsV1"]["f:spec"] for entry in forced["metadata"]["managedFields"]}
    assert owners == {"one": {"f:b": {}}, "two": {"f:a": {}}}


def test_what_a_manager_no_longer_applies_goes() -> None:
    """Unless another manager has it, too."""
    first = _applied(None, "one", a=1, b="x")
    shared = _applied(first, "two", b="x")
    assert _applied(shared, "one", a=1)["spec"] == {"a": 1, "b": "x"}
    assert _applied(first, "one", a=1)["spec"] == {"a": 1}


def test_entries_of_a_list_have_owners_of_their_own() -> None:
    """Two managers keep one entry each of a list with keys."""
    first = _applied(None, "one", items=[{"name": "i", "v": "1"}])
    both = _applied(first, "two", items=[{"name": "j", "v": "2"}])
    assert both["spec"]["items"] == [{"name": "i", "v": "1"}, {"name": "j", "v": "2"}]
    left = _applied(both, "one")
    assert left["spec"]["items"] == [{"name": "j", "v": "2"}]
