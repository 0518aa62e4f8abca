"""Leader election from a few words, with connections of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from handloop.apis.coordination_v1 import Lease
from handloop.client.config import ClientConfig, load_config
from handloop.client.resource_client import Client
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.election.election import Election, LeaseTerms, lease_terms, new_identity
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.manager import Manager
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from handloop_sandbox.server import Sandbox
from support.checks.threads import Background

TERMS = LeaseTerms(namespace="default", name="lock", lease_duration_seconds=17.0)


def election_on(config: ClientConfig, **more: Any) -> Election:
    """An election for the lock."""
    return Election(config, TERMS, component="c", user_agent="u", **more)


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
    """Name, namespace and durations are the terms'; the identity is the host's and a random part."""
    stop, leading, said = threading.Event(), threading.Event(), list[LeadershipLost]()

    class Worker:
        name = "worker"

        def run(self, stop: threading.Event) -> None:
            leading.set()
            assert stop.wait(20.0)

    transport = HTTPTransport(config)
    client = Client(transport)
    with closing(election_on(config, on_lost=said.append)) as election:
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
    """Its end is certain before the loss is reported, for a log may block; then an orderly end, or none."""
    clock, said, ended = FakeClock(), list[tuple[str, int]](), list[int]()
    threads: list[Background[None]] = []

    def spawn(_name: str, target: object) -> object:
        threads.append(Background(target))  # type: ignore[arg-type] # a function without arguments
        return threads[-1]

    election = election_on(
        config,
        on_lost=lambda lost: said.append((lost.lease, len(threads))),
        seams=Seams(clock=clock, spawn=spawn),  # type: ignore[arg-type] # it is not joined
        end_process=ended.append,
    )
    with closing(election):
        election._lost(LeadershipLost("default/lock", 10.0, "timeout"))
        assert said == [("default/lock", 1)]
        clock.wait_for_deadline(1.0)
        if not in_time:
            clock.advance(1.0)
            threads[0].result()
    threads[0].result()
    assert ended == ([] if in_time else [1])


def test_no_two_identities_are_equal() -> None:
    """Two programs on one host are two candidates."""
    assert len({new_identity() for _ in range(100)}) == 100


def test_the_process_of_a_library_is_not_ended(config: ClientConfig) -> None:
    """Without end_process a loss is reported, and no thread waits for the end."""
    said: list[LeadershipLost] = []
    with closing(election_on(config, on_lost=said.append)) as election:
        before = threading.active_count()
        election._lost(LeadershipLost("default/lock", 10.0, "timeout"))
        assert (len(said), threading.active_count()) == (1, before)


def test_a_lease_is_named_in_a_few_words(tmp_path: Path) -> None:
    """With its namespace; in a pod the namespace is the pod's."""
    outside = str(tmp_path / "none")
    assert lease_terms("demo/lock", {}) == LeaseTerms(namespace="demo", name="lock")
    mine = lease_terms("lock", {"POD_NAMESPACE": "mine"}, service_account=outside)
    assert mine == LeaseTerms(namespace="mine", name="lock")
    (tmp_path / "namespace").write_text("here", encoding="utf-8")
    assert lease_terms("lock", {}, service_account=str(tmp_path)).namespace == "here"
    for lease in ("lock", "demo/", "/lock"):
        with pytest.raises(ValueError, match='needs a namespace outside a cluster: "NAMESPACE/NAME"'):
            lease_terms(lease, {}, service_account=outside)
