"""The rules of built-in kinds: what they judge of a new or changed object, and what a real server did."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import pytest

from support.recorded.mutants import check_create, check_update
from support.recorded.recordings import recorded

KNOWN: Final = frozenset(
    # an empty list is decoded as none, so that the default takes its place
    (
        ("HorizontalPodAutoscaler", "spec behavior scaleUp policies"),
        ("HorizontalPodAutoscaler", "spec behavior scaleDown policies"),
    )
)
"""What the sandbox judges differently in an update: kind and path."""


class Judged(NamedTuple):
    """One object, stored or about to be, and the answers to each of its changes."""

    name: str
    old: dict[str, Any] | None
    lines: list[dict[str, Any]]


def _creations() -> list[Judged]:
    found: dict[str, Judged] = {}
    for line in recorded("creations"):
        name = line["sample"]
        found.setdefault(name, Judged(name, None, [])).lines.append(line)
    return list(found.values())


def _updates() -> list[Judged]:
    found: list[Judged] = []
    for line in recorded("updates"):
        if "old" in line:
            found.append(Judged(line["sample"], line["old"], []))
        elif not _is_known(found[-1], line):
            found[-1].lines.append(line)
    return found


def _is_known(judged: Judged, line: dict[str, Any]) -> bool:
    where = (judged.name.split()[1], " ".join(map(str, line["path"])))
    return line["value"] == [] and where in KNOWN


@pytest.mark.parametrize("judged", _creations(), ids=lambda judged: judged.name)
def test_new_objects_are_judged_as_recorded(judged: Judged) -> None:
    """Objects of every kind with rules, changed in one member: the real server's answers."""
    for line in judged.lines:
        check_create(line)


@pytest.mark.parametrize("judged", _updates(), ids=lambda judged: judged.name)
def test_changes_are_judged_as_recorded(judged: Judged) -> None:
    """The changes that an existing object allows, and the complaints about others."""
    assert judged.old is not None
    for line in judged.lines:
        check_update(judged.old, line)
