"""Managers that share the work by slots: each object is served once, and never written by two."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Service, ServicePort, ServiceSpec
from handloop.apis.grammar.shard_selector import slot_of, slot_of_namespace
from handloop.apis.meta import ObjectMeta
from handloop.client.errors import Cancelled
from handloop.controller.foo.runnable import add_foo
from handloop.controller.foo.types import Foo, FooSpec
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp, MyAppSpec
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.children.owner_references import with_controller
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.sharding.replica import Replica
from handloop.controller.runtime.sharding.sharded_kinds import ShardingError
from handloop.controller.runtime.sharding.shards import Shards
from handloop.informers.keys import ObjectName
from handloop.informers.lister import NamespaceNotWatched
from handloop.informers.object_watch import ObjectWatch
from handloop.informers.sharding.shard_scope import SLOT_LABEL
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.eventually import eventually
from handloop.testing.sharing import SLOTS, sharing
from support.checks.captured_logs import captured_logs
from support.checks.threads import Gate
from support.doubles.runnables import Free, Worker
from support.rigs.election import LeaseAPI
from support.rigs.managed_sandbox import ManagedSandbox

NAMESPACES = [f"ns-{number:02}" for number in range(12)]
"""They are in seven of the eight slots."""


@pytest.fixture
def cluster() -> ManagedSandbox:
    """A sandbox with namespaces and our CRDs."""
    made = ManagedSandbox(Foo, MyApp)
    for namespace in NAMESPACES:
        made.namespace(namespace)
    return made


def make_foos(cluster: ManagedSandbox, name: str) -> None:
    """A Foo of that name in each namespace."""
    for namespace in NAMESPACES:
        metadata = ObjectMeta(name=name, namespace=namespace)
        spec = FooSpec(deployment_name=f"{name}-d", replicas=1)
        cluster.client.resource(Foo).create(Foo(metadata=metadata, spec=spec))


def has(cluster: ManagedSandbox, name: str) -> bool:
    """Whether each namespace has a Deployment of that name."""
    found = {
        each.metadata.namespace
        for each in cluster.client.resource(Deployment).list().items
        if each.metadata.name == name
    }
    return found == set(NAMESPACES)


def both(manager: Manager) -> None:
    """Foo by hand, MyApp on the runtime."""
    add_foo(manager, workers=2)
    add_myapp(manager, workers=2)


def test_replicas_that_come_and_go_serve_all_and_no_object_twice(cluster: ManagedSandbox) -> None:
    """Each write is sent by the replica that the slot's Lease names, through handovers."""
    make_foos(cluster, "first")
    for namespace in NAMESPACES[:4]:
        metadata = ObjectMeta(name="app", namespace=namespace)
        cluster.client.resource(MyApp).create(MyApp(metadata=metadata, spec=MyAppSpec(image="nginx:1")))
    with captured_logs(), sharing(cluster, both) as replicas:
        replicas.start("a")
        replicas.wait_for(8)
        eventually(lambda: has(cluster, "first-d"), "made by one")
        replicas.start("b")
        replicas.wait_for(4, 4)
        make_foos(cluster, "second")
        replicas.start("c")
        replicas.wait_for(3, 3, 2)
        eventually(lambda: has(cluster, "second-d"), "made by three")
        replicas.stop("a")
        replicas.wait_for(4, 4)
        make_foos(cluster, "third")
        eventually(lambda: has(cluster, "third-d"), "made by the two that stayed")
        (ready,) = {each.readiness_checks()["shards"]() for each in replicas.managers.values()}
        assert (
            str(ready)
            == "Well(detail='4 of 8 slots, replicas: 2; objects of other slots: left out by the server')"
        )
        assert not any(
            check() for each in replicas.managers.values() for check in each.liveness_checks().values()
        )
    assert replicas.strays == []
    assert len(made := replicas.made("deployments")) == len(set(made)) == 3 * len(NAMESPACES)
    assert {write.replica for write in replicas.writes} == {"a", "b", "c"}
    assert set(replicas.holders.values()) == {""}, "each Lease is released"


class Copier:
    """Gives each Foo a Service of its name."""

    def __init__(self) -> None:
        self.causes: list[tuple[ObjectName, tuple[str, ...]]] = []
        self.hang: Gate | None = None
        self.children = True

    def add(self, manager: Manager) -> None:
        """To a manager."""
        builder = controller_for(manager, "copier").for_(Foo).owns(Service).writes(Service, "create", "patch")
        builder.complete(self.reconcile)

    def reconcile(self, foo: Foo, context: Context) -> None:
        """Once per Foo and cause."""
        self.causes.append((context.name, context.causes))
        if self.hang is not None:
            self.hang()
        child = Service.named(foo, spec=ServiceSpec(ports=(ServicePort(port=80),)))
        if self.children:
            context.apply(child, owner=foo)
        else:
            context.client.resource(Service).create(with_controller(child, foo))


