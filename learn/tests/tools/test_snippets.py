from __future__ import annotations

from pathlib import Path

import pytest

from tools.snippets import SnippetError, filled, seen, snippet
from tools.step_tracer import Sighting

SOURCE = '''"""Words."""


class Door:
    """A door."""

    def open(self) -> int:
        """
        Open it.

        Blocks: never.
        """
        # (3) turn
        if self:
            return 1
        return 0
'''
MARK = "<!-- snippet: house/door.py Door.open | # (3) turn | return 1 -->\n"
BLOCK = "[`house/door.py`](../../house/door.py#L13)\n```python\n# (3) turn\nif self:\n    return 1\n```\n"


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with one file in it."""
    path = tmp_path / "house/door.py"
    path.parent.mkdir()
    path.write_text(SOURCE, encoding="utf-8")
    monkeypatch.setattr("tools.snippets.ROOT", tmp_path)
    return path


def test_an_object_is_cut_without_its_docstring(house: Path) -> None:
    """The signature and the code, from the line of the definition on."""
    found = snippet("house/door.py Door.open")
    assert (found.path, found.line) == ("house/door.py", 7)
    assert [line.strip() for line in found.lines] == [
        "def open(self) -> int:",
        "# (3) turn",
        "if self:",
        "return 1",
        "return 0",
    ]


def test_moved_lines_are_mended(house: Path) -> None:
    """An older block gives way to what the source has now; the words around it stay."""
    page = f"Before.\n\n{MARK}\nAfter.\n"
    first = filled(page, [])
    assert first == f"Before.\n\n{MARK}{BLOCK}\nAfter.\n"
    assert filled(first, []) == first
    house.write_text("\n\n" + SOURCE.replace("return 1", "return 11"), encoding="utf-8")
    moved = BLOCK.replace("#L13", "#L15").replace("return 1", "return 11")
    assert filled(first, []) == f"Before.\n\n{MARK}{moved}\nAfter.\n"


def test_two_marks_in_a_row_are_two_blocks(house: Path) -> None:
    """A mark without a block does not take the block of the next one."""
    assert filled(f"{MARK}\n{MARK}{BLOCK}", []) == f"{MARK}{BLOCK}\n{MARK}{BLOCK}"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ("house/window.py Window", "house/window.py cannot be read"),
        ("house/door.py Door.close", "close does not exist"),
        ("house/door.py Door.open | # (4) | return 1", r"no line contains '# \(4\)'"),
        ("house/door.py Door.open | return 0 | return 1", "no line contains 'return 1'"),
        ("house/door.py Door.open | return 1 | return 0", "indented more than a later line"),
    ],
)
def test_what_is_not_in_the_source_is_an_error(house: Path, spec: str, problem: str) -> None:
    """A renamed function or a changed line is named, and not left out."""
    with pytest.raises(SnippetError, match=problem):
        snippet(spec)


def test_what_a_step_saw_is_a_block() -> None:
    """Thread and locks once, and the values that come in and go out for each time; long ones go on below."""
    saw = [
        Sighting(8, "worker-0", ("A._lock (1)", "B._lock (2)"), "x," * 60, "y"),
        Sighting(8, "", (), "z", ""),
    ]
    assert seen(8, saw).splitlines() == [
        "```text",
        "thread   worker-0",
        "locks    A._lock (1) > B._lock (2)",
        "arrives  " + "x," * 39,
        "         " + "x," * 21,
        "leaves   y",
        "arrives  z",
        "leaves   ",
        "```",
    ]


def test_a_step_without_a_sighting_is_an_error() -> None:
    """The run of the example lost a step."""
    with pytest.raises(SnippetError, match="seen: 9: the example's run has no such step"):
        seen(9, [])
