"""AGENTS.md: the files that it names. Its commands run in test_commands.py."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
TEXT: Final = (ROOT / "AGENTS.md").read_text(encoding="utf-8")


def test_the_files_that_it_names_are_there() -> None:
    """Also those of the table of what is generated."""
    named = re.findall(r"`([a-z]+/[\w./]+)`", TEXT)
    assert named
    assert [path for path in named if not (ROOT / path).exists()] == []
