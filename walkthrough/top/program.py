"""
The command line `top [--address ADDRESS] [--plain]`.

Exit codes: 0 = the key q, Ctrl-C or a closed pipe, as there is no other end; 2 = the command line makes no
sense, or rich is not installed.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TextIO

from handloop.walkthrough.top.address import parse_address, sandbox_url
from handloop.walkthrough.top.board import Board
from handloop.walkthrough.top.desk import Desk
from handloop.walkthrough.top.inbox import Inbox
from handloop.walkthrough.top.plain_lines import PlainLines
from handloop.walkthrough.top.stream import Stream, Told

EXIT_OK: Final = 0
EXIT_USAGE: Final = 2
_KEYBOARD: Final = 0
"""The descriptor of the standard input."""


def main(arguments: Sequence[str], out: TextIO | None = None, told: Iterable[Told] | None = None) -> int:
    """
    Show a running program until q or Ctrl-C. In the main thread only.

    Args: out None = the terminal; told None = the stream at the address. Returns: the exit code.
    Raises: ModuleNotFoundError where rich is needed and not installed.
    """
    out = sys.stdout if out is None else out
    options = _parser().parse_args(arguments)
    find = sandbox_url if options.address is None else lambda: options.address
    messages = Stream(find).messages() if told is None else told
    show = _show_plain if options.plain or not out.isatty() else _draw
    with _ended_by_signals():
        try:
            show(messages, out)
        except KeyboardInterrupt:
            return EXIT_OK
        except BrokenPipeError:
            _drop_output()
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="top",
        description="A running program in the terminal: steps, queues, workers, caches. q or Ctrl-C ends it.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        type=parse_address,
        help="where the program serves its live page (its --debug-listen): host:port or URL; "
        "without it, the sandbox that runs in this folder",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="one line a change, no cursor control; the default when the output is no terminal",
    )
    return parser


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM ends it as Ctrl-C does, so that the terminal gets its cursor back."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_plain(messages: Iterable[Told], out: TextIO) -> None:
    board, lines = Board(), PlainLines()
    for told in messages:
        board.take(told)
        out.writelines(line + "\n" for line in lines.of(told, board))
        out.flush()


def _draw(messages: Iterable[Told], out: TextIO) -> None:
    from rich.console import Console  # noqa: PLC0415 - --plain needs no library
    from rich.live import Live  # noqa: PLC0415 - the same

    from handloop.walkthrough.top.acts import act  # noqa: PLC0415 - the same
    from handloop.walkthrough.top.keyboard import has_keys, single_keys, typed  # noqa: PLC0415 - the same
    from handloop.walkthrough.top.picture import picture, with_footer  # noqa: PLC0415 - the same

    board = Board()
    with Live(picture(board), console=Console(file=out), screen=True, auto_refresh=False) as live:
        if not has_keys(_KEYBOARD):
            for told in messages:
                board.take(told)
                live.update(picture(board), refresh=True)
            return
        with single_keys(_KEYBOARD):
            inbox = Inbox()
            desk = Desk(board, partial(inbox.follow, "top-act"), act)
            inbox.follow("top-stream", messages)
            inbox.follow("top-keys", (Told("key", key) for key in typed(_KEYBOARD)))
            shown = picture(board)
            for told in inbox:
                board.take(told)
                desk.take(told)
                if desk.ended:
                    return
                shown = shown if desk.held else picture(board)
                live.update(with_footer(shown, desk.footer(), live.console), refresh=True)


def _drop_output() -> None:
    """Drop what nobody reads: the interpreter would try to write it again at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
