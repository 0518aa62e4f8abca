"""The recorded judgements of a real server about new and changed objects, picked for one module's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from support.recordings import recorded

Object = dict[str, Any]
Path = list[str | int]

KNOWN: frozenset[tuple[str, str]] = frozenset(
    # an empty list is decoded as none, so that the default takes its place
    (
        ("HorizontalPodAutoscaler", "spec behavior scaleUp policies"),
        ("HorizontalPodAutoscaler", "spec behavior scaleDown policies"),
    )
)
"""What the sandbox judges differently in an update: kind and path."""


class Judged(NamedTuple):
    """One object, stored or about to be, and what was said about each of its changes."""

    name: str
    old: Object | None
    lines: list[Object]


def creations(*kinds: str, about: Callable[[Path], bool] = lambda _: True) -> list[Judged]:
    """What was said about new objects of some kinds, with one member changed that about picks."""
    found: dict[str, Judged] = {}
    for line in recorded("creations"):
        name = line["sample"]
        if name.split()[1] in kinds and about(line["path"]):
            found.setdefault(name, Judged(name, None, [])).lines.append(line)
    return _telling(found.values())


def updates(*kinds: str, about: Callable[[Path], bool] = lambda _: True) -> list[Judged]:
    """The same about changes of stored objects."""
    found: list[Judged] = []
    for line in recorded("updates"):
        if "old" in line:
            found.append(Judged(line["sample"], line["old"], []))
        elif about(line["path"]) and not _is_known(found[-1], line):
            found[-1].lines.append(line)
    return _telling(each for each in found if each.name.split()[1] in kinds and each.lines)


def told(judged: Judged) -> str:
    """The name of a case."""
    return judged.name


def _telling(found: Iterable[Judged]) -> list[Judged]:
    cases = list(found)
    assert any(line["causes"] for each in cases for line in each.lines), "there is nothing to be wrong about"
    return cases


def _is_known(judged: Judged, line: Object) -> bool:
    where = (judged.name.split()[1], " ".join(map(str, line["path"])))
    return line["value"] == [] and where in KNOWN
