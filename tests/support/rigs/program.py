"""`python -m controller`, or another program of ours, as a process: its log, its pages, its end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final, Protocol

from handloop.testing.eventually import eventually as until

ROOT: Final = Path(__file__).parents[3]
SECONDS: Final = 60.0
ON_FREE_PORTS: Final = ("--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0")
NO_SERVERS: Final = ("--metrics-bind-address=0", "--health-probe-bind-address=0")


def inherited() -> dict[str, str]:
    """Where programs are, and where coverage keeps what it measures if it does."""
    return {name: text for name, text in os.environ.items() if name == "PATH" or name.startswith("COVERAGE_")}


class Program:
    """
    One run of the program.

    State: _lines, under _changed, are what it wrote to stderr so far; _ended once it closed it.
    Threads: the test's thread uses it; one of ours reads.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        module: str = "controller",
    ) -> None:
        """Start it in a folder that is also its home; what it prints is added to a file beside it."""
        self._printed = folder.with_name(f"{folder.name}-printed")
        self._changed = threading.Condition()
        self._lines: list[str] = []
        self._ended = False
        with self._printed.open("ab") as printed:
            self.process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=folder,
                env={"HOME": str(folder), "PYTHONPATH": str(ROOT), **inherited(), **environment},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=subprocess.PIPE,
                text=True,
            )
        self._reader = threading.Thread(target=self._read, name="program-log", daemon=True)
        self._reader.start()

    @property
    def log(self) -> list[str]:
        """The lines so far."""
        with self._changed:
            return list(self._lines)

    @property
    def printed(self) -> list[str]:
        """What it, and those before it in its folder, printed so far, line by line."""
        return self._printed.read_text(encoding="utf-8").splitlines()

    def lines_with(self, pattern: str) -> list[str]:
        """The lines so far in which a pattern occurs."""
        return [line for line in self.log if re.search(pattern, line)]

    def wait_line(self, pattern: str, *, seconds: float = SECONDS) -> re.Match[str]:
        """Wait for a line in which a pattern occurs. Raises: AssertionError at the deadline or its end."""
        ends_at = time.monotonic() + seconds
        seen = 0
        with self._changed:
            while True:
                for line in self._lines[seen:]:
                    if match := re.search(pattern, line):
                        return match
                seen = len(self._lines)
                left = ends_at - time.monotonic()
                hopeless = left <= 0 or self._ended
                assert not hopeless, f"no {pattern!r} in its log:\n" + "\n".join(self._lines)
                self._changed.wait(left)

    def wait_more(self, known: int, *, seconds: float) -> list[str]:
        """The lines after the first known, as soon as there are any; [] when none came in so long."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._lines) > known or self._ended, seconds)
            return self._lines[known:]

    def wait_ready(self) -> None:
        """Wait until its workers have started."""
        self.wait_line("Started workers")

    def page(self, purpose: str, path: str) -> tuple[int, str]:
        """Status and text of a page that it serves; purpose is metrics or health."""
        address = self.wait_line(rf'{purpose}="([^"]+)"')[1]
        try:
            with urllib.request.urlopen(f"http://{address}{path}", timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def wait(self, *, seconds: float = SECONDS) -> int:
        """Wait for its end; returns the exit code."""
        code = self.process.wait(seconds)
        self._reader.join(seconds)
        return code

    def stop(self) -> int:
        """Ask it to stop and wait; returns the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        """Kill it with -9 and wait for its end."""
        self.process.kill()
        self.wait()

    def close(self) -> None:
        """Leave nothing behind."""
        if self.process.poll() is None:
            self.process.kill()
        self.wait()
        assert self.process.stderr is not None
        self.process.stderr.close()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            with self._changed:
                self._lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Run(Protocol):
    """Starts the program on the cluster of the test."""

    def __call__(self, *arguments: str, kubeconfig: Path | None = None) -> AbstractContextManager[Program]:
        """Further arguments come last and win; kubeconfig None is the administrator's."""


@contextmanager
def running(
    *arguments: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    module: str = "controller",
) -> Iterator[Program]:
    """The program for as long as the context lasts; a traceback in its log is a failure."""
    program = Program(arguments, folder=folder, environment=environment or {}, module=module)
    try:
        yield program
    finally:
        program.close()
    assert not program.lines_with("Traceback"), "\n".join(program.log)


def wait_ready_page(program: Program) -> None:
    """Wait until /readyz answers ok."""
    until(lambda: program.page("health", "/readyz")[0] == 200, "ready", seconds=SECONDS)
