"""A reader's solutions as parts of a controller: which there are, and which of their lines do which step."""

from __future__ import annotations

from pathlib import Path

import pytest

from handloop_learn.own_pieces import PARTS, own_pieces, source_of

SOLUTIONS = Path(__file__).parents[2] / "solutions"
NAMES = {name: part.file for name, part in PARTS.items()}


def test_a_part_without_a_file_is_ours() -> None:
    """The others are the reader's."""
    pieces = own_pieces({**NAMES, "sync": "not_there.py"}, SOLUTIONS)
    assert pieces.ours == ["sync"]
    assert [*pieces.modules] == [name for name in PARTS if name != "sync"]


def test_a_file_must_have_what_its_task_asks_for(tmp_path: Path) -> None:
    """By name."""
    (tmp_path / "mine.py").write_text("def works(): pass", encoding="utf-8")
    with pytest.raises(AttributeError, match=r"mine\.py has no work"):
        own_pieces({"work": "mine.py"}, tmp_path)


def test_words_about_a_step_are_not_its_line(tmp_path: Path) -> None:
    """The page shows the code below them."""
    text = "def work(queue, sync):\n    '''queue.get()'''\n    while True:\n        queue.get()\n"
    (tmp_path / "mine.py").write_text(text, encoding="utf-8")
    pieces = own_pieces({"work": "mine.py"}, tmp_path)
    assert [place.line for place in pieces.places()] == [1, 2, 3, 4]
    assert {number: lit.line for number, lit in pieces.lit().items()} == {8: 4}
    assert source_of(tmp_path / "mine.py").lines[0] == "def work(queue, sync):"


def test_the_page_shows_the_readers_line_of_each_step() -> None:
    """In the reader's own file, at the line that does it; a step that no exercise is about stays ours."""
    lit = own_pieces(NAMES, SOLUTIONS).lit()
    lines = {number: one.text.splitlines()[one.line - 1].strip() for number, one in sorted(lit.items())}
    assert lines == {
        1: "for kind, thing, version in server.watch(version):",
        4: 'return indexer.by_index("foo", f"{namespace}/{name}")',
        5: "store.add(obj)",
        6: 'tell("update" if known else "add", key)',
        8: "key = queue.get()",
        9: "foo = foos.get_by_key(str(name))",
        10: "server.create(new_deployment(foo))",
        11: "queue.forget(key)",
        12: "queue.done(key)",
    }
    assert {one.path for one in lit.values()} <= {part.file for part in PARTS.values()}