def services(cluster: ManagedSandbox) -> dict[str, Service]:
    """By namespace."""
    return {
        each.metadata.namespace: each
        for each in cluster.client.resource(Service).list().items
        if each.metadata.namespace.startswith("ns-")
    }


def test_a_slot_that_left_and_came_back_is_reconciled_from_its_list(cluster: ManagedSandbox) -> None:
    """Changes in between told us nothing; of a back-off and a requeue of before nothing is left."""
    make_foos(cluster, "f")
    copier = Copier()
    with captured_logs(), sharing(cluster, copier.add) as replicas:
        replicas.start("a")
        manager = replicas.managers["a"]
        replicas.wait_for(8)
        eventually(lambda: len(services(cluster)) == len(NAMESPACES), "served")
        slots, namespace = manager.replica, NAMESPACES[0]
        assert isinstance(slots, Replica)
        slot = slot_of_namespace(namespace, SLOTS)
        foo = ObjectName(namespace, "f")
        assert manager.lister_for(Foo).get(foo) is not None
        replicas.start("b")
        replicas.wait_for(4, 4)
        holder, other = ("a", "b") if slot in slots.held.slots else ("b", "a")
        with pytest.raises(NamespaceNotWatched, match=f'namespace "{namespace}" is in slot {slot} of 8'):
            replicas.managers[other].lister_for(Foo).get(foo)
        copier.causes.clear()
        replicas.stop(holder)
        again = f"Foo {foo} listed"
        eventually(lambda: any(again in causes for _, causes in copier.causes), "reconciled anew")
    assert replicas.strays == []


def test_references_of_a_slot_that_left_are_watched_no_longer(cluster: ManagedSandbox) -> None:
    """Each of the objects that the Foos name has one watch, in the replica that has the Foo."""
    make_foos(cluster, "f")

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "reader").for_(Foo)
        builder.refers_to(ConfigMap, lambda foo: [foo.metadata.name]).complete(lambda _foo, _context: None)

    def watches(manager: Manager) -> int:
        ones = manager._caches._ones
        return sum(thread.is_alive() for one, thread in ones.items() if isinstance(one, ObjectWatch))

    with captured_logs(), sharing(cluster, set_up) as replicas:
        replicas.start("a")
        first = replicas.managers["a"]
        eventually(lambda: watches(first) == len(NAMESPACES), "all")
        replicas.start("b")
        second = replicas.managers["b"]
        replicas.wait_for(4, 4)
        eventually(lambda: 0 < watches(second) == len(NAMESPACES) - watches(first), "shared")


@pytest.mark.parametrize("by", ["namespace", "uid"])
def test_who_is_asked_why_names_the_replica_that_works_on_it(cluster: ManagedSandbox, by: Any) -> None:
    """By namespace each knows who holds the slot; by UID the other one names who may."""
    make_foos(cluster, "f")
    with captured_logs(), sharing(cluster, Copier().add, by=by) as replicas:
        replicas.start("a")
        replicas.start("b")
        replicas.wait_for(4, 4)
        managers = list(replicas.managers.values())

        def answers(namespace: str) -> list[Any]:
            return [manager.why(ObjectName(namespace, "f")) for manager in managers]

        def is_told(namespace: str) -> bool:
            ours, other = sorted(answers(namespace), key=lambda why: bool(why.elsewhere))
            names = ours.process in f"{other.elsewhere}{other.holder}"
            return not ours.elsewhere and ours.explanations[0].known and names

        eventually(lambda: all(map(is_told, NAMESPACES)), "told")


def test_outside_of_its_slots_a_replica_writes_nothing(cluster: ManagedSandbox) -> None:
    """Neither before it holds any, nor in another's namespace; what the fence refuses is said in words."""
    make_foos(cluster, "f")
    with captured_logs(), sharing(cluster, Copier().add) as replicas:
        manager = replicas.manager("idle")
        metadata = ObjectMeta(name="x", namespace=NAMESPACES[0])
        child = Service(metadata=metadata, spec=ServiceSpec(ports=(ServicePort(port=80),)))
        with pytest.raises(Cancelled, match="this replica does not hold the slot: nothing was sent"):
            manager.client.resource(Service).create(child)


