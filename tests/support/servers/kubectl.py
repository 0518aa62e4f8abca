"""
The stock kubectl as a program: its command lines, exit codes and output.

HOME and the cache folder are its own, so that no user's ~/.kube is read or written.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pytest

NEWEST_MINOR = 99
_SECONDS = 60.0


def kubectl_binary() -> str:
    """The stock kubectl; the test is skipped without one."""
    found = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if not found:
        pytest.skip("no kubectl: set KUBECTL or install it in PATH")
    return found


class Result(NamedTuple):
    """What a command answered."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """The lines of the output."""
        return self.out.splitlines()

    @property
    def words(self) -> list[list[str]]:
        """The output as columns."""
        return [line.split() for line in self.lines]


@dataclass(frozen=True)
class Kubectl:
    """
    Runs kubectl against one server and, unless a command names another, in one namespace.

    Every command has to end within 60 s.
    """

    binary: str
    kubeconfig: Path
    home: Path
    namespace: str = "default"

    def __call__(self, *arguments: str, stdin: str = "", fails: bool = False, **env: str) -> Result:
        """Run a command; fails = its exit code has to be other than 0."""
        result = self.run(*arguments, stdin=stdin, **env)
        assert (result.code != 0) is fails, f"kubectl {' '.join(arguments)}: {result}"
        return result

    def run(self, *arguments: str, stdin: str = "", **env: str) -> Result:
        """Run a command with any exit code."""
        done = subprocess.run(
            self._command(arguments),
            input=stdin,
            env=self._environment(env),
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        return Result(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def tunnel(self, target: str, port: int) -> Iterator[int]:
        """A port of a pod as one of this machine: the local port."""
        command = self._command(("port-forward", target, f":{port}"))
        with subprocess.Popen(
            command, env=self._environment({}), stdout=subprocess.PIPE, text=True
        ) as running:
            try:
                assert running.stdout is not None
                # `Forwarding from 127.0.0.1:40001 -> 8443`
                yield int(running.stdout.readline().split(":")[1].split()[0])
            finally:
                running.terminate()

    @cached_property
    def minor(self) -> int:
        """The client's minor version: 36 for 1.36; a build without one counts as the newest."""
        version = json.loads(self("version", "--client", "-o", "json").out)["clientVersion"]
        return int(re.sub(r"\D.*", "", version["minor"]) or 0) or NEWEST_MINOR

    def json(self, *arguments: str) -> Any:
        """The output of a command with -o json."""
        return json.loads(self(*arguments, "-o", "json").out)

    def value(self, path: str, *arguments: str) -> str:
        """One value of an object by JSONPath."""
        return self("get", *arguments, "-o", f"jsonpath={{{path}}}").out

    def until(self, condition: Callable[[], bool]) -> None:
        """Ask again until condition holds."""
        deadline = time.monotonic() + _SECONDS
        while not condition():
            assert time.monotonic() < deadline, "condition not met in time"

    @contextmanager
    def following(self, *arguments: str) -> Iterator[Follower]:
        """A command that goes on until the block ends."""
        with subprocess.Popen(
            self._command(arguments),
            env=self._environment({}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            follower = Follower(process)
            try:
                yield follower
            finally:
                follower.stop()

    def _command(self, arguments: tuple[str, ...]) -> list[str]:
        fixed = [f"--kubeconfig={self.kubeconfig}", f"--namespace={self.namespace}"]
        return [self.binary, *fixed, *arguments]

    def _environment(self, env: dict[str, str]) -> dict[str, str]:
        folders = {"HOME": str(self.home), "KUBECACHEDIR": str(self.home / "cache"), "TMPDIR": str(self.home)}
        brief = {"GOGC": "off", "GOMAXPROCS": "1"}  # a short program is done before it has to collect
        return {"PATH": os.environ.get("PATH", ""), **folders, **brief, **env}


class Follower:
    """The output of a running command, line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lines: list[str] = []
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, name="kubectl-output")
        self._reader.start()

    def wait_for(self, wanted: Callable[[list[str]], bool]) -> list[str]:
        """The lines so far, once they satisfy wanted. Blocks: at most 60 s."""
        with self._more:
            met = self._more.wait_for(lambda: wanted(self._lines), _SECONDS)
            assert met, f"not in the output: {self._lines}"
            return list(self._lines)

    def stop(self) -> None:
        """End the command."""
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._more:
                self._lines.append(line.rstrip("\n"))
                self._more.notify_all()
