"""
The API reference: `.. face:: apis` is every name of handloop.__all__ from that folder, by module.

Docstrings are plain text in sections ("Args: ...", "Raises: ..."). They are shown as they are written: only
`code` in them is markup, and indented lines and tables keep their shape.
"""

from __future__ import annotations

import inspect
import re
from itertools import groupby
from typing import Any, Final

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import handloop

HOMES: Final[dict[str, str]] = vars(handloop)["_HOME"]
_SECTION: Final = re.compile(r"^(Args|Blocks|Fields|Follows|Locks|Raises|Returns|State|Threads):(?=\s|$)")
_CODE: Final = re.compile(r"`+([^`]+)`+")
_MARKUP: Final = re.compile(r"([\\*|_<>])")


class Face(SphinxDirective):
    """The names of the face from one folder."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A heading per module, and its names."""
        lines: list[str] = []
        for module, names in groupby(_names_of(self.arguments[0]), key=lambda name: HOMES[name]):
            title = f"handloop.{module}"
            lines += [title, "-" * len(title), ""]
            for name in names:
                lines += _entry(name)
        return self.parse_text_to_nodes(StringList(lines, "handloop"), allow_section_headings=True)


def _names_of(folder: str) -> list[str]:
    """The names from a folder, in the order of the modules."""
    return sorted(
        (name for name in HOMES if f"{HOMES[name]}.".startswith(f"{folder}.")),
        key=lambda name: (HOMES[name], name),
    )


def _entry(name: str) -> list[str]:
    """The directive of autodoc for a name."""
    value = getattr(handloop, name)
    if inspect.isclass(value):
        return [f".. autoclass:: handloop.{name}", "   :members:", ""]
    if callable(value):
        return [f".. autofunction:: handloop.{name}", ""]
    return [f".. autodata:: handloop.{HOMES[name]}.{name}", "   :no-value:", ""]


def as_written(_app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Make reStructuredText of a docstring that is plain text."""
    text: list[str] = []
    for is_literal, block in groupby(lines, key=lambda line: line.startswith(("    ", "|", "- "))):
        if is_literal:
            text += ["", "::", "", *(f"    {line}" for line in block), ""]
        else:
            for line in block:
                text += ["", plain(line)] if _SECTION.match(line) else [plain(line)]
    lines[:] = text


def plain(line: str) -> str:
    """A line without markup but code and the name of its section."""
    parts = [
        f"``{part}``" if is_code else _MARKUP.sub(r"\\\1", part)
        for is_code, part in ((at % 2 == 1, part) for at, part in enumerate(_CODE.split(line)))
    ]
    return _SECTION.sub(r"**\1:**", "".join(parts))


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("face", Face)
    app.connect("autodoc-process-docstring", as_written)
    return {"parallel_read_safe": True}
