"""The pages of the chapters: the calls that a terminal gets, as Markdown."""

from __future__ import annotations

import pytest

from handloop_learn.catalog import CHAPTERS
from handloop_learn.source import cut
from tools.chapter_pages import FOLDER, Page, contents, file_of, lasting


def test_what_gives_an_answer_away_is_folded_with_it() -> None:
    """From the question to the answer; a page is open before and after."""
    page = Page()
    page.tell("A `key` of *two_words*  <waits>.")
    page.ask("How many?")
    page.show(runs_so_far=2)
    page.show(more=3)
    page.reveal("2.", 2)
    page.tell("Then.")
    assert page.blocks == [
        r"A `key` of \*two_words\* \<waits>.",
        "> **How many?**",
        "<details>\n<summary>What happens</summary>",
        "* runs so far: `2`\n* more: `3`",
        "**2.**",
        "</details>",
        "Then.",
    ]


def test_lines_tables_and_breaks() -> None:
    """Consecutive lines are one block; a cell keeps its bar."""
    page = Page()
    page.line("a")
    page.line("b")
    page.table(("x", ""), [("1|2", 3)])
    page.break_it("the watch breaks.", "And now?")
    assert page.blocks[:3] == [
        "```text\na\nb\n```",
        "| x |  |\n|---|---|\n| 1\\|2 | 3 |",
        "> *Break it:* the watch breaks. **And now?**",
    ]


def test_code_has_a_link_to_its_first_line() -> None:
    """With marks, the text has numbers and marks."""
    page, piece = Page(), cut(file_of, "return")
    page.code(piece)
    page.code(piece, {piece.line: "13"})
    file = "learn/tools/chapter_pages.py"
    assert page.blocks[0].startswith(f"[`{file}`](../../{file}#L{piece.line})\n```python\nreturn ")
    assert f"```text\n{piece.line:>4} 13 | return " in page.blocks[1]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("After 20 s.\n* pid: `77`\n", "After 1.5 s.\n* pid: `8`\n", True),
        ("| a |\n```text\nx\n```\nIt waits.", "| b |\n```text\ny\nz\n```\nIt waits.", True),
        ("It waits.", "It runs.", False),
        ("[`a.py`](../a.py#L12)", "[`a.py`](../a.py#L13)", False),
        ("* pid: `7`\n\nA text.\n\n* pid: `8`", "* pid: `7`\n\nA test.\n\n* pid: `8`", False),
    ],
)
def test_what_lasts_of_a_page_is_its_words_and_its_code(one: str, other: str, same: bool) -> None:
    """Values differ from run to run; a word, or a line that has moved, is another page."""
    assert (lasting(one) == lasting(other)) == same


def test_the_folder_has_a_page_for_each_chapter() -> None:
    """And the page that leads to them."""
    pages = {path.name for path in FOLDER.glob("*.md")}
    assert pages == {"index.md", "teaching.md", *(file_of(chapter).name for chapter in CHAPTERS)}
    assert (FOLDER / "index.md").read_text(encoding="utf-8") == contents()
