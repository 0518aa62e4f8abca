"""
Checks one exercise in a separate process, because a reader's code can raise, exit, or never return.

    python -m handloop_learn.judge NUMBER FILE REPORT STACKS SECONDS

writes its report to REPORT. If the check takes longer than SECONDS, the interpreter writes the stacks of all
threads to STACKS and exits, even if the reader's code is still running.
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
    """
    The result of a check.

    right contains a sentence for each thing that the code did right. wrong describes the first failure, or is
    "". hint says what to do about it.
    """

    right: list[str] = []
    wrong: str = ""
    hint: str = ""


def judge(check: Check, file: Path) -> Report:
    """Check a file. Its errors are reported, not raised. Blocks: until the reader's code ends."""
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
    Return a text with the lines of the reader's file that led to an error.

    They are the lines at which the traceback leaves the file or ends. It leaves the file twice, for example,
    if a called function calls the reader's index function.
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
    return ", which led to ".join(calls) or "check the names that the task asks for."


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
