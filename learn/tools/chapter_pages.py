"""
Runs the chapters, and writes their text and values to pages in docs/chapters.

    python -m tools.chapter_pages       # writes the pages whose words or code have changed
    python -m tools.chapter_pages 6     # writes chapter 6, with new values

A page shows each question. A collapsed section hides the answer, and everything that would reveal it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final, cast

from handloop.picture.steps import Place
from handloop.seams.quiet_logs import quiet_logs
from handloop_learn.catalog import CHAPTERS, Chapter
from handloop_learn.exercise_catalog import EXERCISES
from handloop_learn.screen import Colour, Screen, without_note
from handloop_learn.source import Snippet
from tools.recorded_runs.catalog import RUNS
from tools.steps import ROOT

FOLDER: Final = ROOT / "docs/chapters"
_UP: Final = "../.."
_CONTENTS: Final = """\
# Chapters and exercises

These chapters show how a Kubernetes controller works inside. Each chapter runs the real parts without a
cluster, and its page shows values from such a run. A chapter asks a question before it explains the answer,
and breaks things on purpose. `handloop walkthrough 6` plays chapter 6 in a terminal, and waits for your
answers. In a clone, use `make walkthrough ARGS=6`.

The chapters take about {minutes} minutes in all, without the exercises.
[For teachers](teaching.md) has plans for courses.

| | chapter | minutes | exercise |
|---|---|---|---|
{rows}
"""
_MARKUP: Final = re.compile(r"([\\*<]|(?<!\w)_|_(?!\w))")
_VALUES: Final = re.compile(
    r"^\* [^\n]*: `[^\n]*`$|^\|[^\n]*$|^```text\n.*?\n```$|(?<!#L)\b\d[\d.,]*|(?<=`)[a-z0-9-]+(?=`)",
    re.MULTILINE | re.DOTALL,
)
"""The text that may differ between runs: values, tables, text blocks, and numbers and names in sentences."""


class Page:
    """
    A Screen that produces Markdown for the site. State: blocks, the Markdown so far; _is_folded, whether the
    last question is still unanswered.
    """

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self._is_folded = False

    def tell(self, text: str) -> None:
        """Add a paragraph."""
        self.blocks.append(_plain(" ".join(text.split())))

    def show(self, **values: object) -> None:
        """Add the values of this run as a list, one item per value."""
        items = [f"* {name.replace('_', ' ')}: `{value}`" for name, value in values.items()]
        if self.blocks and self.blocks[-1].startswith("* "):
            items.insert(0, self.blocks.pop())
        self.blocks.append("\n".join(items))

    def line(self, text: str, _colour: Colour = Colour.DIM) -> None:
        """Add one line without markup. Consecutive lines form a text block."""
        if self.blocks and self.blocks[-1].startswith("```text"):
            self.blocks[-1] = f"{self.blocks[-1].removesuffix('```')}{text}\n```"
        elif text:
            self.blocks.append(f"```text\n{text}\n```")

    def table(self, head: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
        """Add a table."""
        cells = [[_plain(str(cell)).replace("|", r"\|") for cell in row] for row in (head, *rows)]
        lines = [f"| {' | '.join(row)} |" for row in cells]
        self.blocks.append("\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]]))

    def code(self, snippet: Snippet, marks: Mapping[int, str] | None = None) -> None:
        """Add source lines and a link to them. If marks are given, show each line's number and mark."""
        path = str(Place(snippet.file, snippet.line)).rpartition(":")[0]
        lines = [without_note(text) for text in snippet.lines]
        language = "python"
        if marks is not None:
            language, room = "text", max(map(len, marks.values()))
            numbers = range(snippet.line, snippet.line + len(lines))
            lines = [
                f"{number:>4} {marks.get(number, ''):{room}} | {text}".rstrip()
                for number, text in zip(numbers, lines, strict=True)
            ]
        link = f"[`{path}`]({_UP}/{path}#L{snippet.line})"
        self.blocks.append("\n".join([link, f"```{language}", *lines, "```"]))

    def ask(self, question: str) -> None:
        """Ask for a prediction. Everything from here to the answer is in a collapsed section."""
        self._ask(f"**{_plain(question)}**")

    def break_it(self, what: str, question: str = "What do you expect?") -> None:
        """Say which part is broken on purpose, and ask for a prediction."""
        self._ask(f"*Break it:* {_plain(what)} **{_plain(question)}**")

    def reveal(self, answer: str, _truth: object = None) -> None:
        """Answer the last question."""
        assert self._is_folded, answer
        self.blocks += [f"**{_plain(answer)}**", "</details>"]
        self._is_folded = False

    def _ask(self, question: str) -> None:
        assert not self._is_folded, question
        self.blocks += [f"> {question}", "<details>\n<summary>What happens</summary>"]
        self._is_folded = True


