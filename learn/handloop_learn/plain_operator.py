"""A program with only the plain Foo controller, on the built-in sandbox: `walkthrough live [FILE]`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from handloop.controller.cli.main import run_command
from handloop.controller.cli.operator import Operator, Setup
from handloop.controller.cli.problems import EXIT_USAGE
from handloop.controller.foo.runnable import add_plain_foo
from handloop.controller.program import PROGRAM
from handloop.picture.snippets import snippets


def run_live(flags: Sequence[str]) -> int:
    """
    Run the program with the live page, until Ctrl-C.

    Args: flags contains the flags of `run`. If the file of exercise 16 comes first, its pieces are used.
    Returns: the exit code.
    """
    operator = PLAIN
    if flags and (file := Path(flags[0])).suffix == ".py":
        if not file.is_file():
            sys.stderr.write(
                f"error: there is no file {file}\n  fix: handloop walkthrough check 16 writes one\n"
            )
            return EXIT_USAGE
        operator, flags = _with_pieces(file), flags[1:]
    return run_command(operator, ["run", "--sandbox", *flags])


def _with_pieces(file: Path) -> Operator:
    """Return the operator with a reader's pieces, whose lines the page shows."""
    from handloop_learn.own_controller import add_own_foo  # noqa: PLC0415 - not for the plain one
    from handloop_learn.own_pieces import load, own_pieces  # noqa: PLC0415 - not for the plain one

    pieces = own_pieces(load(file).PIECES, file.parent)
    snippets().update(pieces.lit())
    return _operator(partial(add_own_foo, pieces=pieces))


def _setups() -> tuple[Setup, ...]:
    return tuple(replace(setup, name="plain-foo") for setup in PROGRAM.setups() if setup.name == "foo")


def _operator(add: Callable[..., object]) -> Operator:
    def set_up(manager: Any, names: Sequence[str]) -> None:
        del names
        add(manager, workers=manager.controller_options.max_concurrent_reconciles)

    return replace(PROGRAM, set_up=set_up, setups=_setups, names=(), own_commands={})


PLAIN: Final = _operator(add_plain_foo)
