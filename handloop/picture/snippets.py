"""The functions that contain the twelve steps."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from handloop.picture.steps import PACKAGE, Place, Step, steps

_MOST_LINES: Final = 40


class Snippet(NamedTuple):
    """The source of the function around a step. line is the step's line; first is the text's first line."""

    number: int
    words: str
    path: str
    line: int
    first: int
    text: str


@cache
def snippets() -> dict[int, Snippet]:
    """Return the source excerpt for each step, by step number."""
    return {step.number: _snippet(step) for step in steps()}


def snippet_with(number: int, words: str) -> Snippet:
    """
    Return the source around the first line below a step's comment that contains these words.

    Raises: LookupError if no such line exists.
    """
    step = next(step for step in steps() if step.number == number)
    comment = step.comment
    lines = Path(comment.file).read_text(encoding="utf-8").splitlines()
    for line, text in enumerate(lines, 1):
        if line > comment.line and words in text:
            return _around(number, step.words, comment._replace(line=line))
    raise LookupError(f"no line below ({number}) has {words!r}")


def _snippet(step: Step) -> Snippet:
    return _around(step.number, step.words, step.comment)


def _around(number: int, words: str, place: Place) -> Snippet:
    path, line = Path(place.file), place.line
    text = path.read_text(encoding="utf-8")
    first, last = _function_around(text, line)
    if last - first >= _MOST_LINES:
        first = max(first, line - _MOST_LINES // 2)
        last = min(last, first + _MOST_LINES - 1)
    code = "\n".join(text.splitlines()[first - 1 : last])
    return Snippet(number, words, str(path.relative_to(PACKAGE)), line, first, code)


def _function_around(text: str, line: int) -> tuple[int, int]:
    """Return the first and last line numbers of the innermost function that contains a line."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    spans = ((node.lineno, node.end_lineno or node.lineno) for node in functions)
    return max(span for span in spans if span[0] <= line <= span[1])
