"""
The command line: `python -m handloop walkthrough [N | list | check N [FILE]]`.

Exit codes: 0; 1 = an exercise is not right yet, or a chapter waited too long; 2 = the command line is wrong;
130 = Ctrl-C.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn, TextIO

from handloop.controller.cli.terminal import drop_unwritten
from handloop.seams.quiet_logs import quiet_logs
from handloop_learn.catalog import CHAPTERS, Chapter
from handloop_learn.command import COMMAND
from handloop_learn.screen import USUAL_COLUMNS, Screen
from handloop_learn.waiting import NothingHappenedError

EXIT_OK: Final = 0
EXIT_WRONG: Final = 1
EXIT_USAGE: Final = 2
EXIT_INTERRUPTED: Final = 130
PACE_SECONDS: Final = 0.5
LONGEST_PACE_SECONDS: Final = 60
_LAST: Final = CHAPTERS[-1].number


class UsageError(Exception):
    """The command line is wrong. The message names the command to type."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def main(arguments: Sequence[str], out: TextIO | None = None, keys: TextIO | None = None) -> int:
    """
    Run the command that the words after `walkthrough` name.

    Args: out and keys default to sys.stdout and sys.stdin. Returns: the exit code.
    """
    if arguments[:1] == ["live"]:
        from handloop_learn.plain_operator import run_live  # noqa: PLC0415 - a separate program

        return run_live(arguments[1:])
    out = sys.stdout if out is None else out
    try:
        options = _parser().parse_args(arguments)
        job = _job(options.what)
        return _run(job, options, out, sys.stdin if keys is None else keys)
    except UsageError as error:
        sys.stderr.write(f"error: {error}\n")
        return EXIT_USAGE


def _parser() -> _Parser:
    parser = _Parser(
        prog=COMMAND,
        description="Short chapters that show how a Kubernetes controller works inside, with its real parts.",
        epilog=f"""
  {COMMAND}              all chapters
  {COMMAND} 3            chapter 3
  {COMMAND} list         list the chapters
  {COMMAND} live [FILE]  the plain controller, or that of exercise 16, on the live page, until Ctrl-C
  {COMMAND} check 6      write the exercise of chapter 6
  {COMMAND} check 6 FILE check your solution
""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "what", nargs="*", help="a chapter, `list`, or `check N [FILE]`; without it, all chapters"
    )
    parser.add_argument(
        "--pace",
        metavar="N",
        type=_seconds,
        default=PACE_SECONDS,
        help=f"seconds between paragraphs ({PACE_SECONDS})",
    )
    parser.add_argument("--no-pause", action="store_true", help="do not wait for keys, and do not pause")
    parser.add_argument(
        "--plain", action="store_true", help="no colours; the default if there is no terminal"
    )
    return parser


def _seconds(text: str) -> float:
    with suppress(ValueError):
        seconds = float(text)
        if 0 <= seconds <= LONGEST_PACE_SECONDS:
            return seconds
    raise argparse.ArgumentTypeError(f"{text} is not a number of seconds from 0 to {LONGEST_PACE_SECONDS}")


def _job(what: Sequence[str]) -> Callable[[Screen], int]:
    match what:
        case []:
            return lambda screen: _tell(CHAPTERS, screen)
        case ["list"]:
            return _list
        case ["check", number] | ["check", number, _]:
            from handloop_learn import exercise_check  # noqa: PLC0415 - only this needs it

            file = Path(what[2]) if what[2:] else None
            chapter = _chapter(number).number
            return lambda screen: EXIT_OK if exercise_check.check(chapter, file, screen) else EXIT_WRONG
        case ["check", *_]:
            raise UsageError(f"`check` takes the number of a chapter, and a file: see `{COMMAND} list`")
        case [number]:
            chosen = _chapter(number)
            return lambda screen: _tell([chosen], screen)
        case _:
            raise UsageError(f"`{' '.join(what)}` is not a chapter, `list`, or `check N [FILE]`")


def _chapter(number: str) -> Chapter:
    for chapter in CHAPTERS:
        if number.isdecimal() and chapter.number == int(number):
            return chapter
    raise UsageError(f"there is no chapter {number}. The chapters are 0 to {_LAST}; see `{COMMAND} list`")


def _tell(chapters: Sequence[Chapter], screen: Screen) -> int:
    from handloop_learn.exercise_catalog import EXERCISES  # noqa: PLC0415 - not for other jobs

    for chapter in chapters:
        chapter.tell(screen)
        if chapter.number in EXERCISES:
            screen.show(exercise=f"{COMMAND} check {chapter.number}")
        if chapter.next is None:
            screen.show(next=f"{COMMAND} list, for the exercises; or {COMMAND} live")
            break
        if chapter is chapters[-1]:
            screen.show(next=f"{COMMAND} {chapter.next.number}")
        elif not screen.wait_for_next(chapter.next.name):
            screen.show(next=f"{COMMAND} {chapter.next.number}")
            break
    return EXIT_OK


def _list(screen: Screen) -> int:
    from handloop_learn.exercise_catalog import EXERCISES  # noqa: PLC0415 - only this needs it

    screen.table(
        ("chapter", "", "minutes", "exercise"),
        [
            (c.number, c.title, c.minutes, f"check {c.number}" if c.number in EXERCISES else "")
            for c in CHAPTERS
        ],
    )
    return EXIT_OK


def _run(job: Callable[[Screen], int], options: argparse.Namespace, out: TextIO, keys: TextIO) -> int:
    """Do a job. Ctrl-C and a closed pipe end it without a traceback."""
    plain = options.plain or not out.isatty() or bool(os.environ.get("NO_COLOR"))
    if isinstance(out, io.TextIOWrapper):
        out.reconfigure(errors="replace")  # a terminal that lacks a character shows `?`
    size = shutil.get_terminal_size() if out.isatty() else os.terminal_size((USUAL_COLUMNS, 0))
    screen = Screen(
        out,
        None if options.no_pause else keys,
        pace_seconds=0.0 if options.no_pause else options.pace,
        plain=plain,
        columns=size.columns,
        rows=size.lines if out.isatty() else None,
    )
    try:
        with quiet_logs():
            return job(screen)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except NothingHappenedError as error:
        sys.stderr.write(f"error: {error}; is this machine very busy? Try again.\n")
        return EXIT_WRONG
    except BrokenPipeError:
        drop_unwritten(out)
        return EXIT_OK
