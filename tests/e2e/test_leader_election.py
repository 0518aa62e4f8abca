"""
Two replicas as processes of their own, of which one works.

Each talks through a proxy that notes what the server took, with the server's own version: so the order of all
writes is known, and with it who held the lease at each. Durations are short, and nightly those by default.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from handloop.controller.runtime.election.durations import (
    LEASE_DURATION_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RETRY_PERIOD_SECONDS,
)
from handloop.testing.eventually import eventually as until
from support.rigs.program import Program, Run
from support.rigs.replicas import MARGIN_SECONDS, Replicas
from support.servers.cluster import Cluster


class Durations(NamedTuple):
    """How long a lease lasts, a leader tries to renew it, and each replica waits between two looks at it."""

    lease_seconds: float
    deadline_seconds: float
    retry_seconds: float

    def flags(self) -> tuple[str, ...]:
        """As they are typed."""
        return (
            f"--leader-elect-lease-duration={self.lease_seconds}s",
            f"--leader-elect-renew-deadline={self.deadline_seconds}s",
            f"--leader-elect-retry-period={self.retry_seconds}s",
        )

    @property
    def followed_seconds(self) -> float:
        """In which another has a lease whose holder is no more."""
        return self.lease_seconds + self.retry_seconds + MARGIN_SECONDS


SHORT: Final = Durations(6, 4, 0.5)
"""But not so short that a busy machine makes a leader lose its lease."""
LONG: Final = Durations(60, 40, 0.5)
USUAL: Final = pytest.param(
    Durations(LEASE_DURATION_SECONDS, RENEW_DEADLINE_SECONDS, RETRY_PERIOD_SECONDS),
    marks=pytest.mark.nightly,
    id="by default",
)


@pytest.fixture
def replicas(cluster: Cluster, run: Run, tmp_path: Path) -> Iterator[Replicas]:
    """No replica yet; at the end the server's history must show no write without the lease."""
    with ExitStack() as stack:
        made = Replicas(cluster, run, tmp_path, stack, flags=("--preflight=off",))
        yield made
        stack.pop_all().close()
        made.check_history()


@pytest.mark.parametrize("durations", [SHORT, USUAL])
def test_a_killed_leader_is_followed(replicas: Replicas, durations: Durations) -> None:
    """Kill -9, and the other works within lease duration and retry period, and not before the lease's end."""
    leader, standby = replicas.pair(*durations.flags())
    with replicas.changing_foos():
        leader.wait_work(at_least=10)
        leader.program.kill()
        standby.program.wait_line("Successfully acquired lease", seconds=durations.followed_seconds)
        standby.program.wait_ready()
        standby.wait_work()
    waited = standby.renewals[0].began_at - leader.renewals[-1].began_at
    assert durations.lease_seconds <= waited <= durations.followed_seconds
    assert replicas.lease()["leaseTransitions"] == 1
    assert standby.program.stop() == 0


@pytest.mark.parametrize("durations", [LONG, USUAL])
def test_a_leader_that_is_asked_to_stop_hands_over(replicas: Replicas, durations: Durations) -> None:
    """The lease is released after the workers: no standby waits until it expires, in a minute."""
    leader, standby = replicas.pair(*durations.flags())
    with replicas.changing_foos():
        leader.wait_work(at_least=10)
        assert leader.program.stop() == 0
        standby.program.wait_line("Successfully acquired lease", seconds=2.0 + MARGIN_SECONDS)
        standby.wait_work()
    assert leader.proxy.writes[-1].holder == ""
    assert standby.program.stop() == 0
    assert replicas.lease()["holderIdentity"] == ""


def test_a_leader_that_cannot_renew_ends_before_another_begins(replicas: Replicas) -> None:
    """E12: exit code 1, in words, and no write that others could meet."""
    leader, standby = replicas.pair(*SHORT.flags())
    with replicas.changing_foos():
        leader.wait_work(at_least=10)
        leader.proxy.flowing.clear()
        assert leader.program.wait(seconds=SHORT.deadline_seconds + 1.0 + MARGIN_SECONDS) == 1
        standby.program.wait_line("Successfully acquired lease", seconds=SHORT.followed_seconds)
        standby.wait_work()
    leader.program.wait_line(
        rf"error: lost leadership: lease \S+ not renewed for {SHORT.deadline_seconds} s "
        r"\(last error: .*no complete response"
    )
    assert leader.program.lines_with("handloop errors E12")
    renewed_at = max(write.began_at for write in leader.renewals)
    assert [write for write in leader.work if write.began_at > renewed_at + SHORT.lease_seconds] == []
    assert standby.program.stop() == 0


def test_a_leader_that_was_suspended_does_not_go_on(replicas: Replicas) -> None:
    """SIGSTOP until another leads, then SIGCONT: no write passes, and it ends with 1."""
    leader, standby = replicas.pair(*SHORT.flags())
    with replicas.changing_foos():
        leader.wait_work(at_least=10)
        leader.program.signal(signal.SIGSTOP)
        standby.program.wait_line("Successfully acquired lease", seconds=SHORT.followed_seconds)
        standby.wait_work()
        before = len(leader.proxy.writes)
        leader.program.signal(signal.SIGCONT)
        assert leader.program.wait(seconds=MARGIN_SECONDS) == 1
        assert leader.proxy.writes[before:] == []
    assert leader.program.lines_with("lost leadership")
    assert standby.program.stop() == 0


def cached_foos(program: Program) -> float:
    """How many Foos a replica has in its cache."""
    page = program.page("metrics", "/metrics")[1]
    cached = re.search(r'informer_cached_objects\{name="foos[^"]*"\} (\S+)', page)
    assert cached is not None
    return float(cached[1])


def test_a_standby_is_ready_and_shows_whom_it_waits_for(replicas: Replicas) -> None:
    """E11: warm caches, /readyz 200 with leader or standby, the gauge, and a line that names the holder."""
    leader, standby = (replica.program for replica in replicas.pair(*LONG.flags()))
    with replicas.changing_foos():
        replicas.all[0].wait_work(at_least=10)
    holder = str(replicas.lease()["holderIdentity"])
    for program, words, gauge in ((leader, "leader", 1), (standby, f"standby, holder={holder}", 0)):
        until(lambda p=program: p.page("health", "/readyz") == (200, "ok"), "ready", seconds=MARGIN_SECONDS)  # type: ignore[misc]
        assert f"[+]leader: {words}" in program.page("health", "/readyz?verbose")[1].splitlines()
        assert "[+]leader-election ok" in program.page("health", "/healthz?verbose")[1].splitlines()
        assert (
            f'leader_election_master_status{{name="handloop"}} {gauge}.0'
            in program.page("metrics", "/metrics")[1]
        )
    standby.wait_line(rf"info: standby: lease \S+/handloop held by {re.escape(holder)} \(renewed \d+ s")
    foos = len(replicas.cluster.list(replicas.cluster.foos))
    until(lambda: cached_foos(standby) == foos, "warm", seconds=MARGIN_SECONDS)
    assert not standby.lines_with("Started workers")
    leader.stop()
    replicas.all[1].wait_work(at_least=0)
    replicas.cluster.change(replicas.cluster.foos, "foo-0", {"spec": {"replicas": 5}})
    replicas.all[1].wait_work()
    assert standby.stop() == 0
