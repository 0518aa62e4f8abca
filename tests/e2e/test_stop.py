from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from handloop.testing.request_attributes import RequestAttributes
from support.rigs.foo_story import wait_available
from support.rigs.program import SECONDS, Program, Run
from support.servers.cluster import Cluster, SandboxCluster

SOON_SECONDS = 20.0
"""Less than the wait: a stop has 30 s, and so has the server's answer that is held back."""


class Hold:
    """Keeps the server from answering the creation of a Deployment until it is let go."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, asked: RequestAttributes) -> None:
        if (asked.verb, asked.resource) == ("create", "deployments"):
            self.reached.set()
            self.let_go.wait(30)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_one_signal_stops_it_in_order(cluster: Cluster, run: Run, number: signal.Signals) -> None:
    """After one signal it ends within seconds with exit code 0, and logs it."""
    with run() as program:
        program.wait_ready()
        cluster.create_foo("settled")
        wait_available(cluster, "settled", 1)
        program.signal(number)
        assert program.wait(seconds=SOON_SECONDS) == 0
        assert program.lines_with(f'Received signal.*signal="{number.name}"')
        assert program.lines_with('"Shutting down workers"')
        assert program.lines_with('"Stopped"')


@contextmanager
def held_back(sandbox: SandboxCluster, run: Run, *arguments: str) -> Iterator[tuple[Program, Hold]]:
    """A program while the server holds its creation of a Deployment back, at most until the block ends."""
    sandbox.trace.before = hold = Hold()
    sandbox.create_foo("slow")
    with run(*arguments) as program:
        try:
            assert hold.reached.wait(SECONDS)
            yield program, hold
        finally:
            hold.let_go.set()


def test_a_sync_in_flight_is_finished_first(sandbox: SandboxCluster, run: Run) -> None:
    """A stop waits for the write that is under way; what it wrote is there at the end."""
    with held_back(sandbox, run) as (program, hold):
        program.signal(signal.SIGTERM)
        program.wait_line("Shutting down workers")
        assert program.process.poll() is None
        hold.let_go.set()
        assert program.wait(seconds=SOON_SECONDS) == 0
        assert "slow" in sandbox.list(sandbox.deployments)


def test_a_second_signal_ends_it_at_once(sandbox: SandboxCluster, run: Run) -> None:
    """While a stop waits for a server that hangs, the next signal ends the process with exit code 1."""
    with held_back(sandbox, run) as (program, _):
        program.signal(signal.SIGINT)
        program.wait_line("Shutting down workers")
        assert program.process.poll() is None
        program.signal(signal.SIGINT)
        assert program.wait(seconds=SOON_SECONDS) == 1


def test_a_stop_waits_no_longer_than_its_timeout(sandbox: SandboxCluster, run: Run) -> None:
    """E16: with a server that hangs the stop gives up after --shutdown-timeout, logs it, and exits with 1."""
    with held_back(sandbox, run, "--shutdown-timeout=200ms") as (program, _):
        program.signal(signal.SIGTERM)
        program.wait_line("Workers did not end in time")
        assert program.wait(seconds=SOON_SECONDS) == 1
        assert program.lines_with("the shutdown left work behind: foo: 1 workers did not end in 0.2s")
        assert not program.lines_with('"Stopped"')
