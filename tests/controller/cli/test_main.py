"""From words to an exit code; of long commands also their log, signals, and errors that nobody expected."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from handloop.controller.cli.main import execute, main
from handloop.controller.cli.options import Options
from handloop.controller.cli.version import version_text
from support.threads import Background
from support.watched_text import WatchedText

ROOT = Path(__file__).parents[3]


def test_a_mistake_is_usage(capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, one line for what is wrong and one for what to do; nothing on stdout."""
    assert main(["--wokers", "3"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == [
        "error: unknown flag --wokers; did you mean --workers?",
        "  fix: python -m controller --help",
    ]


def test_without_arguments_the_process_ones_count(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`python -m controller` reads sys.argv; version goes to stdout."""
    monkeypatch.setattr("sys.argv", ["controller", "version"])
    assert main() == 0
    assert capsys.readouterr().out == version_text("") + "\n"


@pytest.mark.parametrize("missing", ["aiohttp", "handloop.sandbox"])
@pytest.mark.parametrize("argv", [["--sandbox"], ["sandbox"], ["sandbox", "--help"]])
def test_without_its_extra_the_sandbox_is_one_pip_install_away(
    argv: list[str], missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An image has neither the folder nor its libraries: a usage error, and no traceback."""
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(argv) == 2
    assert capsys.readouterr() == (
        "",
        'error: the sandbox is not installed\n  fix: pip install "handloop[sandbox]"\n',
    )


@pytest.mark.parametrize("missing", ["aiohttp", "handloop.sandbox"])
def test_the_other_commands_need_no_extra(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their help, and what they print, are there without it."""
    monkeypatch.setitem(sys.modules, missing, None)
    assert main(["version"]) == main(["manifests", "crd"]) == 0
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    assert "--sandbox" in capsys.readouterr().out


@pytest.mark.parametrize("what", ["crd", "rbac"])
def test_manifests_are_all_that_is_on_stdout(what: str) -> None:
    """So that it can be piped into kubectl."""
    out, err = io.StringIO(), io.StringIO()
    assert execute(Options(command="manifests", what=what), out, err) == 0
    assert all(document["apiVersion"] for document in yaml.safe_load_all(out.getvalue()))
    assert err.getvalue() == ""


def test_a_namespace_makes_the_printed_role_a_role() -> None:
    """The command in E09's fix."""
    out = io.StringIO()
    execute(Options(command="manifests", what="rbac", namespace="demo"), out, io.StringIO())
    assert yaml.safe_load(out.getvalue())["kind"] == "Role"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_log_whose_reader_has_gone_changes_nothing(tmp_path: Path, unbuffered: str) -> None:
    """P22: after `2>&1 | head` the process is stopped by one signal, and its exit code is 0."""
    argv = ["sandbox", "--sandbox-kubeconfig", str(tmp_path / "k"), "--sandbox-port=0", "--log-format=text"]
    program = subprocess.Popen(
        [sys.executable, "-m", "controller", *argv],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stderr=subprocess.PIPE,
    )
    with program:
        try:
            lines = program.stderr
            assert lines is not None
            Background(lambda: next(line for line in lines if b"sandbox ready" in line)).result()
            lines.close()
            program.send_signal(signal.SIGTERM)
            assert program.wait(20) == 0
        finally:
            program.kill()


def test_a_closed_log_leaves_nothing_to_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """P22: who closed it took care of it."""
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr("sys.stderr", closed)
    assert main(["version"]) == 0


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded when some code prints them, in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env={**os.environ}, capture_output=True, text=True, check=True
    )
    return set(ended.stdout.splitlines()[-1].split())


COMMAND = """
import sys
before = set(sys.modules)
from handloop.controller.cli.main import main
main({argv})
print(*set(sys.modules) - before)
"""
FIRST_REQUEST = """
import os, sys
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.main import main

def first(*_, **__):
    print(*sys.modules, flush=True)
    os._exit(0)

HTTPTransport.request = first
main(["--master=http://127.0.0.1:1", "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=0"])
"""


def test_a_version_needs_no_library() -> None:
    """Neither logging nor types nor a client: of handloop a few files, of others none."""
    loaded = loaded_by(COMMAND.format(argv=["version"]))
    assert {name.partition(".")[0] for name in loaded} - sys.stdlib_module_names == {"handloop"}
    folders = {".".join(name.split(".")[:3]) for name in loaded if name.count(".") > 1}
    assert {name for name in folders if name.startswith("handloop")} == {
        "handloop.apis.duration",
        "handloop.controller.cli",
        "handloop.controller.runtime",
    }


def test_manifests_need_no_client() -> None:
    """They come from the types and the declared access: no transport, no log."""
    loaded = loaded_by(COMMAND.format(argv=["manifests", "rbac"]))
    assert "handloop.controller.foo.types" in loaded
    assert not loaded & {"handloop.client", "handloop.informers", "urllib3", "structlog", "prometheus_client"}
    assert not loaded & {"handloop.controller.foo.controller", "handloop.controller.myapp.reconciler"}


def test_the_first_request_waits_for_no_controller() -> None:
    """What only works after the checks is loaded after them: informers, controllers, manager, events."""
    loaded = loaded_by(FIRST_REQUEST)
    assert {name for name in loaded if name.startswith("handloop.informers.")} == {"handloop.informers.keys"}
    later = (
        "handloop.controller.foo.controller",
        "handloop.controller.myapp.reconciler",
        "handloop.controller.runtime.election.leader_election",
        "handloop.controller.runtime.events",
        "handloop.controller.runtime.manager",
        "handloop.sandbox",
    )
    assert not [name for name in loaded if name.startswith(later)]
    assert not loaded & {"kubernetes", "aiohttp", "cachetools"}


RUN = "handloop.controller.cli.run.run"


def fail(*_: object) -> int:
    """A bug."""
    raise ValueError("a bug")


@pytest.mark.parametrize("verbosity", [0, 3])
def test_a_bug_is_one_line_below_level_4(monkeypatch: pytest.MonkeyPatch, verbosity: int) -> None:
    """Exit code 1, no traceback, and how to get one."""
    monkeypatch.setattr(RUN, fail)
    err = io.StringIO()
    assert execute(Options(verbosity=verbosity), io.StringIO(), err) == 1
    assert err.getvalue() == "error: a bug\n  fix: run again with -v 4 for the traceback\n"


def test_a_bug_shows_its_traceback_from_level_4_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raised, so that the interpreter prints it and exits with 1."""
    monkeypatch.setattr(RUN, fail)
    with pytest.raises(ValueError, match="a bug"):
        execute(Options(verbosity=4), io.StringIO(), io.StringIO())


@pytest.mark.parametrize("verbosity", [0, 4])
def test_a_bug_is_one_object_where_logs_are_json(monkeypatch: pytest.MonkeyPatch, verbosity: int) -> None:
    """With --log-format=json there is no other line, and from level 4 on the traceback is a part of it."""
    monkeypatch.setattr(RUN, fail)
    err = io.StringIO()
    assert execute(Options(verbosity=verbosity, log_format="json"), io.StringIO(), err) == 1
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
    assert execute(options, io.StringIO(), text) == 0
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
    execute(Options(), io.StringIO(), err)
    assert err.getvalue() == ("error: \\u001b[2J\\nfix: x\n  fix: run again with -v 4 for the traceback\n")
