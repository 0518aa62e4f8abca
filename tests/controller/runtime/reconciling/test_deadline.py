"""Until when a reconcile may work."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import pytest
from prometheus_client import CollectorRegistry

from handloop.apis.apps_v1 import Deployment
from handloop.client.errors import TooManyRequests
from handloop.client.resource_client import Client
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.controller.runtime.manager import PATIENCE_SECONDS, Manager
from handloop.controller.runtime.reconcile import Deadline, DeadlineExceededError
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.builders.foo_builders import new_foo
from support.checks.threads import Background
from support.doubles.scripted_transport import ScriptedTransport, answer
from support.rigs.managed_sandbox import ManagedSandbox


def test_time_runs_out() -> None:
    """remaining() counts down to 0, and check() raises from then on."""
    clock = FakeClock()
    deadline = Deadline(10, clock=clock)
    clock.advance(4)
    assert deadline.remaining() == 6
    deadline.check()
    clock.advance(7)
    assert (deadline.remaining(), deadline.passed(), deadline.exceeded()) == (0, True, True)
    with pytest.raises(DeadlineExceededError, match="deadline exceeded"):
        deadline.check()


def test_without_seconds_only_the_stop_counts() -> None:
    """No limit, until the program stops: then there is no time left, though no deadline has passed."""
    stop = threading.Event()
    deadline = Deadline(stop=stop, clock=FakeClock())
    assert deadline.remaining() == math.inf
    stop.set()
    assert (deadline.remaining(), deadline.passed(), deadline.exceeded()) == (0, False, True)
    with pytest.raises(DeadlineExceededError, match="stopping"):
        deadline.check()


def test_a_sleep_ends_at_the_deadline() -> None:
    """Asking for too much time waits for the time that is left, and the error reports it."""
    clock = FakeClock()
    deadline = Deadline(3, clock=clock)
    short = Background(lambda: deadline.sleep(1))
    clock.wait_for_deadline(1)
    clock.advance(1)
    assert short.result()
    long = Background(lambda: deadline.sleep(60))
    clock.wait_for_deadline(3)
    clock.advance(2)
    assert not long.result()


def test_a_worker_is_not_held_up_by_a_retry_after() -> None:
    """
    A server may ask for ten waits of two minutes: the worker gets the answer, and the queue does the waiting.

    Short waits, as a server that is busy asks for, are not worth a failed reconcile.
    """
    clock = FakeClock(moves_itself=True)
    transport = ScriptedTransport([answer(429, Retry_After="120"), *[answer(429, Retry_After="1")] * 9])
    manager = Manager(
        Client(transport, seams=Seams(clock=clock, random=lambda: 0.0)), registry=CollectorRegistry()
    )
    foos = manager.client.resource(Foo)
    with pytest.raises(TooManyRequests) as caught:
        foos.create(new_foo())
    assert caught.value.retry_after_seconds == 120
    assert clock.slept == []
    with pytest.raises(TooManyRequests):
        foos.create(new_foo())
    assert sum(clock.slept) == PATIENCE_SECONDS


@pytest.mark.parametrize("add", [add_foo, add_myapp])
def test_one_worker_goes_on_while_a_server_asks_for_time(add: Callable[..., object]) -> None:
    """The first name waits in the queue for the server's time; the next ones are worked on."""
    cluster = ManagedSandbox()
    cluster.install(Foo, MyApp)
    manager = cluster.manager()
    add(manager, workers=1)
    limited = cluster.sandbox.faults.error(
        429, retry_after=1000, verbs=["create", "patch"], resources=["deployments"], count=1
    )
    kind, spec = (Foo, {"replicas": 1}) if add is add_foo else (MyApp, {"image": "nginx:1"})

    def create(name: str) -> None:
        wanted = {**spec, **({"deploymentName": name} if kind is Foo else {})}
        document = {"apiVersion": kind.resource.api_version, "kind": kind.resource.kind, "spec": wanted}
        cluster.post(kind.resource.path(namespace="default"), {**document, "metadata": {"name": name}})

    def names() -> list[str]:
        return [found.metadata.name for found in deployments.list("default").items]

    deployments = Client(cluster.transport()).resource(Deployment)
    with cluster.running(manager):
        create("slow")
        eventually(lambda: limited.hits, "met")
        create("quick")
        eventually(lambda: "quick" in names(), "the next one's Deployment")
        assert names() == ["quick"]
