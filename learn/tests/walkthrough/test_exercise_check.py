from __future__ import annotations

import io
from pathlib import Path

import pytest

from handloop_learn.exercise_catalog import EXERCISES
from handloop_learn.exercise_check import check
from handloop_learn.screen import Screen

ENDLESS = "class Backoff:\n    def when(self, key):\n        while True:\n            pass\n"
HOLDS_THE_INTERPRETER = (
    "import itertools\nclass Backoff:\n    def when(self, key):\n        all(itertools.count(1))\n"
)


def said(number: int, file: Path | None, *, seconds: float = 20.0) -> tuple[bool, str]:
    """Whether all is right, and what the reader sees."""
    out = io.StringIO()
    return check(number, file, Screen(out), seconds=seconds), " ".join(out.getvalue().split())


@pytest.mark.parametrize("number", list(EXERCISES))
def test_a_starting_file_is_written_once(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It prints the next step, and never touches a file that exists."""
    monkeypatch.chdir(tmp_path)
    exercise = EXERCISES[number]
    right, text = said(number, None)
    assert right
    assert f"check {number} {exercise.file}" in text
    file = tmp_path / exercise.file
    assert file.read_text(encoding="utf-8") == exercise.start
    file.write_text("mine", encoding="utf-8")
    right, text = said(number, None)
    assert not right
    assert "was not changed" in text
    assert file.read_text(encoding="utf-8") == "mine"


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sentence."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    right, text = said(7, None)
    assert not right
    assert "Cannot write exercise_07_backoff.py here: no such file or directory." in text


def test_no_exercise_and_no_file(tmp_path: Path) -> None:
    """Sentences on the present state."""
    numbers = "2, 3, 4, 6, 7, 8, 9, 12, 13, 14, 16"
    assert f"Chapter 0 has no exercise. Chapters with exercises: {numbers}." in said(0, None)[1]
    assert "There is no file" in said(7, tmp_path / "nothing.py")[1]


def test_a_thread_that_never_ends_does_not_keep_the_answer_back(tmp_path: Path) -> None:
    """A solution is judged in a process of its own, which ends once it has judged."""
    file = tmp_path / "mine.py"
    endless = "import threading\nthreading.Thread(target=threading.Event().wait).start()\n"
    file.write_text(endless + EXERCISES[7].start, encoding="utf-8")
    right, text = said(7, file)
    assert not right
    assert "hint: Count the failures of each key." in text


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (ENDLESS, "was still running after 1 s hint: It was in line "),
        (HOLDS_THE_INTERPRETER, "was still running after 1 s hint: It was in line 4, in when()."),
        ("import os\nos._exit(0)\n", "ended the whole process"),
    ],
)
def test_code_that_never_ends_or_ends_everything(code: str, says: str, tmp_path: Path) -> None:
    """A sentence, not a hang, and not a success."""
    file = tmp_path / "mine.py"
    file.write_text(code, encoding="utf-8")
    right, text = said(7, file, seconds=1.0)
    assert not right
    assert says in text
