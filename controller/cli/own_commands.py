"""
The commands that `handloop` has and users' programs do not: walkthrough, top, explore, errors, init, create
and update.

Each command parses its own arguments and is imported only when it runs. Some are extensions.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Final

from handloop.controller.cli.extensions import NotInstalledError, extension, needing
from handloop.controller.cli.problems import EXIT_USAGE
from handloop.controller.cli.terminal import show

OWN_COMMANDS: Final = {
    "walkthrough": "learn in short chapters how a controller works internally; no cluster needed",
    "top": "show a running program in the terminal: its steps, queues, workers and caches",
    "explore": "test an operator with a crash, a refusal or a competing write at each of its writes",
    "errors": "explain an operator's error code: handloop errors E12",
    "init": "create a project for your own operator: handloop init my-operator --domain example.com",
    "create": "add a kind, a controller or a view of a foreign kind to a project: handloop create --help",
    "update": "update a project to this handloop's project template, keeping your changes",
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
