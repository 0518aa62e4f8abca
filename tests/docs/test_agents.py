"""AGENTS.md: its commands, and the files and rules that it names."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
TEXT: Final = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
(BLOCK,) = re.findall(r"^```sh\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS: Final = [line for line in BLOCK.splitlines() if line != "make install-dev"]
"""But for the one that brought what this runs with."""


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_works(command: str, tmp_path: Path) -> None:
    """As it stands, in the checkout."""
    words = [sys.executable if word == ".venv/bin/python" else word for word in shlex.split(command)]
    if words[0] == ".venv/bin/ruff":
        words[0] = str(Path(sys.executable).with_name("ruff"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    ended = subprocess.run(
        words, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_the_targets_and_files_that_it_names_are_there() -> None:
    """Also those of the table of what is generated."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"`make ([a-z-]+)", TEXT):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for path in re.findall(r"`([a-z]+/[\w./]+)`", TEXT):
        assert (ROOT / path).exists(), path
    for module in re.findall(r"`python -m ([\w.]+)`", TEXT):
        place = f"{module.replace('.', '/')}.py"
        assert any((folder / place).exists() for folder in (ROOT, ROOT / "learn")), module
