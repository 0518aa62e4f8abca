"""
The operator `handloop`, which `python -m controller` runs: Foo, handwritten, and MyApp, built on the runtime.

An operator of your own would do `from handloop import main`, and pass its set_up function to main. Here, each
function imports what it needs, so that `version` loads no types, and `run` loads no controllers before its
checks.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Final

from handloop.controller.cli.main import run_command
from handloop.controller.cli.operator import Operator, Setup, command_of_this_process
from handloop.controller.cli.own_commands import OWN_COMMANDS
from handloop.controller.cli.problems import EXIT_USAGE
from handloop.controller.cli.terminal import show
from handloop.controller.cli.version import version

NAMES: Final = ("foo", "myapp")


def main() -> int:
    """Run the command line of this process. Returns: the exit code; see `handloop errors`."""
    try:
        return run_command(PROGRAM)
    except ModuleNotFoundError as error:
        # only a checkout can lack libraries, because installing handloop installs them
        if error.name is None or error.name.partition(".")[0] == "handloop":
            raise
        what = f"{error.name} is not installed for {sys.executable}"
        show(f"error: {what}\n  fix: make venv, and then . .venv/bin/activate\n", sys.stderr)
        return EXIT_USAGE


def our_command(typed: str) -> str:
    """Return the command for hints: `python -m controller`, unless the user typed a form of `handloop`."""
    return typed if typed in ("handloop", "python -m handloop") else "python -m controller"


def _setups() -> Sequence[Setup]:
    from handloop.controller.bundled import SETUPS  # noqa: PLC0415

    return SETUPS


def _set_up(manager: Any, names: Sequence[str]) -> None:
    workers = manager.controller_options.max_concurrent_reconciles
    if "foo" in names:
        from handloop.controller.foo.runnable import add_foo  # noqa: PLC0415

        add_foo(manager, workers=workers)
    if "myapp" in names:
        from handloop.controller.myapp.reconciler import add_myapp  # noqa: PLC0415

        add_myapp(manager, workers=workers)


def _informer_options() -> Any:
    from handloop.controller.bundled import ABRIDGED  # noqa: PLC0415
    from handloop.informers.informer_options import InformerOptions  # noqa: PLC0415

    return InformerOptions(abridged=ABRIDGED)


PROGRAM: Final = Operator(
    name="handloop",
    command=our_command(command_of_this_process()),
    set_up=_set_up,
    setups=_setups,
    version=version,
    names=NAMES,
    workers=2,
    variables="CONTROLLER",
    informer_options=_informer_options,
    manifests="manifests",
    generator="python -m controller manifests",
    own_commands=OWN_COMMANDS,
)
