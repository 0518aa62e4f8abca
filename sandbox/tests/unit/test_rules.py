"""The rules of built-in kinds: what they judge of a new or changed object, and what a real server did."""

from __future__ import annotations

import pytest

from support.recorded.mutants import check_create, check_update
from support.recorded.recorded_rules import Judged, creations, told, updates


@pytest.mark.parametrize("judged", creations(), ids=told)
def test_new_objects_are_judged_as_recorded(judged: Judged) -> None:
    """Objects of every kind with rules, changed in one member: the real server's answers."""
    for line in judged.lines:
        check_create(line)


@pytest.mark.parametrize("judged", updates(), ids=told)
def test_changes_are_judged_as_recorded(judged: Judged) -> None:
    """The changes that an existing object allows, and the complaints about others."""
    assert judged.old is not None
    for line in judged.lines:
        check_update(judged.old, line)
