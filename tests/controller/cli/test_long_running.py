"""Commands that ask a server or are one: their log, signals, and errors that nobody expected."""

from __future__ import annotations

import io
import json
import os
import signal
from pathlib import Path

import pytest

from handloop.controller.cli.long_running import execute_until_stopped
from handloop.controller.cli.options import Options
from support.threads import Background
from support.watched_text import WatchedText

RUN = "handloop.controller.cli.run.run"


def fail(*_: object) -> int:
    """A bug."""
    raise ValueError("a bug")


@pytest.mark.parametrize("verbosity", [0, 3])
def test_a_bug_is_one_line_below_level_4(monkeypatch: pytest.MonkeyPatch, verbosity: int) -> None:
    """Exit code 1, no traceback, and how to get one."""
    monkeypatch.setattr(RUN, fail)
    err = io.StringIO()
    assert execute_until_stopped(Options(verbosity=verbosity), io.StringIO(), err) == 1
    assert err.getvalue() == "error: a bug\n  fix: run again with -v 4 for the traceback\n"


def test_a_bug_shows_its_traceback_from_level_4_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised, so that the interpreter prints it and exits with 1."""
    monkeypatch.setattr(RUN, fail)
    with pytest.raises(ValueError, match="a bug"):
        execute_until_stopped(Options(verbosity=4), io.StringIO(), io.StringIO())


@pytest.mark.parametrize("verbosity", [0, 4])
def test_a_bug_is_one_object_where_logs_are_json(monkeypatch: pytest.MonkeyPatch, verbosity: int) -> None:
    """With --log-format=json there is no other line, and from level 4 on the traceback is a part of it."""
    monkeypatch.setattr(RUN, fail)
    err = io.StringIO()
    assert execute_until_stopped(Options(verbosity=verbosity, log_format="json"), io.StringIO(), err) == 1
    (line,) = (json.loads(line) for line in err.getvalue().splitlines())
    assert (line["level"], line["msg"]) == ("error", "a bug")
    assert line["fix"] == "run again with -v 4 for the traceback"
    assert ("ValueError: a bug" in line.get("stack", "")) is (verbosity >= 4)


def test_signals_stop_it_and_change_the_level(tmp_path: Path) -> None:
    """SIGUSR1 one level up, SIGTERM the end: both are said, and the exit code is 0."""
    text = WatchedText()
    options = Options(command="sandbox", sandbox_kubeconfig=str(tmp_path / "k"), log_format="json")

    def send() -> None:
        text.wait_for("sandbox ready")
        os.kill(os.getpid(), signal.SIGUSR1)
        text.wait_for("Log level changed")
        os.kill(os.getpid(), signal.SIGTERM)

    sender = Background(send)
    assert execute_until_stopped(options, io.StringIO(), text) == 0
    sender.result()
    lines = [json.loads(line) for line in text.text().splitlines() if line.startswith("{")]
    assert [(line["msg"], line.get("verbosity"), line.get("signal")) for line in lines] == [
        ("Log level changed", 1, None),
        ("Received signal, shutting down", None, "SIGTERM"),
    ]


def test_a_bug_in_the_words_of_others_is_two_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """S06: what an error quotes makes no line, and no terminal obeys it."""

    def quoting(*_: object) -> int:
        raise ValueError("\x1b[2J\nfix: x")

    monkeypatch.setattr(RUN, quoting)
    err = io.StringIO()
    execute_until_stopped(Options(), io.StringIO(), err)
    assert err.getvalue() == ("error: \\u001b[2J\\nfix: x\n  fix: run again with -v 4 for the traceback\n")