def page(chapter: Chapter, told: Page) -> str:
    """Return a chapter's complete page. Args: told: the blocks that the chapter's run produced."""
    script = import_module(f"handloop_learn.{chapter.module}")
    shown, place = [run for run in RUNS if run.name == chapter.run], chapter.page.partition("#")[2]
    about = (script.__doc__ or "").partition(": ")[2].strip()
    blocks = [
        f"# {chapter.name}",
        f"{about[0].upper()}{about[1:]}",
        *told.blocks,
        *(f"On the live page: [{run.title}]({_UP}/learn/docs/live-page/#{place})." for run in shown),
        "## To keep",
        "\n".join(f"* {_plain(sentence)}" for sentence in script.RECAP),
        f"Read on: {_read_on(chapter)}.",
        *_exercise(chapter.number),
    ]
    if chapter.next is not None:
        blocks.append(f"Next: [{chapter.next.name}]({file_of(chapter.next).name})")
    return "\n\n".join(blocks) + "\n"


def _exercise(number: int) -> list[str]:
    if number not in EXERCISES:
        return []
    exercise, command = EXERCISES[number], f"handloop walkthrough check {number}"
    task = exercise.task[0].upper() + exercise.task[1:]
    return [
        "## Exercise",
        (
            f"{_plain(task)} `{command}` creates the file below; `{command} {exercise.file}` checks your "
            "solution."
        ),
        f"```python\n{exercise.start}```",
    ]


def _read_on(chapter: Chapter) -> str:
    file, _, heading = chapter.read.partition("#")
    title = heading or (ROOT / file).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
    anchor = re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")
    return f"[{title}]({_UP}/{file}{'#' if heading else ''}{anchor})"


def _plain(text: str) -> str:
    """Escape the Markdown in a text, except for code in backquotes."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return _MARKUP.sub(r"\\\1", text).replace("`", r"\`")
    return "`".join(part if at % 2 else _MARKUP.sub(r"\\\1", part) for at, part in enumerate(parts))


def file_of(chapter: Chapter) -> Path:
    """Return the file of a chapter's page."""
    return FOLDER / f"{chapter.module.removeprefix('ch').replace('_', '-')}.md"


def lasting(text: str) -> str:
    """Return a page without the text that may differ between runs."""
    return "\n".join(line for line in _VALUES.sub("", text).splitlines() if line.strip())


def contents() -> str:
    """Return the page that links to all chapters."""
    rows = [
        f"| [{each.number}]({file_of(each).name}) | [{each.title}]({file_of(each).name}) | {each.minutes} "
        f"| {f'`check {each.number}`' if each.number in EXERCISES else ''} |"
        for each in CHAPTERS
    ]
    minutes = sum(each.minutes for each in CHAPTERS)
    return _CONTENTS.format(minutes=minutes, rows="\n".join(rows))


def tell(chapter: Chapter) -> str:
    """Run a chapter. Returns: its page."""
    told = Page()
    with quiet_logs():
        cast("Any", import_module(f"handloop_learn.{chapter.module}")).chapter(cast("Screen", told))
    return page(chapter, told)


def main() -> None:
    """Write the pages."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "index.md").write_text(contents(), encoding="utf-8")
    for chapter in CHAPTERS:
        file = file_of(chapter)
        if sys.argv[1:] and str(chapter.number) not in sys.argv[1:]:
            continue
        new = tell(chapter)
        old = file.read_text(encoding="utf-8") if file.exists() else ""
        if sys.argv[1:] or lasting(new) != lasting(old):
            file.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{file.name}\n")


if __name__ == "__main__":
    main()
