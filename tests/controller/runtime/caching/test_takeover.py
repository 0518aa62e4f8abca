"""Caches at a takeover: a former holder's last writes are seen before anything is done."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from handloop import Context, Manager, Shards, controller_for, is_controlled_by, with_controller
from handloop.apis.coordination_v1 import Lease
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.apis.meta import ObjectMeta
from handloop.client.errors import ConnectionRefused
from handloop.client.resource_client import Client
from handloop.controller.runtime.caching.takeover import PATIENCE_SECONDS, SMALL, CatchUp, catch_up
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.builders.greetings import Greeting
from support.checks.api_errors import api_error
from support.checks.threads import Background
from support.rigs.managed_sandbox import ManagedSandbox


class Informer:
    """An informer whose watch is at `seen`; a list brings it to the newest version, if the test says so."""

    name = "foos"

    def __init__(self, *, objects: int = 1, seen: int = 1, newest: int = 5) -> None:
        self.indexer = range(objects)
        self.seen, self.newest, self.lists = seen, newest, 0
        self.errors: list[Exception] = []
        self.synced = True

    def newest_resource_version(self) -> str:
        if self.errors:
            raise self.errors.pop(0)
        return str(self.newest)

    def has_seen(self, version: str) -> bool:
        return self.seen >= int(version)

    def has_synced(self) -> bool:
        return self.synced

    def list_newest(self) -> None:
        self.lists += 1


def test_a_cache_that_has_it_all_waits_for_nothing() -> None:
    """Its watch was ahead already."""
    informer: Any = Informer(seen=5)
    assert CatchUp(informer, FakeClock()).is_done()
    assert informer.lists == 0


def test_a_small_cache_that_is_behind_is_listed_anew_once() -> None:
    """An idle kind's watch would say nothing for a minute."""
    informer: Any = Informer()
    catching = CatchUp(informer, FakeClock())
    assert [catching.is_done(), catching.is_done(), informer.lists] == [False, False, 1]
    informer.seen = 6
    assert catching.is_done()


def test_a_large_cache_has_a_second_to_see_it_in_its_watch() -> None:
    """A list of it is expensive, and a kind with many objects is rarely idle."""
    clock, informer = FakeClock(), Informer(objects=SMALL + 1)
    made: Any = informer
    catching = CatchUp(made, clock)
    assert (catching.is_done(), informer.lists) == (False, 0)
    clock.advance(PATIENCE_SECONDS)
    assert (catching.is_done(), informer.lists) == (False, 1)


def test_a_first_list_is_completed_before() -> None:
    """It may have begun before the takeover."""
    informer: Any = Informer()
    informer.synced = False
    catching = CatchUp(informer, FakeClock())
    assert (catching.is_done(), informer.lists) == (False, 0)
    informer.synced = True
    assert (catching.is_done(), informer.lists) == (False, 1)


def test_a_kind_that_may_not_be_read_is_not_waited_for() -> None:
    """Nor one that is not installed: nobody can know what is new of it."""
    for code, reason in ((403, "Forbidden"), (404, "NotFound")):
        informer: Any = Informer()
        informer.errors = [api_error(code, reason)]
        assert CatchUp(informer, FakeClock()).is_done()


def test_a_server_that_does_not_answer_is_asked_again() -> None:
    """Until it does, nothing is done: nothing could be written anyway."""
    clock, informer = FakeClock(), Informer(seen=5)
    informer.errors = [ConnectionRefused("refused")]
    made: Any = informer
    catching = CatchUp(made, clock)
    assert not catching.is_done()
    assert not catching.is_done()
    clock.advance(PATIENCE_SECONDS)
    assert catching.is_done()


def test_a_stop_ends_the_wait_and_a_first_list_in_trouble_is_left_out() -> None:
    """One kind that is missing keeps no leader from its work."""
    behind: Any = Informer()
    stop = threading.Event()
    clock = FakeClock(moves_itself=True)
    waiter = Background(lambda: catch_up([behind], stop, clock=clock, is_failing=lambda _each: False))
    eventually(lambda: behind.lists == 1, "a list")
    stop.set()
    waiter.result()
    broken: Any = Informer()
    broken.synced = False
    catch_up([broken], threading.Event(), clock=clock, is_failing=lambda _each: True)


