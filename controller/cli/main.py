"""
`main` runs an operator as a program, and calls the code of the chosen command.

Each command is imported only when it runs, because `version` needs no logging, `manifests` needs no client,
and neither needs a controller.
"""

from __future__ import annotations

import re
import sys
import threading
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn, TextIO, TypeAlias

from handloop.controller.cli.flags import UsageError, parse_options
from handloop.controller.cli.operator import Operator, SetUpError, command_of_this_process
from handloop.controller.cli.options import Options
from handloop.controller.cli.own_commands import run_own_command
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, EXIT_USAGE
from handloop.controller.cli.terminal import drop_unwritten, open_closed, printable, show
from handloop.controller.runtime.life.collector import relax_collector

SetUp: TypeAlias = Callable[[Any], object]
"""A function that adds controllers to the Manager that it receives."""


def main(
    set_up: SetUp | Sequence[SetUp],
    *,
    name: str,
    kinds: Sequence[type[Any]] | None = None,
    version: str = "",
    informer_options: Any = None,
    sample: str | Path = "",
    argv: Sequence[str] | None = None,
) -> NoReturn:
    """
    Run an operator as a program: `python greeter.py --help` shows its commands and flags.

    set_up(manager) builds the controllers and adds them to the Manager. It is called more than once, each
    time with a new manager. The first manager sends no requests. It is only used to find out what the
    controllers need. Therefore, set_up must not send requests either, and must register its own metrics
    with `manager.registry`. If there are several such functions, `--controllers` chooses among them by the
    name of the first controller that each adds.

    Args: name is used for the lease, the roles and the user agent, and as the prefix of environment
    variables. kinds are the types that need a CRD; None means the custom kinds that controllers reconcile.
    version is the operator's version. informer_options are an InformerOptions, or None for the defaults; the
    command sets resync_seconds, progress_seconds and hints. sample is a manifest, or a folder of manifests,
    that hints mention, as in `kubectl apply -f sample.yaml`. If argv is None, this process's arguments are
    used.
    Raises: SystemExit with the exit code; see `handloop errors`.
    """
    from handloop.controller.cli.dry_set_up import DrySetUp  # noqa: PLC0415 - `python -m controller` needs none

    open_closed()
    dry = DrySetUp((set_up,) if callable(set_up) else tuple(set_up), kinds, str(sample))
    try:
        operator = Operator(
            name=name,
            command=command_of_this_process(),
            set_up=dry.set_up,
            setups=dry.setups,
            version=lambda: version,
            names=dry.names(),
            informer_options=lambda: informer_options,
        )
        code = run_command(operator, argv)
    except SetUpError as error:
        cause = error.__cause__
        trace = "" if cause is None else "".join(traceback.format_exception(cause))
        show(f"{trace}error: {printable(str(error))}\n", sys.stderr)
        code = EXIT_FATAL
    sys.exit(code)


def run_command(operator: Operator, argv: Sequence[str] | None = None) -> int:
    """
    Run an operator's command line.

    Args: argv are the arguments; None means those of this process.
    Returns: the exit code; see `handloop errors`.
    """
    open_closed()
    words = _words_of_this_process() if argv is None else argv
    if words and words[0] in operator.own_commands:
        return run_own_command(words[0], words[1:])
    command, rest = _with_arguments(list(words))
    if command is not None:
        return command(operator, rest)
    try:
        options = parse_options(words, operator=operator)
    except UsageError as error:
        show(f"error: {error}\n  fix: {error.fix or f'{operator.command} --help'}\n", sys.stderr)
        return EXIT_USAGE
    # Do this before the libraries are imported, because importing them creates many long-lived objects.
    relax_collector()
    try:
        return execute(options, sys.stdout, sys.stderr)
    finally:
        drop_unwritten(sys.stderr)


def _words_of_this_process() -> list[str]:
    """
    Return the arguments of this process.

    For a kubectl plugin such as `kubectl-greeter-why`, put the command (`why`) first.
    """
    plugin = re.fullmatch(r"kubectl-.+-(doctor|plan|why)", Path(sys.argv[0]).stem)
    return [plugin[1], *sys.argv[1:]] if plugin else sys.argv[1:]


