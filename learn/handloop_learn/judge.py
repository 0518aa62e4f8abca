"""
Runs one exercise in a separate process, because a reader's code may raise, exit, or never end.

    python -m handloop_learn.judge NUMBER FILE REPORT STACKS SECONDS

writes what it found to REPORT. If that takes longer than SECONDS, the interpreter writes the stacks of all
threads to STACKS and ends, in the middle of the code.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import sys
import traceback
from functools import partial
from pathlib import Path

import msgspec

from handloop.seams.quiet_logs import quiet_logs
from handloop_learn.exercise import Check, WrongError
from handloop_learn.exercise_catalog import EXERCISES
from handloop_learn.own_pieces import load


class Report(msgspec.Struct):
    """right = sentences on correct parts; wrong = the first failure, "" for none; hint = what to do."""

    right: list[str] = []
    wrong: str = ""
    hint: str = ""


def judge(check: Check, file: Path) -> Report:
    """Check a file. Never raises because of what the file does. Blocks: as long as the reader's code."""
    report = Report()
    try:
        for sentence in check(partial(load, file)):
            report.right.append(sentence)
    except WrongError as wrong:
        report.wrong, report.hint = str(wrong), wrong.hint
    except BaseException as error:  # noqa: BLE001 - SystemExit, too, is only something that the reader wrote
        report.wrong, report.hint = f"your code raised {_said(error)}", _where(error, file)
    return report


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _where(error: BaseException, file: Path) -> str:
    """
    The reader's line in an error's traceback: the last line of their file before other code takes over.

    If that code calls back into the reader's file, such as an index function, that line is named, too.
    """
    if isinstance(error, SyntaxError):
        return f"line {error.lineno} is not valid Python."
    calls = []
    for is_readers, frames in itertools.groupby(
        traceback.extract_tb(error.__traceback__), lambda frame: Path(frame.filename) == file
    ):
        if is_readers:
            *_, last = frames
            calls.append(f"line {last.lineno}: {last.line}")
    return ", which led to ".join(calls) or "look at what the task asks for by name."


def main() -> None:
    """Judge the file in the arguments."""
    number, file, report, stacks, seconds = sys.argv[1:]
    with Path(stacks).open("w", encoding="utf-8") as where, quiet_logs():
        faulthandler.dump_traceback_later(float(seconds), exit=True, file=where)
        found = judge(EXERCISES[int(number)].check, Path(file))
        faulthandler.cancel_dump_traceback_later()
    Path(report).write_bytes(msgspec.json.encode(found))
    sys.stdout.flush()
    # a thread that the reader started may never end
    os._exit(0)


if __name__ == "__main__":
    main()
