"""
The command line `top [--address ADDRESS] [--follow KEY] [--plain]`.

Exit codes: 0 = the key q, Ctrl-C or a closed pipe ended it; 1 = it found no program to show; 2 = the command
line is wrong, or rich is not installed.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import chain, islice
from typing import Final, TextIO

from handloop.controller.cli.terminal import drop_unwritten
from handloop_learn.top.address import parse_address, parse_key, sandbox_url
from handloop_learn.top.followed_key import FollowedKey
from handloop_learn.top.key_commands import KeyCommands
from handloop_learn.top.message_queue import MessageQueue
from handloop_learn.top.plain_lines import PlainLines
from handloop_learn.top.screen_state import ScreenState, visible
from handloop_learn.top.stream import Message, NoProgramError, Stream

EXIT_OK: Final = 0
EXIT_NO_PROGRAM: Final = 1
EXIT_USAGE: Final = 2
_KEYBOARD: Final = 0
"""The descriptor of the standard input."""


def main(arguments: Sequence[str], out: TextIO | None = None, source: Iterable[Message] | None = None) -> int:
    """
    Show a running program until q or Ctrl-C, even if the program restarts. For the main thread only.

    Args: out defaults to sys.stdout, and source to the stream at the address. Returns: the exit code.
    Raises: ModuleNotFoundError if rich is needed and not installed.
    """
    out = sys.stdout if out is None else out
    options = _parser().parse_args(arguments)
    find = sandbox_url if options.address is None else lambda: options.address
    messages = iter(Stream(find).messages() if source is None else source)
    followed = None if options.follow is None else FollowedKey(options.follow)
    show = _show_plain if options.plain or not out.isatty() else _draw
    if show is _draw:
        import_module("rich")  # report a missing rich before a missing program
    with _ended_by_signals():
        try:
            # Wait for the first message before drawing on the terminal, in case no program is found.
            first = list(islice(messages, 1))
            show(chain(first, messages), out, followed)
        except NoProgramError as error:
            sys.stderr.write(f"error: {visible(str(error))}\n")
            return EXIT_NO_PROGRAM
        except KeyboardInterrupt:
            return EXIT_OK
        except BrokenPipeError:
            drop_unwritten(sys.stdout)
    return EXIT_OK


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="top",
        description="Show a running program's steps, queues, workers and caches. Quit with q or Ctrl-C.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "--address",
        metavar="ADDRESS",
        type=parse_address,
        help="the host:port or URL where the program serves its live page (its --debug-listen); "
        "by default, that of the sandbox that runs in this folder",
    )
    parser.add_argument(
        "--follow",
        metavar="NAMESPACE/NAME",
        type=parse_key,
        help="show only one key's steps, and those of a worker while it has the key; they can be scrolled",
    )
    parser.add_argument(
        "--plain",
        action="store_true",
        help="print one line per change, without cursor control; the default if the output is not a terminal",
    )
    return parser


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Make SIGTERM end the program as Ctrl-C does, so that the terminal's cursor is restored."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_plain(messages: Iterable[Message], out: TextIO, followed: FollowedKey | None) -> None:
    screen, lines = ScreenState(), PlainLines(followed)
    for message in messages:
        screen.take(message)
        out.writelines(line + "\n" for line in lines.of(message, screen))
        out.flush()


def _draw(messages: Iterable[Message], out: TextIO, followed: FollowedKey | None) -> None:
    from rich.console import Console  # noqa: PLC0415 - --plain needs no library
    from rich.live import Live  # noqa: PLC0415 - not for --plain

    from handloop_learn.top.actions import run_control  # noqa: PLC0415 - not for --plain
    from handloop_learn.top.keyboard import has_keys, single_keys, typed  # noqa: PLC0415 - not for --plain
    from handloop_learn.top.render import render, with_footer  # noqa: PLC0415 - not for --plain

    screen = ScreenState()
    takers = (screen,) if followed is None else (screen, followed)
    with Live(render(screen, followed), console=Console(file=out), screen=True, auto_refresh=False) as live:
        if not has_keys(_KEYBOARD):
            for message in messages:
                for taker in takers:
                    taker.take(message)
                live.update(render(screen, followed), refresh=True)
            return
        with single_keys(_KEYBOARD):
            merged = MessageQueue()
            commands = KeyCommands(screen, partial(merged.follow, "top-control"), run_control, followed)
            merged.follow("top-stream", messages)
            merged.follow("top-keys", (Message("key", key) for key in typed(_KEYBOARD)))
            shown = render(screen, followed)
            for message in merged:
                for taker in (*takers, commands):
                    taker.take(message)
                if commands.ended:
                    return
                shown = shown if commands.held else render(screen, followed)
                live.update(with_footer(shown, commands.footer(), live.console), refresh=True)
