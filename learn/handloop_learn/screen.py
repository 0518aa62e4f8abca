"""The dialogue between a chapter and its reader: text, live values, source lines, questions and answers."""

from __future__ import annotations

import re
import textwrap
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Final, TextIO

from handloop_learn.prediction import Truth, grade
from handloop_learn.source import Snippet

NARROWEST: Final = 40
WIDEST: Final = 120
USUAL_COLUMNS: Final = 100  # if there is no terminal
_NAME_WIDTH: Final = 24  # of a shown value's name
_NOTE: Final = re.compile(r" *# (noqa|type: ignore|pragma)\b.*")  # for linters, not for readers
_ROOMY: Final = 70  # from this width on, values are shown beside their names, and blocks are indented by four


class Colour(StrEnum):
    """ANSI codes. A colour is never the only sign: each line has a symbol or a word, too."""

    BOLD = "1"
    DIM = "2"
    RED = "31"
    GREEN = "32"
    YELLOW = "33"
    CYAN = "36"


class Screen:
    """
    Writes a chapter for one reader.

    No line is wider than the reader's terminal, if the terminal has at least 40 columns. No line scrolls off
    the top before the reader has pressed Enter.

    State: _prediction is the reader's answer to the last question. _unread is the number of lines written
    since the reader last pressed Enter.
    Threads: runs on the chapter's thread; other threads can call line, which does not wait for the reader.
    Blocks: questions wait for Enter, and paragraphs end with a pause. When the terminal is full, every call
    on the chapter's thread waits for Enter.
    """

    def __init__(
        self,
        out: TextIO,
        keys: TextIO | None = None,
        *,
        pace_seconds: float = 0.0,
        plain: bool = True,
        columns: int = USUAL_COLUMNS,
        rows: int | None = None,
    ) -> None:
        """
        Write to out.

        Args: if keys is None, questions do not wait for an answer. pace_seconds is the pause after a
        paragraph. If plain is true, no colours are written. rows is the terminal's height; None = no limit.
        """
        self._out = out
        self._keys = keys
        self._pace_seconds = pace_seconds
        self._plain = plain
        self._width = max(NARROWEST, min(columns, WIDEST))
        self._indent = "    " if self._width >= _ROOMY else "  "
        self._rows = rows
        self._unread = 0
        self._thread = threading.get_ident()
        self._prediction = ""

    def title(self, title: str, progress: str) -> None:
        """Write a chapter's title, and the progress."""
        head = self._wrapped(title)
        room = self._width - len(head[-1]) - len(progress)
        apart = " " * 3 if room >= 3 else "\n"
        lines = [self._painted(line, Colour.BOLD) for line in head]
        self._write("\n" + "\n".join(lines) + apart + progress + "\n" + "=" * max(map(len, head)))

    def tell(self, text: str) -> None:
        """Write a paragraph."""
        self._write("\n" + "\n".join(self._wrapped(" ".join(text.split()))))
        self._pause()

    def show(self, **values: object) -> None:
        """Write live values, one per line, beside or below their names. `_` in a name becomes a space."""
        lines = [line for name, value in values.items() for line in self._shown(name, f"{value}")]
        self._write("\n".join(lines))

    def line(self, text: str, colour: Colour = Colour.DIM) -> None:
        """Write one line unchanged. If it is too long, it continues below."""
        parts = self._wrapped(text, self._indent, self._indent + "  ")
        self._write("\n".join(self._painted(part, colour) for part in parts))

    def table(self, head: Sequence[object], rows: Iterable[Sequence[object]]) -> None:
        """Write aligned columns. If their longest words do not fit, write each row as a sentence."""
        cells = [tuple(map(str, row)) for row in (head, *rows)]
        widths = self._column_widths(cells)
        lines: list[str] = []
        for number, row in enumerate(cells):
            if widths is not None:
                texts = [self._indent + text for text in _side_by_side(row, widths)]
                lines += texts if number else [self._painted(text, Colour.BOLD) for text in texts]
            elif number:
                named = zip(cells[0], row, strict=True)
                parts = [f"{name}: {cell}" if name else cell for name, cell in named if cell]
                lines += self._wrapped("; ".join(parts), self._indent, self._indent * 3)
        self._write("\n".join(lines))

    def code(self, snippet: Snippet, marks: Mapping[int, str] | None = None) -> None:
        """Write source lines, without notes for linters. Args: marks maps line numbers to margin texts."""
        room = max([1, *map(len, (marks or {}).values())])
        place = self._wrapped(snippet.place, self._indent)
        lines = ["", *(self._painted(part, Colour.CYAN) for part in place)]
        for number, text in enumerate(snippet.lines, snippet.line):
            mark = "" if marks is None else f"{marks.get(number, ''):{room}} "
            head = f"{self._indent}{number:>4} {mark}| "
            below = " " * (len(head) - 2) + "| " + " " * (len(text) - len(text.lstrip()) + 4)
            said = without_note(text)
            lines += self._wrapped(said, head, below) if said else [head.rstrip()]
        self._write("\n".join(lines))

    def ask(self, question: str) -> None:
        """
        Ask for a prediction.

        Blocks: until the reader has pressed Enter. Without keys, it does not block.
        """
        self._write_painted(f"? {question}", Colour.YELLOW)
        self._prediction = self._read("  your prediction, then Enter: ")

    def reveal(self, answer: str, truth: Truth | None = None) -> None:
        """Answer the last question. Args: truth grades the prediction; None = the reader judges it."""
        verdict = "" if truth is None else grade(self._prediction, truth)
        if verdict:
            self._write("\n".join(self._wrapped(verdict, "  ")))
        self._prediction = ""
        self._write_painted(f"= {answer}", Colour.GREEN)
        self._pause()

    def break_it(self, what: str, question: str = "What do you expect?") -> None:
        """
        Announce what is broken on purpose, and ask what happens then.

        Blocks: until the reader has pressed Enter. Without keys, it does not block.
        """
        self._write_painted(f"! Break it: {what}", Colour.RED)
        self.ask(question)

    def recap(self, *sentences: str) -> None:
        """End a chapter with the sentences to remember."""
        lines = [line for sentence in sentences for line in self._wrapped(sentence, "  - ", "    ")]
        self._write("\n".join(["", self._painted("To keep", Colour.BOLD), *lines]))

    def wait_for_next(self, title: str) -> bool:
        """
        Wait before the next chapter. Returns: whether the reader continues.

        Blocks: until the reader has pressed Enter. Without keys, it does not block.
        """
        self._unread = 0
        self._write_painted(f"Next: {title}", Colour.BOLD)
        return not self._read("  Enter continues, q quits: ").lower().startswith("q")

    def _shown(self, name: str, value: str) -> list[str]:
        """Return the lines of a live value, beside its name, or below it if a word is too long."""
        head = f"{self._indent}{name.replace('_', ' ')} ".ljust(_NAME_WIDTH + len(self._indent) + 1)
        if self._width >= _ROOMY and max(map(len, [*value.split(), ""])) <= self._width - len(head):
            return self._wrapped(value, head, " " * len(head))
        return [head.rstrip(), *self._wrapped(value, self._indent * 2)]

    def _column_widths(self, cells: Sequence[Sequence[str]]) -> list[int] | None:
        """Narrow the widest columns until a row fits. Returns: the widths; None if a word would break."""
        columns = [*zip(*cells, strict=True)]
        widths = [max(map(len, column)) for column in columns]
        least = [max(len(word) for cell in column for word in [*cell.split(), ""]) for column in columns]
        room = self._width - len(self._indent) - 2 * (len(columns) - 1)
        while sum(widths) > room:
            spare, column = max((width - least[number], number) for number, width in enumerate(widths))
            if not spare:
                return None
            widths[column] -= 1
        return widths

    def _wrapped(self, text: str, first: str = "", others: str | None = None) -> list[str]:
        others = first if others is None else others
        return textwrap.wrap(
            text, self._width, initial_indent=first, subsequent_indent=others, break_on_hyphens=False
        ) or [first.rstrip()]

    def _write_painted(self, text: str, colour: Colour) -> None:
        self._write("\n" + "\n".join(self._painted(line, colour) for line in self._wrapped(text, "", "  ")))

    def _painted(self, text: str, colour: Colour) -> str:
        return text if self._plain else f"\x1b[{colour}m{text}\x1b[0m"

    def _read(self, prompt: str) -> str:
        if self._keys is None:
            return ""
        self._out.write(prompt)
        self._out.flush()
        line = self._keys.readline()
        self._unread = 0
        if not line:
            # the input has ended, so no more keys will arrive
            self._keys = None
            self._write("")
        return line.strip()

    def _write(self, text: str) -> None:
        count = text.count("\n") + 1
        is_full = self._rows is not None and self._unread + count >= self._rows - 1
        if is_full and self._unread and threading.get_ident() == self._thread:
            self._read("  (Enter for more) ")
        self._unread += count
        self._out.write(text + "\n")
        self._out.flush()

    def _pause(self) -> None:
        if self._pace_seconds > 0:
            time.sleep(self._pace_seconds)


def without_note(line: str) -> str:
    """Return a source line without its notes for linters."""
    return _NOTE.sub("", line)


def _side_by_side(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """Return the lines of a row, with each cell wrapped in its column."""
    parts = [
        textwrap.wrap(cell, width, break_on_hyphens=False) if len(cell) > width else [cell]
        for cell, width in zip(row, widths, strict=True)
    ]
    count = max(map(len, parts))
    filled = [[*part, *[""] * (count - len(part))] for part in parts]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in zip(*filled, strict=True)
    ]
