"""`top` as a command."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from handloop_learn.top.program import main
from handloop_learn.top.stream import Message
from support.builders.live_page import CONNECTED, new_server, serving, snapshot, step
from support.checks.output import WatchedText

ROOT = Path(__file__).parents[4]
TOP = [sys.executable, "-m", "handloop", "top"]


def interrupted(*messages: Message) -> Iterator[Message]:
    """Messages, then Ctrl-C."""
    yield from messages
    raise KeyboardInterrupt


def test_without_a_terminal_it_writes_lines() -> None:
    """No cursor control; Ctrl-C is the ordinary end."""
    out = io.StringIO()
    assert main([], out, interrupted(CONNECTED, snapshot(), Message("steps", [step(7, "queued")]))) == 0
    assert "(7) queued\n" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_on_a_terminal_it_draws_and_leaves_it_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the alternate screen, with the cursor back at the end; --plain writes lines there, too."""
    monkeypatch.setenv("TERM", "xterm")
    out = WatchedText(is_terminal=True)
    assert main([], out, interrupted(CONNECTED, snapshot())) == 0
    assert "caches synced" in out.getvalue()
    assert out.getvalue().rindex("\x1b[?25h") > out.getvalue().rindex("caches synced")
    plain = WatchedText(is_terminal=True)
    assert main(["--plain"], plain, interrupted(CONNECTED, snapshot())) == 0
    assert "\x1b" not in plain.getvalue()


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order(ending: signal.Signals) -> None:
    """Exit code 0, no traceback; also while it waits for a program that has ended."""
    with (
        serving(new_server()) as server,
        subprocess.Popen(
            [*TOP, f"--address=127.0.0.1:{server.port}"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            # what a shell starts in the background ignores it, and hands that down
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - only a signal
        ) as started,
    ):
        assert started.stdout is not None
        assert b"connected to" in started.stdout.readline()
        server.stop()
        while b"nothing answers at" not in started.stdout.readline():
            pass
        started.send_signal(ending)
        _, complaints = started.communicate(timeout=20)
    assert (started.returncode, complaints) == (0, b"")


def test_without_a_program_it_says_so_and_ends(tmp_path: Path) -> None:
    """At an address where nothing serves, and in a folder without a sandbox; nothing is drawn."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for arguments, says in (
        (["--address=127.0.0.1:1"], "error: nothing answers at 127.0.0.1:1: connection refused\n"),
        (
            ["--follow=default/a"],
            "error: no sandbox with a live page runs in this folder (.sandbox/live-url is",
        ),
    ):
        ended = subprocess.run(
            [*TOP, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert (ended.returncode, ended.stdout) == (1, "")
        assert ended.stderr.startswith(says)


def test_a_key_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With what to give."""
    for key in ("a/b/c", "/a", "a/", ""):
        with pytest.raises(SystemExit) as caught:
            main(["--follow", key])
        assert caught.value.code == 2
        assert "write namespace/name, such as default/example-foo" in capsys.readouterr().err


def test_a_reader_that_goes_away_ends_it() -> None:
    """`top --plain | head -1`."""
    code = (
        "import sys; from handloop_learn.top.program import main;"
        "from support.builders.live_page import *;"
        "sys.exit(main([], None, [snapshot(missed=n) for n in range(1, 9999)]))"
    )
    paths = (ROOT, ROOT / "tests", ROOT / "learn/tests")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as started:
        assert started.stdout is not None
        started.stdout.readline()
        started.stdout.close()
        assert started.stderr is not None
        assert started.stderr.read() == b""
    assert started.returncode == 0


def test_an_invalid_address_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """With what to give instead."""
    with pytest.raises(SystemExit) as caught:
        main(["--address", "nonsense"])
    assert caught.value.code == 2
    assert "write host:port or a URL" in capsys.readouterr().err