_Command: TypeAlias = Callable[[Operator, Sequence[str]], int]


def _with_arguments(words: list[str]) -> tuple[_Command | None, list[str]]:
    """
    Return the function of a command that parses its own arguments, and these arguments.

    For other commands, return None and all words.
    """
    match words:
        case ["bundle", *rest]:
            from handloop.controller.cli.bundle_command import run_bundle as run  # noqa: PLC0415
        case ["chart", *rest]:
            from handloop.controller.cli.chart_command import run_chart as run  # noqa: PLC0415
        case ["migrate-storage", *rest]:
            from handloop.controller.cli.migrate_storage_command import run_migrate_storage as run  # noqa: PLC0415
        case ["why", *rest]:
            from handloop.controller.cli.why_command import run_why as run  # noqa: PLC0415
        case ["crd", "diff", *rest]:
            from handloop.controller.cli.crd_diff_command import run_crd_diff as run  # noqa: PLC0415
        case _:
            return None, words
    return run, rest


def execute(options: Options, out: TextIO, err: TextIO) -> int:
    """Run the command that the options name. Results are written to out, everything else to err."""
    match options.command:
        case "version":
            from handloop.controller.cli.version import version_text  # noqa: PLC0415

            out.write(version_text(options.operator, options.output) + "\n")
            return EXIT_OK
        case "manifests":
            from handloop.controller.cli.manifests_command import large_definitions, manifests  # noqa: PLC0415

            out.write(manifests(options))
            show("".join(large_definitions(options)), err)
            return EXIT_OK
        case _:
            return _execute_until_stopped(options, out, err)


def _execute_until_stopped(options: Options, out: TextIO, err: TextIO) -> int:
    """
    Run a command that sends requests or starts a server. Only the main thread may call this.

    A signal stops the command.

    An unexpected error is reported on one line, or with its traceback at level 4 and above.
    """
    from handloop.controller.cli import logs  # noqa: PLC0415
    from handloop.controller.runtime.life.signals import SignalHandler  # noqa: PLC0415
    from handloop.seams.logs import get_logger  # noqa: PLC0415

    log = get_logger("controller")
    quiet = options.command == "plan"
    level = logs.configure_logging(options.log_format, options.verbosity, stream=err, quiet=quiet)
    stop = threading.Event()

    def say_signal(name: str) -> None:
        log.info("Received signal, shutting down", signal=name)

    def cycle_level() -> None:
        log.info("Log level changed", verbosity=level.cycle())

    with SignalHandler(stop, on_stop=say_signal, on_usr1=cycle_level):
        try:
            return _ask_or_serve(options, stop, out, err)
        except Exception as error:
            what, fix = str(error) or type(error).__name__, "run again with -v 4 for the traceback"
            # The traceback of an error in set_up is always shown, because set_up is the user's own code.
            in_full = isinstance(error, SetUpError) or options.verbosity >= logs.TRACEBACK_VERBOSITY
            if (options.log_format or logs.default_format(err)) == "json":
                # Log collectors expect one JSON object per line, including the traceback.
                log.exception(what, fix=fix, exc_info=in_full)
            elif in_full:
                raise
            else:
                show(f"error: {printable(what)}\n  fix: {fix}\n", err)
            return EXIT_FATAL


def _ask_or_serve(options: Options, stop: threading.Event, out: TextIO, err: TextIO) -> int:
    match options.command:
        case "doctor":
            from handloop.controller.cli.preflight import doctor  # noqa: PLC0415

            return doctor(options, stop, out)
        case "plan":
            from handloop.controller.cli.plan_command import run_plan  # noqa: PLC0415

            return run_plan(options, stop, out, err)
        case "sandbox":
            from handloop.controller.cli.sandbox_command import run_sandbox  # noqa: PLC0415

            return run_sandbox(options, stop, err)
        case _:
            from handloop.controller.cli.run import run  # noqa: PLC0415

            return run(options, stop, err)
