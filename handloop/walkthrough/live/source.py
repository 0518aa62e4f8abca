"""Where the twelve steps stand in the source: each is a comment such as `# (3) pop`."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

_ROOT: Final = Path(__file__).parents[2]
_FOLDERS: Final = ("workqueue", "informers", "controller")
_STEP: Final = re.compile(r"# \((\d+)\) (.+)$")
_MOST_LINES: Final = 40


class Snippet(NamedTuple):
    """The function in which a step stands. line is the step's own, first that of the text's first line."""

    number: int
    words: str
    path: str
    line: int
    first: int
    text: str


@cache
def snippets() -> dict[int, Snippet]:
    """The source of each step, by number."""
    found = {}
    for folder in _FOLDERS:
        for path in sorted((_ROOT / folder).rglob("*.py")):
            text = path.read_text(encoding="utf-8")
            for line, code in enumerate(text.splitlines(), 1):
                if match := _STEP.search(code):
                    found[int(match[1])] = _snippet(path, text, line, match)
    return dict(sorted(found.items()))


def _snippet(path: Path, text: str, line: int, match: re.Match[str]) -> Snippet:
    first, last = _function_around(text, line)
    if last - first >= _MOST_LINES:
        first = max(first, line - _MOST_LINES // 2)
        last = min(last, first + _MOST_LINES - 1)
    code = "\n".join(text.splitlines()[first - 1 : last])
    return Snippet(int(match[1]), match[2], str(path.relative_to(_ROOT)), line, first, code)


def _function_around(text: str, line: int) -> tuple[int, int]:
    """The first and last line of the innermost function that holds a line."""
    functions = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef))
    spans = ((node.lineno, node.end_lineno or node.lineno) for node in functions)
    return max(span for span in spans if span[0] <= line <= span[1])
