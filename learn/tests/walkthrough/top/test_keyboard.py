"""Single keys of a terminal, and `top` on one."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import pytest

from handloop.seams.step_trace import TRACE
from handloop_learn.top.keyboard import has_keys, single_keys, typed
from support.builders.live_page import page_with_controls
from support.rigs.program import ROOT, inherited

SECONDS: Final = 30.0


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """The keyboard's end of a terminal, and the program's."""
    ends = pty.openpty()
    yield ends
    for end in ends:
        with suppress(OSError):
            os.close(end)


def test_keys_come_at_once_and_the_terminal_is_as_before(terminal: tuple[int, int]) -> None:
    """Without Return; a keyboard that is gone ends it."""
    keyboard, program = terminal
    before = termios.tcgetattr(program)
    with suppress(LookupError), single_keys(program):
        assert termios.tcgetattr(program) != before
        keys = typed(program)
        os.write(keyboard, b"pf")
        assert [next(keys), next(keys)] == ["p", "f"]
        raise LookupError
    assert termios.tcgetattr(program) == before
    os.close(keyboard)
    assert list(typed(program)) == []


def test_keys_without_a_letter_have_names(terminal: tuple[int, int]) -> None:
    """As terminals send them, several at once; function keys and a lone escape are left out."""
    keyboard, program = terminal
    with single_keys(program):
        os.write(keyboard, b"\x1b[A\x1bOBa\x1b[5~\x1b[6~\x1b[H\x1b[4~\x1b[15~\x1b[1;5Ab\x1b")
        keys = typed(program)
        seen = [next(keys) for _ in range(8)]
    assert seen == ["up", "down", "a", "page up", "page down", "home", "end", "b"]


def test_a_foreign_terminal_has_no_keys(terminal: tuple[int, int]) -> None:
    """As under setsid: it is a terminal, and does not control this process."""
    code = "from handloop_learn.top.keyboard import has_keys; print(has_keys(0))"
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdin=terminal[1],
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
        check=True,
    )
    assert ended.stdout == "False\n"


def test_a_pipe_has_no_keys() -> None:
    """And neither has a terminal in whose foreground another program is."""
    ends = os.pipe()
    assert not has_keys(ends[0])
    for end in ends:
        os.close(end)


class Top:
    """`top` on a terminal of its own, as its session's foreground."""

    def __init__(self, port: int, terminal: tuple[int, int], *arguments: str) -> None:
        self.keyboard, program = terminal
        self.shown = ""
        # as a shell does: the terminal is its own, and Ctrl-C is heeded, for any parent of these tests
        code = (
            "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
            "signal.signal(signal.SIGINT, signal.SIG_DFL);"
            "os.execv(sys.executable, [sys.executable, '-m', 'handloop', 'top', *sys.argv[1:]])"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", code, f"--address=127.0.0.1:{port}", *arguments],
            cwd=ROOT,
            env={**inherited(), "TERM": "xterm", "LINES": "40", "COLUMNS": "150"},
            stdin=program,
            stdout=program,
            stderr=program,
            start_new_session=True,
        )

    def press(self, key: str) -> None:
        os.write(self.keyboard, key.encode())

    def wait(self, text: str) -> None:
        """Wait until the text is written from now on."""
        self.shown = ""
        ends_at = time.monotonic() + SECONDS
        while text not in self.shown:
            assert time.monotonic() < ends_at, self.shown
            self._read()

    def end(self) -> int:
        """Wait for its end, and read on meanwhile; the exit code."""
        ends_at = time.monotonic() + SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < ends_at, self.shown
            self._read()
        return self.process.returncode

    def _read(self) -> None:
        if select.select([self.keyboard], [], [], 0.05)[0]:
            self.shown += os.read(self.keyboard, 65536).decode(errors="replace")


@contextmanager
def top_on(terminal: tuple[int, int], port: int, *arguments: str) -> Iterator[Top]:
    top = Top(port, terminal, *arguments)
    try:
        yield top
    finally:
        top.process.kill()
        top.process.wait()


@pytest.mark.parametrize("ending", ["q", "\x03", signal.SIGTERM])
def test_every_end_gives_the_terminal_back(terminal: tuple[int, int], ending: str | signal.Signals) -> None:
    """By a key, Ctrl-C or a signal: exit code 0, and the settings as before."""
    before = termios.tcgetattr(terminal[1])
    with page_with_controls(allowed=False) as server, top_on(terminal, server.port) as top:
        top.wait("q quit")
        assert termios.tcgetattr(terminal[1]) != before
        if isinstance(ending, str):
            top.press(ending)
        else:
            top.process.send_signal(ending)
        assert top.end() == 0
        assert termios.tcgetattr(terminal[1]) == before


def test_keys_act_on_the_program(terminal: tuple[int, int]) -> None:
    """Each answer is shown, also a refusal; with the program gone, keys are still obeyed."""
    with page_with_controls(allowed=True) as server, top_on(terminal, server.port) as top:
        top.wait("w Pause the workers")
        top.press("w")
        top.wait("no worker gets a key")
        top.press("f")
        top.wait("no fail of '' here")
        top.press("p")
        top.wait("p resume")
        server.stop()
        top.press("p")
        top.wait("nothing answers")
        top.press("w")
        top.wait("not connected: ")
        top.press("q")
        assert top.end() == 0


def test_a_followed_key_is_scrolled_by_keys(terminal: tuple[int, int]) -> None:
    """Back, and to the newest again."""
    arguments = ("--follow", "default/a")
    with page_with_controls(allowed=False) as server, top_on(terminal, server.port, *arguments) as top:
        top.wait("no step of default/a yet")
        for number in range(99):
            TRACE.tell(12, "foo", "default/a", again=bool(number % 2))
        top.wait("done(): a leaves processing")
        top.press("\x1b[5~")
        top.wait("newer below")
        top.press("\x1b[F")
        top.wait("at the newest")
        top.press("q")
        assert top.end() == 0
