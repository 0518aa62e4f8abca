"""The recorded judgements of a real server about new and changed objects."""

from __future__ import annotations

from typing import Any, NamedTuple

from support.recorded.recordings import recorded

Object = dict[str, Any]

KNOWN: frozenset[tuple[str, str]] = frozenset(
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
    old: Object | None
    lines: list[Object]


def creations() -> list[Judged]:
    """The answers to new objects with one member changed."""
    found: dict[str, Judged] = {}
    for line in recorded("creations"):
        name = line["sample"]
        found.setdefault(name, Judged(name, None, [])).lines.append(line)
    return list(found.values())


def updates() -> list[Judged]:
    """The same about changes of stored objects."""
    found: list[Judged] = []
    for line in recorded("updates"):
        if "old" in line:
            found.append(Judged(line["sample"], line["old"], []))
        elif not _is_known(found[-1], line):
            found[-1].lines.append(line)
    return found


def told(judged: Judged) -> str:
    """The name of a case."""
    return judged.name


def _is_known(judged: Judged, line: Object) -> bool:
    where = (judged.name.split()[1], " ".join(map(str, line["path"])))
    return line["value"] == [] and where in KNOWN
