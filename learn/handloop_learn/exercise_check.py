"""`check N [FILE]`: writes an exercise's starting file, or reports whether a solution is right."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from handloop_learn.command import COMMAND
from handloop_learn.exercise import Exercise
from handloop_learn.exercise_catalog import EXERCISES
from handloop_learn.judge import Report
from handloop_learn.screen import Colour, Screen

SECONDS: Final = 20.0
_START_SECONDS: Final = 40.0  # to start the interpreter and import, on a busy machine


def check(number: int, file: Path | None, screen: Screen, *, seconds: float = SECONDS) -> bool:
    """
    Write the starting file of an exercise into the working directory, or check a solution.

    Args: seconds is the time limit of the solution. Returns: whether the file was written or the solution is
    right. Blocks: until the solution has been checked or its time is up.
    """
    exercise = EXERCISES.get(number)
    if exercise is None:
        numbers = ", ".join(map(str, EXERCISES))
        screen.tell(f"Chapter {number} has no exercise. Chapters with exercises: {numbers}.")
        return False
    if file is None:
        return _hand_out(number, exercise, screen)
    if not file.is_file():
        screen.tell(f"There is no file {file}. `{COMMAND} check {number}` writes one.")
        return False
    return _tell(_judged(number, file.resolve(), seconds), screen)


def _hand_out(number: int, exercise: Exercise, screen: Screen) -> bool:
    file = Path(exercise.file)
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(exercise.start)
    except FileExistsError:
        screen.tell(
            f"{file} already exists, and was not changed. To check it: {COMMAND} check {number} {file}"
        )
        return False
    except OSError as error:
        screen.tell(f"Cannot write {file} here: {(error.strerror or str(error)).lower()}.")
        return False
    screen.tell(f"Written: {file}. In it, {exercise.task}")
    screen.tell(f"Then: {COMMAND} check {number} {file}")
    return True


def _judged(number: int, file: Path, seconds: float) -> Report:
    """Check the file in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        report, stacks = Path(folder) / "report", Path(folder) / "stacks"
        arguments = [str(number), str(file), str(report), str(stacks), str(seconds)]
        command = [sys.executable, "-m", f"{__package__}.judge", *arguments]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            subprocess.run(  # noqa: S603 - this interpreter; the file is the reader's own
                command,
                env=environment,
                timeout=_START_SECONDS + seconds,
                check=False,
                stderr=subprocess.PIPE,
            )
        except subprocess.TimeoutExpired:
            return Report(
                wrong="your code prevented the interpreter from exiting", hint="Does it ever return?"
            )
        if report.exists():
            return msgspec.json.decode(report.read_bytes(), type=Report)
        return _unfinished(stacks.read_text(encoding="utf-8") if stacks.exists() else "", file, seconds)


def _unfinished(stacks: str, file: Path, seconds: float) -> Report:
    """Return the report on code that did not finish, with the line that it had reached."""
    if not stacks:
        return Report(wrong="your code ended the whole process", hint="It should return, or raise.")
    found = re.search(rf'File "{re.escape(str(file))}", line (\d+) in (\w+)', stacks)
    where = f"line {found[1]}, in {found[2]}()" if found else "something you called"
    return Report(wrong=f"your code was still running after {seconds:g} s", hint=f"It was in {where}.")


def _tell(report: Report, screen: Screen) -> bool:
    for sentence in report.right:
        screen.line(f"right: {sentence}", Colour.GREEN)
    if report.wrong:
        screen.line(f"wrong: {report.wrong}", Colour.RED)
        screen.line(f"hint:  {report.hint}", Colour.YELLOW)
        return False
    screen.tell("Everything is right.")
    return True
