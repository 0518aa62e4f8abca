"""The explanation of errors, where the docs are not at hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from handloop.controller.cli.errors_command import run_errors

ROOT = Path(__file__).parents[3]


def test_without_a_code_it_prints_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit codes and all."""
    assert run_errors([]) == 0
    said = capsys.readouterr().out
    assert said.startswith("# Errors E01 to E22")
    assert said.count("\n## E") == 22


def test_several_codes_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    """In the order asked for."""
    assert run_errors(["e12", "E01"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("## E12\n")
    assert "\n## E01\n" in said


def test_an_unknown_code_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    """With those that exist."""
    assert run_errors(["E99"]) == 2
    assert 'error: unknown code "E99"' in capsys.readouterr().err


def test_lines_of_the_log_are_explained_as_they_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line of the table is a text of the program; "Failed to watch" is among them."""
    assert run_errors(["log"]) == 0
    lines = [
        line
        for row in re.findall(r"^\| (`.*?) \|", capsys.readouterr().out, re.MULTILINE)
        for line in re.findall(r"`(.+?)`", row)
    ]
    source = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("informers", "controller/runtime")
        for path in (ROOT / folder).rglob("*.py")
    )
    composed = {"Failed to list", "Failed to watch"}
    assert composed < set(lines)
    assert [line for line in lines if line not in composed and f'"{line}' not in source] == []
