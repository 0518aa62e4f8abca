"""What a kubeconfig names may hang: the program stops all the same, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml

from handloop.testing.eventually import eventually as until
from support.checks.holders import Holders
from support.rigs.program import NO_SERVERS, SECONDS, Run, running
from support.servers.cluster import SandboxCluster

SOON_SECONDS = 20.0


@pytest.fixture
def fifo(tmp_path: Path) -> Path:
    """A pipe without a writer."""
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


@pytest.fixture
def holders(tmp_path: Path) -> Iterator[Holders]:
    made = Holders(tmp_path)
    yield made
    made.close()


def opened(fifo: Path) -> int:
    """The writing end of a pipe, as soon as a reader comes; 0 before that."""
    with suppress(OSError):
        return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    return 0


def plugin_kubeconfig(folder: Path, server: str, script: str) -> Path:
    """A kubeconfig whose user logs in by a script."""
    program, path = folder / "plugin", folder / "plugin.kubeconfig"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    section = {"command": str(program), "apiVersion": "client.authentication.k8s.io/v1"}
    document = {
        "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": {"exec": section}}],
    }
    path.write_text(yaml.safe_dump(document))
    return path


def test_a_kubeconfig_may_come_through_a_pipe(sandbox: SandboxCluster, run: Run, fifo: Path) -> None:
    """`--kubeconfig <(...)`: a program that decrypts or fetches it may take its time."""
    with run(kubeconfig=fifo) as program:
        writer = until(lambda: opened(fifo), "read", seconds=SECONDS)
        os.write(writer, sandbox.kubeconfig.read_bytes())
        os.close(writer)
        program.wait_ready()
        assert program.stop() == 0


def test_a_stop_ends_the_wait_for_a_kubeconfig(tmp_path: Path, fifo: Path) -> None:
    """Nobody writes into the pipe: one signal ends the program, in order."""
    with running("--kubeconfig", str(fifo), *NO_SERVERS, folder=tmp_path) as program:
        writer = until(lambda: opened(fifo), "read", seconds=SECONDS)
        program.signal(signal.SIGTERM)
        assert program.wait(seconds=SOON_SECONDS) == 0
        assert program.lines_with('"Stopped"')
        os.close(writer)


def test_a_stop_ends_a_login_that_hangs(tmp_path: Path, holders: Holders) -> None:
    """Nothing of the login program is left, and no line complains about the credentials."""
    path = plugin_kubeconfig(tmp_path, "http://127.0.0.1:1", f"{holders.hold}; sleep 1000 & sleep 1000")
    with running("--kubeconfig", str(path), *NO_SERVERS, folder=tmp_path) as program:
        holders.wait_begun()
        program.signal(signal.SIGTERM)
        assert program.wait(seconds=SOON_SECONDS) == 0
        assert program.lines_with('"Stopped"')
        assert not program.lines_with("E06")
    holders.wait_gone()
