"""The plain Foo controller alone, as a program on the built-in sandbox: `walkthrough live`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from handloop.controller.cli.main import run_command
from handloop.controller.cli.operator import Setup
from handloop.controller.foo.runnable import add_plain_foo
from handloop.controller.program import PROGRAM


def run_live(flags: Sequence[str]) -> int:
    """
    Run it with the live page, until Ctrl-C.

    Args: flags are those of `run`. Returns: the exit code.
    """
    return run_command(PLAIN, ["run", "--sandbox", *flags])


def _set_up(manager: Any, names: Sequence[str]) -> None:
    del names
    add_plain_foo(manager, workers=manager.controller_options.max_concurrent_reconciles)


def _setups() -> tuple[Setup, ...]:
    return tuple(replace(setup, name="plain-foo") for setup in PROGRAM.setups() if setup.name == "foo")


PLAIN: Final = replace(PROGRAM, set_up=_set_up, setups=_setups, names=(), own_commands={})
