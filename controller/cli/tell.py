"""Telling people of a problem: as lines for a reader, as a log line where logs are JSON."""

from __future__ import annotations

from typing import TextIO

import structlog

from controller.cli.logs import default_format
from controller.cli.options import Options
from controller.cli.problems import Problem

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
        stream.write(f"{problem}\n")
        stream.flush()
    return problem.exit_code
