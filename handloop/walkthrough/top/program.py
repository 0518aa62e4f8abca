"""
The command line `top [--address ADDRESS] [--plain]`.

Exit codes: 0 = the key q, Ctrl-C or a closed pipe, as there is no other end; 2 = the command line makes no
sense, or rich is not installed.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, TextIO

from handloop.controller.cli.terminal import drop_unwritten
from handloop.walkthrough.top.address import parse_address, sandbox_url
from handloop.walkthrough.top.key_commands import KeyCommands
from handloop.walkthrough.top.message_queue import MessageQueue
from handloop.walkthrough.top.plain_lines import PlainLines
from handloop.walkthrough.top.screen_state import ScreenState
from handloop.walkthrough.top.stream import Message, Stream

EXIT_OK: Final = 0
EXIT_USAGE: Final = 2
_KEYBOARD: Final = 0
"""The descriptor of the standard input."""


def main(arguments: Sequence[str], out: TextIO | None = None, source: Iterable[Message] | None = None) -> int:
    """
    Show a running program until q or Ctrl-C. In the main thread only.

    Args: out None = the terminal; source None = the stream at the address. Returns: the exit code.
    Raises: ModuleNotFoundError where rich is needed and not installed.
    """
    out = sys.stdout if out is None else out
    options = _parser().parse_args(arguments)
    find = sandbox_url if options.address is None else lambda: options.address
    messages = Stream(find).messages() if source is None else source
    show = _show_plain if options.plain or not out.isatty() else _draw
    with _ended_by_signals():
        try:
            show(messages, out)
        except KeyboardInterrupt:
            return EXIT_OK
        except BrokenPipeError:
            drop_unwritten(sys.stdout)
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


def _show_plain(messages: Iterable[Message], out: TextIO) -> None:
    screen, lines = ScreenState(), PlainLines()
    for message in messages:
        screen.take(message)
        out.writelines(line + "\n" for line in lines.of(message, screen))
        out.flush()


def _draw(messages: Iterable[Message], out: TextIO) -> None:
    from rich.console import Console  # noqa: PLC0415 - --plain needs no library
    from rich.live import Live  # noqa: PLC0415 - the same

    from handloop.walkthrough.top.actions import run_control  # noqa: PLC0415 - the same
    from handloop.walkthrough.top.keyboard import has_keys, single_keys, typed  # noqa: PLC0415 - the same
    from handloop.walkthrough.top.render import render, with_footer  # noqa: PLC0415 - the same

    screen = ScreenState()
    with Live(render(screen), console=Console(file=out), screen=True, auto_refresh=False) as live:
        if not has_keys(_KEYBOARD):
            for message in messages:
                screen.take(message)
                live.update(render(screen), refresh=True)
            return
        with single_keys(_KEYBOARD):
            merged = MessageQueue()
            commands = KeyCommands(screen, partial(merged.follow, "top-control"), run_control)
            merged.follow("top-stream", messages)
            merged.follow("top-keys", (Message("key", key) for key in typed(_KEYBOARD)))
            shown = render(screen)
            for message in merged:
                screen.take(message)
                commands.take(message)
                if commands.ended:
                    return
                shown = shown if commands.held else render(screen)
                live.update(with_footer(shown, commands.footer(), live.console), refresh=True)
