"""
The command line: what was asked for, done, and its exit code.

Each command is imported when it is asked for: `version` needs neither a client nor a controller.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from typing import TextIO

import structlog

from handloop.controller.cli.flags import UsageError, parse_options
from handloop.controller.cli.logs import TRACEBACK_VERBOSITY, LogLevel, configure_logging, default_format
from handloop.controller.cli.options import Options
from handloop.controller.cli.printable import printable
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, EXIT_USAGE
from handloop.controller.cli.signals import SignalHandler
from handloop.controller.cli.tell import show

log = structlog.get_logger("controller")


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run one command line.

    Returns: the exit code; see docs/errors.md.
    """
    try:
        options = parse_options(sys.argv[1:] if argv is None else argv)
    except UsageError as error:
        show(f"error: {error}\n  fix: python -m controller --help\n", sys.stderr)
        return EXIT_USAGE
    try:
        return execute(options, sys.stdout, sys.stderr)
    finally:
        _give_up_what_nobody_reads(sys.stderr)


def _give_up_what_nobody_reads(stream: TextIO) -> None:
    """Else the interpreter tries once more to write what is left, and makes the exit code 120."""
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
    if options.command == "version":
        from handloop.controller.cli.version import version_text  # noqa: PLC0415

        out.write(version_text(options.output) + "\n")
        return EXIT_OK
    if options.command == "manifests":
        from handloop.controller.cli.manifests_command import manifests  # noqa: PLC0415

        out.write(manifests(options))
        return EXIT_OK
    level = configure_logging(options.log_format, options.verbosity, stream=err)
    stop = threading.Event()
    with SignalHandler(stop, on_stop=_say_signal, on_usr1=lambda: _cycle(level)):
        return _serve(options, stop, out, err)


def _serve(options: Options, stop: threading.Event, out: TextIO, err: TextIO) -> int:
    try:
        if options.command == "doctor":
            from handloop.controller.cli.doctor_command import doctor  # noqa: PLC0415

            return doctor(options, stop, out)
        if options.command == "sandbox":
            from handloop.controller.cli.sandbox_command import run_sandbox  # noqa: PLC0415

            return run_sandbox(options, stop, err)
        from handloop.controller.cli.run import run  # noqa: PLC0415

        return run(options, stop, err)
    except Exception as error:
        what, fix = str(error) or type(error).__name__, "run again with -v 4 for the traceback"
        if (options.log_format or default_format(err)) == "json":
            # whoever collects these logs expects one object per line, the traceback in it
            log.exception(what, fix=fix)
        elif options.verbosity >= TRACEBACK_VERBOSITY:
            raise
        else:
            show(f"error: {printable(what)}\n  fix: {fix}\n", err)
        return EXIT_FATAL


def _say_signal(name: str) -> None:
    log.info("Received signal, shutting down", signal=name)


def _cycle(level: LogLevel) -> None:
    log.info("Log level changed", verbosity=level.cycle())
