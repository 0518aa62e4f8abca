from __future__ import annotations

import sys
from pathlib import Path

import pytest

from handloop_learn.command import python


def test_the_interpreter_as_the_reader_can_type_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Short in an active environment, from the root of a checkout, or on the PATH; else in full."""
    interpreter = tmp_path / ".venv" / "bin" / "python"
    monkeypatch.setattr(sys, "executable", str(interpreter))
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / ".venv"))
    assert python() == "python"
    monkeypatch.delenv("VIRTUAL_ENV")
    assert python() == str(interpreter)
    monkeypatch.chdir(tmp_path)
    assert python() == ".venv/bin/python"
    monkeypatch.chdir("/")
    monkeypatch.setenv("PATH", str(interpreter.parent))
    assert python() in {"python", str(interpreter).lstrip("/")}
