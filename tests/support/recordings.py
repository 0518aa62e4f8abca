"""
What a real kube-apiserver answered, kept in tests/sandbox/recorded, one JSON value a line.

`python -m support.recordings` (with tests/ on PYTHONPATH and TEST_KUBECONFIG set) asks it all again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, Final

RECORDED: Final = Path(__file__).parent.parent / "sandbox" / "recorded"


@cache
def recorded(name: str) -> tuple[Any, ...]:
    """The lines of a recording; nobody changes them."""
    text = (RECORDED / f"{name}.jsonl").read_text(encoding="utf-8")
    return tuple(json.loads(line) for line in text.splitlines())


def keep(name: str, lines: Iterable[Any]) -> None:
    """Write a recording."""
    RECORDED.mkdir(exist_ok=True)
    text = "".join(json.dumps(line, separators=(",", ":"), sort_keys=True) + "\n" for line in lines)
    (RECORDED / f"{name}.jsonl").write_text(text, encoding="utf-8")
