"""The sandbox as a program of its own."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unittest.mock import MagicMock

import pytest
import yaml

from handloop_sandbox import program
from handloop_sandbox.certificate import NoCertificateError
from handloop_sandbox.differences import DIFFERENCES
from handloop_sandbox.program import main

SANDBOX = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "handloop_sandbox"]


@contextmanager
def serving(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The program, and what it printed once it served."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (SANDBOX, SANDBOX.parent)))}
    with subprocess.Popen(
        [*COMMAND, *arguments], cwd=folder, env=environment, stderr=subprocess.PIPE, text=True
    ) as started:
        assert started.stderr is not None
        said = ""
        while "export KUBECONFIG" not in said:
            line = started.stderr.readline()
            assert line, said
            said += line
        try:
            yield started, said
        finally:
            started.kill()


def asked(folder: Path, path: str) -> Any:
    """The answer of the server that the kubeconfig leads to."""
    document = yaml.safe_load((folder / ".sandbox/kubeconfig").read_text(encoding="utf-8"))
    with urllib.request.urlopen(document["clusters"][0]["cluster"]["server"] + path, timeout=20) as answer:
        return json.load(answer)


@pytest.mark.parametrize(("bare", "nodes"), [([], 2), (["--bare"], 0)])
def test_it_serves_until_it_is_stopped(bare: list[str], nodes: int, tmp_path: Path) -> None:
    """It shows what to type, writes a kubeconfig and removes it; bare nothing lives in it."""
    with serving(tmp_path, *bare) as (started, said):
        assert "runs no containers: pods are simulated" in said
        assert f"export KUBECONFIG={tmp_path / '.sandbox/kubeconfig'}" in said
        assert len(asked(tmp_path, "/api/v1/nodes")["items"]) == nodes
        assert asked(tmp_path, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"] == []
        started.send_signal(signal.SIGTERM)
        assert started.wait(20) == 0
    assert not (tmp_path / ".sandbox/kubeconfig").exists()


def test_the_kubeconfig_of_another_server_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """While that server runs; once it is gone, the file may be written anew."""
    monkeypatch.chdir(tmp_path)
    with serving(tmp_path) as (started, _):
        written = Path(".sandbox/kubeconfig").read_bytes()
        assert main([]) == 1
        assert (
            "points to a running server: stop it, or choose another --kubeconfig" in capsys.readouterr().err
        )
        assert Path(".sandbox/kubeconfig").read_bytes() == written
        started.kill()
        started.wait()
    with serving(tmp_path):
        assert Path(".sandbox/kubeconfig").read_bytes() != written


def test_what_it_cannot_do_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No traceback: an address that is none, and TLS without its package. Ctrl-C is the caller's again."""
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.chdir(tmp_path)
    assert main(["--address", "192.0.2.1"]) == 1
    assert capsys.readouterr().err.startswith("error: ")

    def refuse(**_: object) -> None:
        raise NoCertificateError("TLS needs the cryptography package")

    monkeypatch.setattr(program, "Sandbox", refuse)
    assert main(["--tls"]) == 1
    assert capsys.readouterr().err == "error: TLS needs the cryptography package\n"
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def alarm() -> Iterator[None]:
    """A test that hangs fails after ten seconds."""

    def fail(*_: object) -> None:
        raise AssertionError("it hangs")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("alarm")
@pytest.mark.parametrize("line", range(1, 9))
def test_a_signal_ends_it_wherever_it_arrives(
    line: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each line that runs once the sandbox serves: its own, and those of the wait."""
    lines = itertools.count(1)

    def trace(_frame: FrameType, event: str, _: object) -> Any:
        if event == "line" and next(lines) == line:
            signal.raise_signal(signal.SIGTERM)
        return trace

    def say(_: str) -> None:
        late.start()  # if fewer lines run
        sys._getframe(1).f_trace = trace
        sys.settrace(trace)

    monkeypatch.setattr(program, "Sandbox", lambda **_: MagicMock())
    monkeypatch.setattr(program, "_say", say)
    late = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM))
    before, traced = signal.signal(signal.SIGTERM, signal.SIG_IGN), sys.gettrace()
    try:
        assert main([f"--kubeconfig={tmp_path / 'kubeconfig'}"]) == 0
    finally:
        sys.settrace(traced)
        late.cancel()
        late.join()
        signal.signal(signal.SIGTERM, before)


def test_its_help_lists_every_difference(capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever tests a Go operator with it reads no other page."""
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "--bare" in told
    assert all(difference.text in told for difference in DIFFERENCES)


@pytest.mark.parametrize("closed", ["2>&-", "<&- >&- 2>&-"])
def test_it_serves_without_its_streams(closed: str, tmp_path: Path) -> None:
    """Some supervisors start a program without them."""
    path = tmp_path / "kubeconfig"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (SANDBOX, SANDBOX.parent)))}
    shell = ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "--bare", f"--kubeconfig={path}"]
    with subprocess.Popen(shell, cwd=tmp_path, env=environment) as started:
        try:
            while not path.exists():
                assert started.poll() is None
                time.sleep(0.02)
            started.send_signal(signal.SIGTERM)
            assert started.wait(30) == 0
        finally:
            started.kill()
