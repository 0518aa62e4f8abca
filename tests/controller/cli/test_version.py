"""`version`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from handloop.controller.cli import version as version_module
from handloop.controller.cli.version import version, version_text
from handloop.controller.program import PROGRAM


def test_the_version_is_the_projects() -> None:
    """Three numbers, from the project file."""
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", version())


def test_text_and_json_agree() -> None:
    """One line for people, one object for programs."""
    facts = json.loads(version_text(PROGRAM, "json"))
    assert facts["handloop"] == version()
    assert version_text(PROGRAM, "").startswith(f"handloop {version()} (python {facts['python']}")


@pytest.mark.parametrize("beside", [None, "[tool.black]", '[project]\nname = "other"\nversion = "6"', "a["])
def test_installed_it_asks_for_its_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, beside: str | None
) -> None:
    """Some packages leave their project file among those that are installed."""
    if beside is not None:
        (tmp_path / "pyproject.toml").write_text(beside)
    monkeypatch.setattr(version_module, "__file__", str(tmp_path / "handloop/controller/cli/version.py"))
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name}-9.9.9")
    assert version() == "handloop-9.9.9"
