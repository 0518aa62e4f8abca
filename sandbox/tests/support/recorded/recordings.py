"""
What a real kube-apiserver answered, kept in sandbox/tests/recorded, one JSON value a line.

record.py asks it all again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

RECORDED: Final = Path(__file__).parents[2] / "recorded"
LONGEST: Final = 90


@cache
def recorded(name: str) -> tuple[Any, ...]:
    """The lines of a recording, read-only."""
    text = (RECORDED / f"{name}.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def keep(name: str, lines: Iterable[Any]) -> None:
    """Write a recording."""
    RECORDED.mkdir(exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n" for line in lines)
    (RECORDED / f"{name}.jsonl").write_text(text, encoding="utf-8")


def shortened(message: str) -> str:
    """A message, or the start of a long one and a digest of it all: no less to compare, but less to keep."""
    if len(message) <= LONGEST:
        return message
    return f"{message[:LONGEST]}... {hashlib.sha256(message.encode()).hexdigest()[:16]}"


Object = dict[str, Any]


def rows(*plurals: str) -> list[Object]:
    """The lines about these kinds, of which each has to have one."""
    found = [line for line in recorded("objects") if line["plural"] in plurals]
    assert {line["plural"] for line in found} == set(plurals)
    return found


def told(line: Object) -> str:
    """The name of a case."""
    return f"{line['plural']} {line['object']['metadata']['name']}"
