"""Telling people: lines for a reader; a problem as a log line where logs are JSON."""

from __future__ import annotations

from contextlib import suppress
from typing import TextIO

import structlog

from handloop.controller.cli.logs import default_format
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import Problem

log = structlog.get_logger("controller")


def tell(problem: Problem, options: Options, stream: TextIO) -> int:
    """
    Say what is wrong on stream.

    Returns: the problem's exit code.
    """
    if (options.log_format or default_format(stream)) == "json":
        # whoever collects these logs expects one object per line
        write = {"error": log.error, "warning": log.warning, "info": log.info}[problem.severity]
        write(problem.what, **problem.facts(), more=problem.more)
    else:
        show(f"{problem}\n", stream)
    return problem.exit_code


def show(text: str, stream: TextIO) -> None:
    """Write lines for people. Like a line of the log they are lost where nobody can read them."""
    with suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()
