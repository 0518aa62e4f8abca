"""docs/testing-your-controller.md: its blocks are the tests of the guide's operator, and pass."""

from __future__ import annotations

import re
from pathlib import Path

import handloop.testing
from support.checks.docs_page import assert_tests_pass, blocks_of

BLOCKS = blocks_of("testing-your-controller.md")


def test_every_block_passes(tmp_path: Path) -> None:
    """Saved as files beside the guide's greeter.py, and run by a user who has installed us."""
    (tmp_path / "greeter.py").write_text(
        blocks_of("your-first-controller.md")["greeter.py"], encoding="utf-8"
    )
    for name, text in BLOCKS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert_tests_pass(tmp_path, sum(text.count("def test_") for text in BLOCKS.values()))


def test_the_page_uses_the_whole_kit() -> None:
    """Each name of the face, but for the types of what functions return; one has the page on versions."""
    text = "".join([*BLOCKS.values(), *blocks_of("how-to/versions.md").values()])
    shown = set(handloop.testing.__all__) - {"RequestAttributes", "FilledCaches"}
    assert not [name for name in shown if not re.search(rf"\b{name}\b", text)]
