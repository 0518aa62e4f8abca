"""`handloop errors`: explains error codes and log lines. Prints errors.md, which every wheel contains."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from handloop.controller.cli.problems import EXIT_OK, EXIT_USAGE
from handloop.controller.cli.terminal import show
from handloop.controller.cli.values import nearest

PACKAGE: Final = "handloop.controller.cli"
_SECTIONS: Final = re.compile(r"^(?=## )", re.MULTILINE)


def run_errors(arguments: Sequence[str]) -> int:
    """
    Print the sections of errors.md that the arguments name, or the whole page.

    Args: arguments are codes such as E12, or `log` for the section about log lines.
    Returns: the exit code.
    """
    page = (files(PACKAGE) / "errors.md").read_text(encoding="utf-8")
    sections = {part.split(maxsplit=2)[1].upper(): part for part in _SECTIONS.split(page)[1:]}
    codes = [word.upper() for word in arguments]
    for code in codes:
        if code not in sections:
            have = f"; have: {', '.join(sections)}"
            show(f'error: unknown code "{code}"{nearest(code, sections, otherwise=have)}\n', sys.stderr)
            return EXIT_USAGE
    show("".join(sections[code] for code in codes) if codes else page, sys.stdout)
    return EXIT_OK
