"""
The commands that only `handloop` has, not users' programs: walkthrough, top, errors, init, create, update.

They parse their own arguments, and some are extensions. Each is imported when it runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from handloop.controller.cli.extensions import NotInstalledError, extension, needing
from handloop.controller.cli.problems import EXIT_USAGE
from handloop.controller.cli.terminal import show

OWN_COMMANDS: Final = {
    "walkthrough": "learn in short chapters how a controller works inside; no cluster needed",
    "top": "show a running program in the terminal: its steps, queues, workers and caches",
    "explore": "run an operator with a crash, a refusal or a rival at each of its writes",
    "errors": "explain an error of any operator: handloop errors E12",
    "init": "create the project of your own operator: handloop init my-operator --domain example.com",
    "create": "add to a project: a kind, a controller, a view of a foreign kind: handloop create --help",
    "update": "merge what is new in this handloop's scaffold into a project, keeping your changes",
}


def run_own_command(name: str, arguments: Sequence[str]) -> int:
    """Run one of the commands. Returns: the exit code."""
    if name in ("init", "create", "update"):
        from handloop.controller.cli.scaffold_command import run_scaffold  # noqa: PLC0415 - tomllib, argparse

        return run_scaffold(name, arguments)
    if name == "errors":
        from handloop.controller.cli.errors_command import run_errors  # noqa: PLC0415 - importlib.resources

        return run_errors(arguments)
    try:
        with needing(name):
            code: int = extension(name).main(arguments)
    except NotInstalledError as error:
        show(f"error: {error}\n", sys.stderr)
        return EXIT_USAGE
    return code