# -- two processes


def make_child(greeting: Greeting, context: Context) -> None:
    """One child, whose name the server makes: a second one shows an old cache."""
    namespace = greeting.metadata.namespace
    children = context.lister_for(ConfigMap).list(namespace=namespace)
    if not any(is_controlled_by(each, greeting) for each in children):
        child = ConfigMap(metadata=ObjectMeta(generate_name="child-", namespace=namespace))
        context.client.resource(ConfigMap).create(with_controller(child, greeting))


def set_up(manager: Manager) -> None:
    """The controller of both processes."""
    builder = controller_for(manager, "greeter").for_(Greeting).owns(ConfigMap)
    builder.writes(ConfigMap, "create").complete(make_child)


class Two:
    """Processes of which `b` reads ConfigMaps from a server that is behind."""

    def __init__(self) -> None:
        self.cluster = ManagedSandbox(Greeting)
        self.admin = self.cluster.client
        self.running: dict[str, tuple[threading.Event, Background[None]]] = {}

    def start(self, who: str, **options: Any) -> Manager:
        client = Client(self.cluster.transport(), user_agent=who)
        manager = Manager(client, registry=CollectorRegistry(), **options)
        set_up(manager)
        if "shards" not in options:
            lock = LeaseLock(self.admin.resource(Lease), namespace="default", name="greeter", identity=who)
            manager.elect(LeaderElectionConfig(lock, 4.0, 3.0, 0.25))
        stop = threading.Event()
        self.running[who] = stop, Background(lambda: manager.run(stop))
        return manager

    def stop(self, who: str) -> None:
        stop, thread = self.running.pop(who)
        stop.set()
        thread.result()

    def lag(self) -> None:
        self.cluster.sandbox.faults.lag(resources=("configmaps",), verbs=("list", "watch"), user_agent="b*")

    def greet(self, namespace: str) -> None:
        path = Greeting.resource.path(namespace=namespace)
        names = {"apiVersion": Greeting.resource.api_version, "kind": "Greeting"}
        self.cluster.post(path, {**names, "metadata": {"name": "g"}, "spec": {}})

    def children(self, namespace: str) -> int:
        return len(self.admin.resource(ConfigMap).list(namespace).items)


@pytest.fixture
def two() -> Iterator[Two]:
    made = Two()
    yield made
    for who in tuple(made.running):
        made.stop(who)


def reconciled(manager: Manager) -> bool:
    """Whether a controller has settled an object since the takeover."""
    controller: Any = manager.runnables()["greeter"]
    return bool(controller.statistics().succeeded)


def slots_of(manager: Manager) -> tuple[int, ...]:
    """The slots that it holds."""
    shown = manager.replica.statistics()
    assert shown is not None
    return shown.held


def test_a_replica_sees_what_the_former_holder_of_its_slot_wrote(two: Two) -> None:
    """A list that is only not older than what it has seen itself would lack the child."""
    shards = Shards(2, lease="default/x", retry_period_seconds=0.25, settle_seconds=0.5)
    a = two.start("a", shards=shards)
    eventually(lambda: len(slots_of(a)) == 2, "both slots")
    b = two.start("b", shards=shards)
    eventually(lambda: len(slots_of(b)) == 1, "one slot each")
    (moving,) = slots_of(a)
    namespace = next(f"ns-{i}" for i in range(50) if slot_of_namespace(f"ns-{i}", 2) == moving)
    two.cluster.namespace(namespace)
    two.lag()
    two.greet(namespace)
    eventually(lambda: two.children(namespace) == 1, "the child")
    two.stop("a")
    eventually(lambda: reconciled(b), "a reconcile of b")
    assert two.children(namespace) == 1


def test_a_new_leader_sees_what_the_former_one_wrote(two: Two) -> None:
    """A standby's caches are warm, and may be old."""
    a = two.start("a")
    eventually(lambda: a.seconds_to_write() > 0, "a leads")
    b = two.start("b")
    eventually(lambda: all(each.has_synced() for each in b.informers()), "b's caches")
    two.lag()
    two.greet("default")
    eventually(lambda: two.children("default") == 1, "the child")
    two.stop("a")
    eventually(lambda: reconciled(b), "a reconcile of b")
    assert two.children("default") == 1
