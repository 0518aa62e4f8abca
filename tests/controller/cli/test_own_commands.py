"""The commands that only handloop's own program has."""

from __future__ import annotations

import sys

import pytest

from handloop.controller.cli.main import run_command
from handloop.controller.program import PROGRAM
from support.builders.options import parse_options


def test_help_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    """Beside the others."""
    with pytest.raises(SystemExit):
        parse_options(["--help"], {})
    said = {" ".join(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert any(line.startswith("walkthrough learn in short chapters") for line in said)
    assert any(line.startswith("top show a running program") for line in said)
    assert any(line.startswith("init create a project") for line in said)


def test_they_read_their_own_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """By either name of the program."""
    assert run_command(PROGRAM, ["walkthrough", "list"]) == 0
    assert "chapter" in capsys.readouterr().out
    with pytest.raises(SystemExit) as caught:
        run_command(PROGRAM, ["top", "--help"])
    assert caught.value.code == 0
    assert "--address" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "missing", "extra"),
    [
        ("walkthrough", "handloop_learn", "learn"),
        ("walkthrough", "handloop_sandbox", "learn"),
        ("explore", "handloop_explore", "explore"),
        ("explore", "greenlet", "explore"),
        ("top", "handloop_learn", "learn"),
        ("top", "rich", "learn"),
    ],
)
def test_without_their_extra_they_show_how_to_get_it(
    name: str, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one sentence, exit code 2."""
    ours = (missing, "handloop_learn", "handloop_explore")
    for loaded in [module for module in sys.modules if module.startswith(ours)]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert run_command(PROGRAM, [name]) == 2
    assert capsys.readouterr().err == f'error: {name} is not installed: pip install "handloop[{extra}]"\n'
