from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from handloop.testing.eventually import eventually as until
from handloop_learn import ch03_delta_fifo, program
from handloop_learn.catalog import CHAPTERS
from handloop_learn.command import COMMAND
from handloop_learn.exercise_catalog import EXERCISES
from handloop_learn.program import main
from handloop_learn.screen import Screen
from handloop_learn.waiting import NothingHappenedError
from support.checks.output import WatchedText

ROOT = Path(__file__).parents[3]
WALKTHROUGH = [sys.executable, "-m", "handloop", "walkthrough"]


def run(*arguments: str) -> tuple[int, str]:
    """The exit code and the output of a command line, without keys."""
    out = io.StringIO()
    return main(arguments, out, io.StringIO("")), out.getvalue()


def test_a_chapter_by_its_number() -> None:
    """Title, progress, and the next one."""
    code, text = run("7", "--no-pause")
    assert code == 0
    assert f"Chapter 7: rate limits and back-off   {CHAPTERS[7].progress}" in text
    assert "To keep\n  - A key that fails waits" in text
    assert re.search(f"next +{COMMAND} 8\n", text)


def test_all_chapters_until_the_reader_ends_them() -> None:
    """After a chapter: its exercise if there is one, then a pause, in which q ends the walk."""
    out = io.StringIO()
    assert main(["--pace", "0"], out, io.StringIO("\n" * 10 + "q\n")) == 0
    assert re.search(
        f"exercise +{COMMAND} check 2\n\nNext: Chapter 3: DeltaFIFO\n  Enter continues", out.getvalue()
    )
    assert "Chapter 3: DeltaFIFO   4/" not in out.getvalue()


def test_the_list() -> None:
    """A line a chapter, with its exercise."""
    code, text = run("list")
    assert code == 0
    assert [line.split()[0] for line in text.splitlines()[1:]] == [str(each.number) for each in CHAPTERS]
    assert text.count("check ") == len(EXERCISES)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["99"], f"there is no chapter 99. The chapters are 0 to {CHAPTERS[-1].number}"),
        (["\u00b2"], "there is no chapter"),
        (["check"], "`check` takes the number of a chapter"),
        (["check", "x"], "there is no chapter x"),
        (["3", "4"], "`3 4` is not a chapter"),
        (["--pace", "fast"], "fast is not a number of seconds"),
        (["--pace", "nan"], "nan is not a number of seconds"),
        (["--speed"], "unrecognized arguments"),
    ],
)
def test_a_command_line_that_makes_no_sense(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence on stderr, exit code 2."""
    assert run(*arguments)[0] == 2
    assert says in capsys.readouterr().err


def test_a_pipe_gets_plain_text() -> None:
    """No colour where the output is no terminal."""
    command = [sys.executable, "-m", "handloop", "walkthrough", "6", "--no-pause"]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "Chapter 6" in ended.stdout
    assert "\x1b" not in ended.stdout
    assert ended.stderr == ""


def reads_stdin(pid: int) -> bool:
    """Whether the main thread of a process is blocked in read(0, ...); True where there is no /proc."""
    call = Path(f"/proc/{pid}/syscall")
    return not call.exists() or call.read_text(encoding="ascii").split()[1:2] == ["0x0"]


@pytest.mark.parametrize("chapter", ["3", "5", "10"])
def test_ctrl_c_ends_quietly(chapter: str) -> None:
    """Exit code 130, no traceback and no hang, while a question waits for a key and threads run."""
    reading, writing = os.pipe()
    with subprocess.Popen(
        [*WALKTHROUGH, chapter],
        cwd=ROOT,
        stdin=reading,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # as from a terminal: a job in the background of a shell ignores SIGINT, and so do its children
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - only a signal
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        while b"prediction" not in (line := child.stdout.readline()) + child.stdout.peek():  # type: ignore[attr-defined]
            assert line, "it ended before it asked"
        # a signal between the prompt and read() would wait for the next one, as in any Python program
        until(lambda: reads_stdin(child.pid), "waiting for the answer")
        child.send_signal(signal.SIGINT)
        child.stdout.read()
        assert child.stderr.read() == b""
    os.close(reading)
    os.close(writing)
    assert child.returncode == 130


def test_a_closed_pipe_ends_quietly() -> None:
    """As in `walkthrough | head -1`."""
    with subprocess.Popen(
        [*WALKTHROUGH, "3", "--no-pause"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 0


def test_without_a_library_it_shows_how_to_get_it(tmp_path: Path) -> None:
    """Without aiohttp: one sentence, no traceback."""
    (tmp_path / "aiohttp.py").write_text("raise ModuleNotFoundError(name='aiohttp')", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    ended = subprocess.run(
        [*WALKTHROUGH, "1"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert 'pip install "handloop[learn]"' in ended.stderr


def test_the_program_does_not_pay_for_it() -> None:
    """Any other command line imports nothing of the walkthrough."""
    code = (
        "import sys; sys.argv = ['handloop', 'version']; from handloop.__main__ import main; main();"
        "print([name for name in sys.modules if name.startswith('handloop_learn')])"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines()[-1] == "[]"


def test_no_color_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal there are colours, unless NO_COLOR or --plain turns them off."""
    texts = []
    for no_color, arguments in (("", []), ("1", []), ("", ["--plain"])):
        monkeypatch.setenv("NO_COLOR", no_color)
        out = WatchedText(is_terminal=True)
        program.main(["7", "--no-pause", *arguments], out)
        texts.append("\x1b[" in out.getvalue())
    assert texts == [True, False, False]


def test_a_chapter_that_gets_stuck_ends_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it waited for, and no traceback."""

    def stuck(_screen: Screen) -> None:
        raise NothingHappenedError("waited 20 s for Godot")

    monkeypatch.setattr(ch03_delta_fifo, "chapter", stuck)
    assert run("3", "--no-pause")[0] == 1
    assert capsys.readouterr().err == "error: waited 20 s for Godot; is this machine very busy? Try again.\n"