def test_by_uid_children_bear_the_slot_of_their_owner(cluster: ManagedSandbox) -> None:
    """So the replica that has the owner hears of them: one that is deleted is there again."""
    make_foos(cluster, "f")
    with captured_logs(), sharing(cluster, Copier().add, by="uid") as replicas:
        replicas.start("a")
        replicas.start("b")
        replicas.wait_for(4, 4)
        eventually(lambda: len(services(cluster)) == len(NAMESPACES), "made")
        child = services(cluster)[NAMESPACES[3]]
        foos = {each.metadata.namespace: each for each in cluster.client.resource(Foo).list().items}
        cluster.client.resource(Service).delete("f", namespace=NAMESPACES[3])
        eventually(lambda: len(services(cluster)) == len(NAMESPACES), "made again")
        replicas.stop("a")
        replicas.wait_for(8)
        cluster.client.resource(Service).delete("f", namespace=NAMESPACES[5])
        eventually(lambda: len(services(cluster)) == len(NAMESPACES), "made by the other")

    assert replicas.strays == []
    slot = slot_of(foos[NAMESPACES[3]].metadata.uid, SLOTS)
    assert child.metadata.labels[SLOT_LABEL] == str(slot)


def test_by_uid_a_controller_by_hand_finds_children_by_their_owner(cluster: ManagedSandbox) -> None:
    """Each replica has all Deployments, and its own Foos: nothing is made twice, and what goes comes back."""
    make_foos(cluster, "f")
    with captured_logs(), sharing(cluster, lambda manager: add_foo(manager, workers=2), by="uid") as replicas:
        replicas.start("a")
        replicas.start("b")
        replicas.wait_for(4, 4)
        eventually(lambda: has(cluster, "f-d"), "made")
        cluster.client.resource(Deployment).delete("f-d", namespace=NAMESPACES[3])
        eventually(lambda: has(cluster, "f-d"), "made again")
        replicas.stop("a")
        replicas.wait_for(8)
        cluster.client.resource(Deployment).delete("f-d", namespace=NAMESPACES[5])
        eventually(lambda: has(cluster, "f-d"), "made by the other")
    made = replicas.made("deployments")
    assert (len(made), len(set(made))) == (len(NAMESPACES) + 2, len(NAMESPACES))


def test_a_child_without_its_label_is_an_error_once(cluster: ManagedSandbox) -> None:
    """No replica would hear of its changes; the line has the fix."""
    make_foos(cluster, "f")
    copier = Copier()
    copier.children = False
    with captured_logs() as logs, sharing(cluster, copier.add, by="uid") as replicas:
        replicas.start("a")
        eventually(lambda: len(services(cluster)) == len(NAMESPACES), "made")
    told = [line for line in logs if line["event"].startswith("Created without its slot's label")]
    assert [line["fix"] for line in told] == [
        f"create it with context.apply(..., owner=obj), which writes the label {SLOT_LABEL}"
    ]


def manager_of(cluster: ManagedSandbox, by: Any = "namespace", **options: Any) -> Manager:
    """A manager with shards."""
    return cluster.manager(shards=Shards(4, by, lease="default/x"), **options)


def test_what_cannot_be_sharded_is_refused(cluster: ManagedSandbox) -> None:
    """In words, and before anything runs."""
    with pytest.raises(ValueError, match=r"^shards need all namespaces and no leader election"):
        manager_of(cluster, namespaces=("default",))
    lock = LeaseLock(LeaseAPI().client(), namespace="demo", name="lease", identity="us")
    with pytest.raises(ValueError, match=r"^shards need all namespaces and no leader election"):
        ManagedSandbox().manager(
            shards=Shards(4, lease="default/x"), leader_election=LeaderElectionConfig(lock)
        )
    with pytest.raises(ValueError, match=r"^shards need all namespaces and no leader election"):
        manager_of(ManagedSandbox()).elect(LeaderElectionConfig(lock))


def test_runnables_that_cannot_be_sharded_are_refused(cluster: ManagedSandbox) -> None:
    """A controller by hand says by what it can be; any other runs in each replica, or under a lease."""
    manager = manager_of(cluster)
    with pytest.raises(
        ShardingError, match=r"^w cannot be sharded by namespace: run it with leader election"
    ):
        manager.add(Worker([], "w"))
    manager.add(Free([], "free"))
    by_uid, by_namespace = manager_of(ManagedSandbox(), "uid"), Worker([], "w")
    by_namespace.shards_by = ("namespace",)  # type: ignore[attr-defined] # as a controller by hand says it
    with pytest.raises(ShardingError, match=r'^w cannot be sharded by uid: use Shards\(..., by="namespace"'):
        by_uid.add(by_namespace)
    with pytest.raises(ShardingError, match="a deleted object has no UID"):
        controller_for(by_uid, "c").for_(Foo).complete_by_name(lambda _name, _context: None)


def test_the_roles_of_a_replica_have_its_leases(cluster: ManagedSandbox) -> None:
    """And the Namespaces, whose names leave others' objects out of its lists; by UID these are not needed."""
    asked = {(each.rule_resource, each.verbs, each.namespace) for each in manager_of(cluster).access()}
    assert ("namespaces", ("list",), None) in asked
    assert ("leases", ("create", "delete", "get", "list", "update"), "default") in asked
    by_uid = manager_of(ManagedSandbox(), "uid")
    assert "namespaces" not in {each.rule_resource for each in by_uid.access()}
