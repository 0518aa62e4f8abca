"""A manager that is complete by itself: pages, a lease, a fence before every write, signals."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, Counter

from handloop.apis.coordination_v1 import Lease
from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import ObjectMeta
from handloop.client.config import ClientConfig, load_config
from handloop.client.errors import Cancelled
from handloop.client.resource_client import Client, ResourceClient
from handloop.client.transport import HTTPTransport
from handloop.controller.runtime.election.election import LeaseTerms
from handloop.controller.runtime.election.leader_election import LeadershipLost
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.sharding.shards import Shards
from handloop.testing.eventually import eventually as until
from handloop_sandbox.server import Sandbox
from support.checks.captured_logs import captured_logs
from support.checks.signals import terminate
from support.checks.threads import Background
from support.doubles.scripted_transport import ScriptedTransport
from support.rigs.greeter import Greeter, Greeting, set_up
from support.rigs.managed_sandbox import post
from support.servers.served_pages import fetch

SECONDS = 20.0
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
QUICK = LeaseTerms(
    namespace="default",
    name="lock",
    lease_duration_seconds=2.0,
    renew_deadline_seconds=1.0,
    retry_period_seconds=0.1,
)


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    """A cluster that knows Greetings."""
    sandbox = Sandbox(controllers=())
    sandbox.start()
    try:
        post(sandbox, CRDS, custom_resource_definition(Greeting))
        yield sandbox
    finally:
        sandbox.stop()


@pytest.fixture
def config(sandbox: Sandbox, tmp_path: Path) -> ClientConfig:
    """A way to it."""
    return load_config(kubeconfig=str(sandbox.write_kubeconfig(tmp_path / "kubeconfig")))


def greeting(name: str) -> Greeting:
    """A Greeting that is not on the server."""
    return Greeting(metadata=ObjectMeta(name=name, namespace="default"))


def test_it_works_and_serves_its_pages(config: ClientConfig) -> None:
    """For as long as run does: probes, metrics with the client's and an author's own series, then nothing."""
    greeter, stop = Greeter(), threading.Event()
    manager = Manager.from_config(config, name="greeter", metrics="127.0.0.1:0", health="127.0.0.1:0")
    set_up(manager, greeter)
    Counter("greeted", "Of the author's own.", registry=manager.registry)
    assert manager.served() == {"metrics": "off", "health": "off"}
    running = Background(lambda: manager.run(stop))
    try:
        until(lambda: manager.served()["health"] != "off", "serving", seconds=SECONDS)
        health, metrics = (f"http://{manager.served()[page]}" for page in ("health", "metrics"))
        until(lambda: fetch(f"{health}/readyz") == (200, "ok"), "ready", seconds=SECONDS)
        manager.client.resource(Greeting).create(greeting("world"))
        until(lambda: greeter.seen, "reconciled", seconds=SECONDS)
        text = fetch(f"{metrics}/metrics")[1]
    finally:
        stop.set()
        running.result()
    assert 'controller_runtime_reconcile_total{controller="greeter",result="success"} 1.0' in text
    assert 'rest_client_requests_total{code="201"' in text
    assert "greeted_total" in text
    with pytest.raises(OSError, match="refused"):
        fetch(f"{health}/healthz")


def clients(manager: Manager) -> list[ResourceClient[Any]]:
    """Every way to write that a manager gives out."""
    client = manager.client
    return [
        client.resource(Greeting),
        client.resource(Greeting).within(1.0),
        client.for_resource(Greeting.resource),
        client.until(threading.Event()).resource(Greeting),
        client.wrap(lambda transport: transport).resource(Greeting),
    ]


def test_no_client_of_it_writes_after_the_lease_was_lost(config: ClientConfig) -> None:
    """The author wrote no fence. Another replica takes the lease: run raises, and no write is sent."""
    manager, stop = Manager.from_config(config, name="greeter", leader_election=QUICK), threading.Event()
    set_up(manager, greeter := Greeter())
    given = clients(manager)
    for client in given:
        with pytest.raises(Cancelled, match="not the leader: nothing was sent"):
            client.delete("world", namespace="default")

    def steal() -> None:
        try:
            until(lambda: manager.seconds_to_write() > 0, "leading", seconds=SECONDS)
            given[0].create(greeting("world"))
            until(lambda: greeter.seen, "reconciled", seconds=SECONDS)
        finally:
            manager.client.wrap(_unfenced).resource(Lease).patch(
                "lock", {"spec": {"holderIdentity": "another"}}, namespace="default"
            )

    stealing = Background(steal)
    with pytest.raises(LeadershipLost), captured_logs():
        manager.run(stop)
    stealing.result()
    for client in given:
        with pytest.raises(Cancelled, match="not the leader: nothing was sent"):
            client.delete("world", namespace="default")


def _unfenced(fence: Any) -> Any:
    """The transport behind the fence, for the other replica."""
    return fence._transport


def test_a_signal_ends_it(config: ClientConfig) -> None:
    """SIGTERM: everything ends in order, and nothing is raised."""
    manager = Manager.from_config(config, name="greeter")
    set_up(manager)

    def send() -> None:
        try:
            checks = manager.readiness_checks().values()
            until(lambda: not [why for check in checks if (why := check())], "up", seconds=SECONDS)
        finally:
            terminate()

    sending = Background(send)
    with captured_logs() as logs:
        manager.run_until_signalled()
    sending.result()
    assert [one["signal"] for one in logs if one["event"] == "Received signal, shutting down"] == ["SIGTERM"]


def test_each_manager_has_a_registry(config: ClientConfig) -> None:
    """Its own, or the given one; two on one are refused with the way out."""
    registry = CollectorRegistry()
    given = Manager.from_config(config, name="a", registry=registry)
    assert given.registry is registry
    one, two = Manager(Client(ScriptedTransport())), Manager(Client(ScriptedTransport()))
    assert one.registry is not two.registry
    with pytest.raises(ValueError, match="this registry has another manager's metrics: leave registry out"):
        Manager(Client(ScriptedTransport()), registry=registry)


def test_a_lease_needs_a_namespace_outside_a_cluster(config: ClientConfig) -> None:
    """It is raised before any request to the server."""
    with pytest.raises(ValueError, match='"NAMESPACE/NAME"'):
        Manager.from_config(config, name="greeter", leader_election="greeter")


def test_shards_with_leader_election_are_refused(config: ClientConfig) -> None:
    """Only one replica would lead, and it would work only on its own slots."""
    with pytest.raises(ValueError, match="shards need all namespaces and no leader election"):
        Manager.from_config(config, name="a", leader_election=QUICK, shards=Shards(2, lease="b/c"))


def test_the_leases_of_shards_are_named_after_the_program(
    config: ClientConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the pod's namespace; at the end they are released, and the connections of their own are closed."""
    monkeypatch.setenv("POD_NAMESPACE", "default")
    manager, stop = Manager.from_config(config, name="greeter", shards=Shards(2)), threading.Event()
    set_up(manager, greeter := Greeter())
    leases = Client(HTTPTransport(config)).resource(Lease)
    Client(HTTPTransport(config)).resource(Greeting).create(greeting("world"))
    with captured_logs():
        running = Background(lambda: manager.run(stop))
        until(lambda: greeter.seen, "reconciled", seconds=SECONDS)
        found = {each.metadata.name: each.spec.holder_identity for each in leases.list("default").items}
        stop.set()
        running.result()
    assert {"greeter-slot-0-of-2", "greeter-slot-1-of-2"} < found.keys()
    left = {each.metadata.name: each.spec.holder_identity for each in leases.list("default").items}
    assert left == {"greeter": "", "greeter-slot-0-of-2": "", "greeter-slot-1-of-2": ""}
