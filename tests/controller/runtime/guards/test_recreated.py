"""An object that is deleted and created again at once: `kubectl replace --force`, and many a GitOps tool."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from handloop.apis.core_v1 import Event
from handloop.apis.meta import ObjectMeta, controller_of, is_controlled_by
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconcile import TerminalError, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.example_cluster import ExampleCluster, example_cluster
from support.rigs.greeter import Greeting
from support.rigs.managed_sandbox import ManagedSandbox
from support.servers.cluster import EITHER

TIMES = 10


def greet(greeting: Greeting, context: Context) -> None:
    """A ConfigMap of its name; a failure is not tried again without a change."""
    try:
        context.apply(ConfigMap.named(greeting, data={"text": "hello"}), owner=greeting)
    except WaitError:
        raise
    except Exception as error:
        raise TerminalError(str(error)) from error


def set_up(manager: Manager) -> None:
    """The controller of Greetings."""
    builder = controller_for(manager, "greeter").for_(Greeting).owns(ConfigMap)
    builder.writes(ConfigMap, "create", "patch").complete(greet)


@pytest.fixture(params=EITHER)
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ExampleCluster]:
    """Either server."""
    with example_cluster(request.param, tmp_path, Greeting) as made:
        yield made


def test_it_gets_its_child_without_an_alarm(cluster: ExampleCluster) -> None:
    """No error, no warning, no Warning Event, whenever the garbage collector comes to the former child."""
    with captured_logs() as lines, cluster.operator(set_up) as controller:
        made = cluster.create(Greeting.named("world"))
        for _ in range(TIMES):
            uid = made.metadata.uid
            cluster.eventually(lambda uid=uid: owner_uid(cluster) == uid, "its child")  # type: ignore[misc]
            cluster.delete(Greeting, "world")
            made = cluster.create(Greeting.named("world"))
        cluster.eventually(lambda: owner_uid(cluster) == made.metadata.uid, "the last one's child")
    assert controller.statistics().failed == 0
    assert [line for line in lines if line["log_level"] in ("warning", "error")] == []
    assert [event.message for event in cluster.all(Event) if event.type == "Warning"] == []


def owner_uid(cluster: ExampleCluster) -> str:
    """Whose the ConfigMap `world` is."""
    child = cluster.get(ConfigMap, "world")
    owner = controller_of(child) if child else None
    return owner.uid if owner else ""


def test_the_end_of_the_former_child_wakes_it() -> None:
    """Nothing else does: there is neither a resync nor a garbage collector."""
    cluster = ManagedSandbox()
    cluster.install(Greeting)
    manager = cluster.manager()
    set_up(manager)
    (controller,) = manager.runnables().values()
    assert isinstance(controller, Controller)
    greetings, maps = cluster.client.resource(Greeting), cluster.client.resource(ConfigMap)

    def child_of(owner: Greeting) -> bool:
        return any(is_controlled_by(each, owner) for each in maps.list("default").items)

    with captured_logs() as lines, cluster.running(manager):
        first = greetings.create(Greeting(metadata=ObjectMeta(name="a", namespace="default")))
        eventually(lambda: child_of(first), "its child")
        greetings.delete("a", namespace="default")
        second = greetings.create(Greeting(metadata=ObjectMeta(name="a", namespace="default")))
        eventually(lambda: any(line["event"] == "Reconcile waits" for line in lines), "waits")
        maps.delete("a", namespace="default")
        eventually(lambda: child_of(second), "its own child")
    assert controller.statistics().failed == 0
