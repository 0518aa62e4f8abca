"""
The command line: what was asked for, done, and its exit code.

Each command is imported when it is asked for: `version` needs no logging, `manifests` no client, and neither
needs a controller.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from handloop.controller.cli.flags import UsageError, parse_options
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import EXIT_OK, EXIT_USAGE
from handloop.controller.cli.terminal import show


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run one command line.

    Returns: the exit code; see docs/errors.md.
    """
    try:
        options = parse_options(sys.argv[1:] if argv is None else argv)
    except UsageError as error:
        show(f"error: {error}\n  fix: {error.fix}\n", sys.stderr)
        return EXIT_USAGE
    try:
        return execute(options, sys.stdout, sys.stderr)
    finally:
        _give_up_what_nobody_reads(sys.stderr)


def _give_up_what_nobody_reads(stream: TextIO) -> None:
    """Drop what cannot be written. The interpreter would try again, and make the exit code 120."""
    try:
        stream.flush()
    except ValueError:
        # closed: nothing is left
        return
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def execute(options: Options, out: TextIO, err: TextIO) -> int:
    """Do what the options ask for. Results go to out, everything else to err."""
    match options.command:
        case "version":
            from handloop.controller.cli.version import version_text  # noqa: PLC0415

            out.write(version_text(options.output) + "\n")
            return EXIT_OK
        case "manifests":
            from handloop.controller.cli.manifests_command import manifests  # noqa: PLC0415

            out.write(manifests(options))
            return EXIT_OK
        case _:
            from handloop.controller.cli.long_running import execute_until_stopped  # noqa: PLC0415

            return execute_until_stopped(options, out, err)
