"""
Fills learn/docs/walkthrough.md with pieces of the source, and with values from a running controller.

    python -m tools.snippets

A piece of the source follows a comment that names a file, an object in it and, for a part of the object, the
first and the last line:

    <!-- snippet: workqueue/queue.py Queue._take_locked | # (8) get key | return item -->

Here, the part starts at the first line with `# (8) get key`, and ends at the next line with `return item`.
The object's docstring is left out. Values follow a comment that names a step, `<!-- seen: 8 -->`; see
example_foo.py. The tool writes the block below each of these comments, with a link if it quotes source.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from typing import Final, NamedTuple

from tools.example_foo import mute, sightings
from tools.step_tracer import Sighting
from tools.steps import ROOT

PAGE: Final = ROOT / "learn/docs/walkthrough.md"
_MARKED: Final = re.compile(
    r"^<!-- (?P<what>snippet|seen): (?P<spec>[^\n]*) -->\n(?:(?:\[`[^\n]*\n)?```\w+\n.*?^```\n)?",
    re.MULTILINE | re.DOTALL,
)
_WIDTH: Final = 78
_LABEL: Final = 9

_Definition = ast.FunctionDef | ast.ClassDef


class SnippetError(Exception):
    """A comment on the page names a part that does not exist."""


class Snippet(NamedTuple):
    """Consecutive lines of a file. line: the number of the first line, counted from 1."""

    path: str
    line: int
    lines: list[str]

    def block(self) -> str:
        """Return the link and the code, as Markdown for the page."""
        text = textwrap.dedent("\n".join(self.lines))
        link = f"[`{self.path}`](../../{self.path}#L{self.line})"
        return f"{link}\n```python\n{text}\n```\n"


def snippet(spec: str) -> Snippet:
    """
    Return a piece of the source.

    Args: spec: `path object`, or `path object | first | last`.
    Raises: SnippetError if the file, the object or a line does not exist.
    """
    where, *ends = (part.strip() for part in spec.split(" | "))
    path, _, name = where.partition(" ")
    try:
        source = (ROOT / path).read_text(encoding="utf-8")
    except OSError as error:
        raise SnippetError(f"{spec}: {path} cannot be read") from error
    node = _find(ast.parse(source), name.split("."), spec)
    lines = source.splitlines()
    numbers = _numbers(node)
    if ends:
        numbers = _between(numbers, lines, ends, spec)
    cut = [lines[number - 1] for number in numbers]
    if textwrap.dedent("\n".join(cut)).startswith(" "):
        raise SnippetError(f"{spec}: the first line is indented more than a later line")
    return Snippet(path, numbers[0], cut)


def _find(tree: ast.AST, names: list[str], spec: str) -> _Definition:
    found = tree
    for name in names:
        matches = [
            node
            for node in ast.iter_child_nodes(found)
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name
        ]
        if not matches:
            raise SnippetError(f"{spec}: {name} does not exist")
        found = matches[0]
    assert isinstance(found, ast.FunctionDef | ast.ClassDef)
    return found


def _numbers(node: _Definition) -> list[int]:
    """Return the numbers of an object's lines, without its docstring."""
    assert node.end_lineno is not None
    numbers = list(range(node.lineno, node.end_lineno + 1))
    if ast.get_docstring(node) is None:
        return numbers
    words = node.body[0]
    assert words.end_lineno is not None
    return [number for number in numbers if not words.lineno <= number <= words.end_lineno]


def _between(numbers: list[int], lines: list[str], ends: Sequence[str], spec: str) -> list[int]:
    """Return the lines from the first with `ends[0]` to the next with `ends[-1]`, which can be the same."""
    first = _position(numbers, lines, 0, ends[0], spec)
    last = _position(numbers, lines, first, ends[-1], spec)
    return numbers[first : last + 1]


def _position(numbers: list[int], lines: list[str], start: int, words: str, spec: str) -> int:
    for position in range(start, len(numbers)):
        if words in lines[numbers[position] - 1]:
            return position
    raise SnippetError(f"{spec}: no line contains {words!r}")


def seen(step: int, seen_by_steps: Sequence[Sighting]) -> str:
    """
    Return a step's block, with its thread and locks, and each sighting's incoming and outgoing values.

    Raises: SnippetError if the step has no sighting.
    """
    found = [sighting for sighting in seen_by_steps if sighting.step == step]
    if not found:
        raise SnippetError(f"seen: {step}: the example's run has no such step")
    thread, locks = found[0].thread, " > ".join(found[0].locks) or "none"
    rows = [("thread", thread), ("locks", locks)]
    for sighting in found:
        rows += [("arrives", sighting.arrives), ("leaves", sighting.leaves)]
    text = "\n".join(_row(label, value) for label, value in rows)
    return f"```text\n{text}\n```\n"


def _row(label: str, value: str) -> str:
    """Return a row with a label and its value, which is wrapped after commas and spaces."""
    lines = [""]
    for piece in re.split(r"(?<=[, ])", value):
        if lines[-1] and len(lines[-1]) + len(piece) > _WIDTH:
            lines.append("")
        lines[-1] += piece
    return f"{label:<{_LABEL}}" + ("\n" + " " * _LABEL).join(line.rstrip() for line in lines)


def filled(page: str, seen_by_steps: Sequence[Sighting]) -> str:
    """
    Return the page with all blocks updated from the source and the run.

    Raises: SnippetError if a comment names a part that does not exist.
    """

    def fill(match: re.Match[str]) -> str:
        spec = match["spec"]
        block = snippet(spec).block() if match["what"] == "snippet" else seen(int(spec), seen_by_steps)
        return f"<!-- {match['what']}: {spec} -->\n{block}"

    return _MARKED.sub(fill, page)


def main() -> None:
    """Write the page."""
    mute()
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), sightings()), encoding="utf-8")


if __name__ == "__main__":
    main()
