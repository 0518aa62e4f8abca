"""Leader election as the command line asks for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry

from handloop.apis.coordination_v1 import Lease
from handloop.client.config import ClientConfig, load_config
from handloop.client.metrics import NO_METRICS
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.cli.election import Election, new_identity
from handloop.controller.cli.options import Options
from handloop.controller.cli.problems import Problem
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.manager import Manager
from handloop.sandbox.server import Sandbox
from handloop.workqueue.clock import REAL_CLOCK
from support.fake_clock import FakeClock
from support.threads import Background

OPTIONS = Options(
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
    with Election(config, OPTIONS, say=said.append, metrics=NO_METRICS, clock=REAL_CLOCK) as election:
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
        clock=clock,
        spawn=spawn,  # type: ignore[arg-type] # nobody joins it
        end_process=ended.append,
    )
    with election:
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

    with Election(
        config,
        OPTIONS,
        say=lambda problem: done.append(problem.code),
        metrics=NO_METRICS,
        clock=FakeClock(),
        spawn=spawn,  # type: ignore[arg-type] # nobody joins it
    ) as election:
        election._lost(LeadershipLost("default/lock", 10.0, "timeout"))
    assert done == ["lost-lease", "E12"]
