"""Leader election as the command line asks for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from handloop.apis.coordination_v1 import Lease
from handloop.client.config import ClientConfig, load_config
from handloop.client.request_reports import NO_METRICS
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.election import Election, StandbyReport, lost_lease, new_identity, standby
from handloop.controller.cli.problems import EXIT_FATAL, EXIT_OK, Problem
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.manager import Manager
from handloop.sandbox.server import Sandbox
from handloop.workqueue.seams import Seams
from support.fake_clock import FakeClock
from support.options import new_options
from support.threads import Background

OPTIONS = new_options(
    leader_elect=True,
    leader_elect_lease_duration=17.0,
    leader_elect_resource_name="lock",
    leader_elect_resource_namespace="default",
)


@pytest.fixture
def config(tmp_path: Path) -> Iterator[ClientConfig]:
    """A way to a sandbox."""
    sandbox = Sandbox()
    sandbox.start()
    try:
        yield load_config(kubeconfig=str(sandbox.write_kubeconfig(tmp_path / "kubeconfig")))
    finally:
        sandbox.stop()


def test_a_manager_works_under_the_lease_that_was_asked_for(config: ClientConfig) -> None:
    """Name, namespace and durations are the options'; the identity is the host's and a random part."""
    stop, leading, said = threading.Event(), threading.Event(), list[Problem]()

    class Worker:
        name = "worker"

        def run(self, stop: threading.Event) -> None:
            leading.set()
            assert stop.wait(20.0)

    transport = HTTPTransport(config)
    client = Client(transport)
    with closing(Election(config, OPTIONS, say=said.append, metrics=NO_METRICS)) as election:
        manager = Manager(client, registry=CollectorRegistry(auto_describe=True))
        manager.add(Worker())
        election.elect(manager)
        run = Background(lambda: manager.run(stop))
        try:
            assert leading.wait(20.0)
            lease = client.resource(Lease).get("lock", namespace="default")
            assert lease.spec.lease_duration_seconds == 17
            assert (lease.spec.holder_identity or "").startswith(new_identity().partition("_")[0] + "_")
            assert manager.seconds_to_write() > 0
        finally:
            stop.set()
            run.result()
        assert client.resource(Lease).get("lock", namespace="default").spec.holder_identity in ("", None)
    transport.close()
    assert said == []


@pytest.mark.parametrize("in_time", [True, False])
def test_after_a_loss_the_process_has_a_second_to_end(config: ClientConfig, in_time: bool) -> None:
    """P07: E12 at once; then an orderly end, or none."""
    clock, said, ended = FakeClock(), list[Problem](), list[int]()
    threads: list[Background[None]] = []

    def spawn(_name: str, target: object) -> object:
        threads.append(Background(target))  # type: ignore[arg-type] # a function without arguments
        return threads[-1]

    election = Election(
        config,
        OPTIONS,
        say=said.append,
        metrics=NO_METRICS,
        seams=Seams(clock=clock, spawn=spawn),  # type: ignore[arg-type] # nobody joins it
        end_process=ended.append,
    )
    with closing(election):
        election._lost(LeadershipLost("default/lock", 10.0, "timeout"))
        assert [problem.code for problem in said] == ["E12"]
        clock.wait_for_deadline(1.0)
        if not in_time:
            clock.advance(1.0)
            threads[0].result()
    threads[0].result()
    assert ended == ([] if in_time else [1])


def test_no_two_identities_are_equal() -> None:
    """Two programs on one host are two candidates."""
    assert len({new_identity() for _ in range(100)}) == 100


def test_the_end_is_certain_before_the_loss_is_said(config: ClientConfig) -> None:
    """P22: a log that blocks or fails puts the end of a process that lost its lease off by nothing."""
    done: list[str] = []

    def spawn(name: str, _target: object) -> None:
        done.append(name)

    election = Election(
        config,
        OPTIONS,
        say=lambda problem: done.append(problem.code),
        metrics=NO_METRICS,
        seams=Seams(clock=FakeClock(), spawn=spawn),  # type: ignore[arg-type] # nobody joins it
    )
    with closing(election):
        election._lost(LeadershipLost("default/lock", 10.0, "timeout"))
    assert done == ["lost-lease", "E12"]


SEEN = ElectionStatistics("demo/foo", "pod-b", "pod-a", False, 1.0, 14.0, "")


@pytest.fixture
def clock() -> FakeClock:
    """Moved by the test."""
    return FakeClock()


def test_it_is_said_once_a_minute(clock: FakeClock) -> None:
    """E11: at the first try in vain, and then every 60 s, however often it is tried."""
    said: list[float] = []
    report = StandbyReport(lambda _problem: said.append(clock.now()), clock)
    for _ in range(100):
        report(SEEN)
        clock.advance(2.5)
    assert said == [0.0, 60.0, 120.0, 180.0, 240.0]


def test_a_new_holder_is_news(clock: FakeClock) -> None:
    """E11: said at once."""
    said: list[Problem] = []
    report = StandbyReport(said.append, clock)
    report(SEEN)
    report(SEEN._replace(holder="pod-c"))
    report(SEEN._replace(holder="pod-c"))
    assert ["pod-a" in said[0].what, "pod-c" in said[1].what] == [True, True]
    assert len(said) == 2


HELD = ElectionStatistics(
    lease="demo/handloop",
    identity="pod-b",
    holder="pod-a",
    leading=False,
    renewed_seconds_ago=1.2,
    expires_in_seconds=13.8,
    last_error="",
)


def test_a_standby_says_whom_it_waits_for() -> None:
    """E11: holder, renewed when, expires when, and that this is normal."""
    problem = standby(HELD)
    assert str(problem).splitlines() == [
        "info: standby: lease demo/handloop held by pod-a (renewed 1 s ago, expires in 14 s)",
        "  cause: this is normal: one replica works, the others wait with warm caches",
        "  fix: kubectl -n demo get lease handloop   (who holds it, and since when)",
        "  more: docs/errors.md#e11",
    ]
    assert problem.exit_code == EXIT_OK


@pytest.mark.parametrize(
    ("seen", "what", "cause"),
    [
        (
            HELD._replace(last_error="connection refused"),
            "held by pod-a (renewed 1 s ago, expires in 14 s)",
            "the last try failed: connection refused",
        ),
        (
            HELD._replace(holder="", renewed_seconds_ago=None, last_error="403"),
            "could not be read yet",
            "the last try failed: 403",
        ),
        (HELD._replace(holder=""), "has no holder", "this replica takes over in a moment"),
    ],
)
def test_a_standby_says_what_is_in_its_way(seen: ElectionStatistics, what: str, cause: str) -> None:
    """E11: also when it is not another holder."""
    problem = standby(seen)
    assert problem.what == f"standby: lease demo/handloop {what}"
    assert problem.causes == (cause,)


def test_a_lost_lease_says_since_when_and_why() -> None:
    """E12: and that the process ends, with 1."""
    problem = lost_lease(LeadershipLost("demo/handloop", 10.04, "last error: timeout"))
    assert problem.what == ("lost leadership: lease demo/handloop not renewed for 10 s (last error: timeout)")
    assert (problem.code, problem.exit_code, problem.severity) == ("E12", EXIT_FATAL, "error")
    assert any("CPU" in fix for fix in problem.fixes)
