"""How problems reach people."""

from __future__ import annotations

import io
import json

import pytest

from handloop.controller.cli.logs import configure_logging
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import Problem
from handloop.controller.cli.tell import tell
from support.watched_text import WatchedText

PROBLEM = Problem(code="E04", exit_code=4, what="cannot reach h", causes=("c", "d"), fixes=("f",))


@pytest.mark.parametrize("log_format", ["", "klog", "text"])
def test_readers_get_lines(log_format: str) -> None:
    """error, cause, fix, more: as the problem prints itself."""
    stream = io.StringIO()
    assert tell(PROBLEM, Options(log_format=log_format), stream) == 4
    assert stream.getvalue() == f"{PROBLEM}\n"


@pytest.mark.parametrize(("severity", "level"), [("error", "error"), ("warning", "warning"), ("info", None)])
def test_json_logs_stay_json(severity: str, level: str | None) -> None:
    """Where logs are JSON a problem is one object, too."""
    stream = io.StringIO()
    configure_logging("json", 0, stream=stream)
    problem = Problem(code="E04", exit_code=4, what="w", causes=("c", "d"), fixes=("f",), severity=severity)
    assert tell(problem, Options(log_format="json"), stream) == 4
    line = json.loads(stream.getvalue())
    assert line.get("level") == level
    assert {key: line[key] for key in ("msg", "code", "cause", "fix", "more")} == {
        "msg": "w",
        "code": "E04",
        "cause": "c; d",
        "fix": "f",
        "more": "docs/errors.md#e04",
    }


def test_json_is_the_default_in_a_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to say --log-format in a pod; a terminal is read by a person even there."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    stream, terminal = io.StringIO(), WatchedText(is_terminal=True)
    configure_logging("", 0, stream=stream)
    tell(PROBLEM, Options(), stream)
    tell(PROBLEM, Options(), terminal)
    assert json.loads(stream.getvalue())["code"] == "E04"
    assert terminal.text().startswith("error: ")


@pytest.mark.parametrize("error", [BrokenPipeError(), ValueError("I/O operation on closed file")])
def test_who_cannot_be_told_keeps_nobody_waiting(error: Exception) -> None:
    """P22: with a terminal that has gone the exit code is the problem's all the same."""

    class Gone(io.StringIO):
        def write(self, _text: str) -> int:
            raise error

    assert tell(PROBLEM, Options(log_format="text"), Gone()) == 4


def test_what_others_say_is_no_line_of_ours() -> None:
    """S06: a lease's holder, or a server's message, is shown in full, and in the line where it belongs."""
    evil = "\x1b[2J\rx\n  fix: rm -r \x9b"
    stream = io.StringIO()
    problem = Problem(code="E11", exit_code=0, what=evil, causes=(evil, "é 字"), fixes=(evil,))
    tell(problem, Options(log_format="text"), stream)
    shown = r"\u001b[2J\rx\n  fix: rm -r \u009b"
    assert stream.getvalue().split("\n") == [
        f"error: {shown}",
        f"  cause: {shown}",
        "  cause: é 字",
        f"  fix: {shown}",
        "  more: docs/errors.md#e11",
        "",
    ]
