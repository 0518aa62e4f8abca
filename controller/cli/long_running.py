"""The commands that ask a server, or are one: their log, signals, and the errors that nobody expected."""

from __future__ import annotations

import threading
from typing import TextIO

import structlog

from handloop.controller.cli.logs import TRACEBACK_VERBOSITY, LogLevel, configure_logging, default_format
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import EXIT_FATAL
from handloop.controller.cli.signals import SignalHandler
from handloop.controller.cli.terminal import printable, show

log = structlog.get_logger("controller")


def execute_until_stopped(options: Options, out: TextIO, err: TextIO) -> int:
    """
    Run doctor, sandbox or run until it ends, or a signal asks for the end. In the main thread only.

    Returns: the exit code.
    """
    level = configure_logging(options.log_format, options.verbosity, stream=err)
    stop = threading.Event()
    with SignalHandler(stop, on_stop=_say_signal, on_usr1=lambda: _cycle(level)):
        try:
            return _execute(options, stop, out, err)
        except Exception as error:
            what, fix = str(error) or type(error).__name__, "run again with -v 4 for the traceback"
            if (options.log_format or default_format(err)) == "json":
                # a collector of these logs expects one object per line, the traceback in it
                log.exception(what, fix=fix)
            elif options.verbosity >= TRACEBACK_VERBOSITY:
                raise
            else:
                show(f"error: {printable(what)}\n  fix: {fix}\n", err)
            return EXIT_FATAL


def _execute(options: Options, stop: threading.Event, out: TextIO, err: TextIO) -> int:
    match options.command:
        case "doctor":
            from handloop.controller.cli.preflight import doctor  # noqa: PLC0415

            return doctor(options, stop, out)
        case "sandbox":
            from handloop.controller.cli.sandbox_command import run_sandbox  # noqa: PLC0415

            return run_sandbox(options, stop, err)
        case _:
            from handloop.controller.cli.run import run  # noqa: PLC0415

            return run(options, stop, err)


def _say_signal(name: str) -> None:
    log.info("Received signal, shutting down", signal=name)


def _cycle(level: LogLevel) -> None:
    log.info("Log level changed", verbosity=level.cycle())
