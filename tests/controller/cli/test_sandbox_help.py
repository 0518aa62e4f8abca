from __future__ import annotations

from pathlib import Path

import pytest

from handloop.controller.cli.flags import parse_options
from handloop.controller.cli.sandbox_help import sandbox_differences
from handloop.sandbox.differences import DIFFERENCES, bullets

DOCS = Path(__file__).parents[3] / "docs" / "sandbox.md"


def test_the_help_lists_every_difference(capsys: pytest.CaptureFixture[str]) -> None:
    """`sandbox --help` ends with the sandbox's own list of differences."""
    with pytest.raises(SystemExit):
        parse_options(["sandbox", "--help"], {})
    assert capsys.readouterr().out.endswith(sandbox_differences())
    told = " ".join(sandbox_differences().split())
    assert all(difference.text in told for difference in DIFFERENCES)


def test_the_docs_list_the_same_differences() -> None:
    """docs/sandbox.md has the very same list, word for word and line for line."""
    assert f"\n{bullets()}" in DOCS.read_text(encoding="utf-8")
