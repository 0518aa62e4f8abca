"""The recorded objects of some kinds, with their rows: for the tests of one module of cells."""

from __future__ import annotations

from typing import Any

from support.recordings import recorded

Object = dict[str, Any]


def rows(*plurals: str) -> list[Object]:
    """The lines about these kinds, of which each has to have one."""
    found = [line for line in recorded("objects") if line["plural"] in plurals]
    assert {line["plural"] for line in found} == set(plurals)
    return found


def told(line: Object) -> str:
    """The name of a case."""
    return f"{line['plural']} {line['object']['metadata']['name']}"
