"""The dialogue of a chapter and its reader: text, live values, source, questions, answers."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, TextIO

from handloop.walkthrough.source import Snippet

WIDTH: Final = 100


class Colour(StrEnum):
    """ANSI codes. A colour never stands alone: each line has a sign or a word, too."""

    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    CYAN = "36"


class Screen:
    """
    Writes for one reader.

    State: _prediction, what the reader answered to the last question.
    Threads: the chapter's own. Only ask and the pauses block.
    """

    def __init__(
        self, out: TextIO, keys: TextIO | None = None, *, pace_seconds: float = 0.0, plain: bool = True
    ) -> None:
        """Args: keys None = no question waits. pace_seconds = pause after a paragraph. plain = no colour."""
        self._out = out
        self._keys = keys
        self._pace_seconds = pace_seconds
        self._plain = plain
        self._prediction = ""

    def title(self, title: str, progress: str) -> None:
        """Begin a chapter."""
        self._write("\n" + self._painted(title, Colour.BOLD) + f"   {progress}\n" + "=" * len(title))

    def tell(self, text: str) -> None:
        """Write a paragraph."""
        self._write("\n" + textwrap.fill(" ".join(text.split()), WIDTH))
        self._pause()

    def show(self, **values: object) -> None:
        """Write live values, one a line; `_` in a name is a space."""
        for name, value in values.items():
            self._write(f"    {name.replace('_', ' '):<22} {value}")

    def line(self, text: str, colour: Colour = Colour.DIM) -> None:
        """Write one line as it is."""
        self._write("    " + self._painted(text, colour))

    def table(self, head: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
        """Write aligned columns."""
        cells = [tuple(map(str, row)) for row in (head, *rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        for number, row in enumerate(cells):
            text = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            self._write("    " + (self._painted(text, Colour.BOLD) if number == 0 else text))

    def code(self, snippet: Snippet, marks: Mapping[int, str] | None = None) -> None:
        """Write source lines. Args: marks by line number, such as `*` for a line that was executed."""
        self._write("\n    " + self._painted(snippet.place, Colour.CYAN))
        for number, text in enumerate(snippet.lines, snippet.line):
            mark = "" if marks is None else f"{marks.get(number, ''):1} "
            self._write(f"    {number:>4} {mark}| {text}".rstrip())

    def ask(self, question: str) -> None:
        """
        Ask for a prediction.

        Blocks: until the reader pressed Enter; never without keys.
        """
        self._write("\n" + self._painted(f"? {question}", Colour.YELLOW))
        self._prediction = self._read("  your prediction, then Enter: ")

    def reveal(self, answer: str) -> None:
        """Answer the last question."""
        if self._prediction:
            self._write(f"  you predicted: {self._prediction}")
        self._prediction = ""
        self._write("\n" + self._painted(textwrap.fill(f"= {answer}", WIDTH), Colour.GREEN))
        self._pause()

    def break_it(self, what: str) -> None:
        """
        Announce the part that is broken on purpose.

        Blocks: until the reader pressed Enter; never without keys.
        """
        self._write("\n" + self._painted(f"! Break it: {what}", Colour.RED))
        self._read("  Enter: ")

    def _painted(self, text: str, colour: Colour) -> str:
        return text if self._plain else f"\x1b[{colour}m{text}\x1b[0m"

    def _read(self, prompt: str) -> str:
        if self._keys is None:
            return ""
        self._out.write(prompt)
        self._out.flush()
        line = self._keys.readline()
        if not line:
            # the end of the input: no key will come any more
            self._keys = None
            self._write("")
        return line.strip()

    def _write(self, text: str) -> None:
        self._out.write(text + "\n")
        self._out.flush()

    def _pause(self) -> None:
        if self._pace_seconds > 0:
            time.sleep(self._pace_seconds)
