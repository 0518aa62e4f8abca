"""The parts of a controller that is put together: its writes are known, checked and told of."""

from __future__ import annotations

import pytest

from handloop.apis.core_v1 import Event, Service, ServicePort, ServiceSpec
from handloop.apis.meta import Kind, ObjectMeta, is_controlled_by, new_controller_ref
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.informers.lister import NamespaceNotWatched
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.rigs.foo_cluster import create_foo, foo_cluster
from support.rigs.managed_sandbox import ManagedSandbox


class ConfigMap(Kind, group="", version="v1"):
    """A user's own type."""


@pytest.fixture
def cluster() -> ManagedSandbox:
    """A sandbox in which Foos can be made."""
    return foo_cluster()


def test_a_child_that_the_server_refuses_is_an_event_of_its_owner(cluster: ManagedSandbox) -> None:
    """Its author may be able to mend it. Retries repeat it ever more rarely, a new generation at once."""
    manager = cluster.manager()

    def reconcile(foo: Foo, context: Context) -> None:
        metadata = ObjectMeta(name="No_Name", namespace=foo.metadata.namespace)
        context.apply(ConfigMap(metadata=metadata), owner=foo)

    controller = controller_for(manager, "exposer").for_(Foo).owns(ConfigMap).complete(reconcile)
    foos = cluster.client.resource(Foo)

    def told() -> int:
        events = cluster.client.resource(Event).list("default").items
        assert {(event.reason, event.type) for event in events} <= {("WriteRefused", "Warning")}
        assert all("No_Name" in event.message for event in events)
        return sum(event.count for event in events)

    with captured_logs(), cluster.running(manager):
        create_foo(cluster, "a")
        eventually(lambda: controller.statistics().failed >= 4, "retried")
        eventually(lambda: told() == 1, "told once")
        foos.patch("a", {"spec": {"replicas": 2}}, namespace="default")
        eventually(lambda: told() == 2, "told again")


def test_a_namespace_that_comes_back_during_a_reconcile_is_no_failure(cluster: ManagedSandbox) -> None:
    """A cache that does not have it again yet is asked a second later; another namespace is a mistake."""
    manager = cluster.manager()
    asked: list[str] = []

    def reconcile(foo: Foo, _context: Context) -> None:
        asked.append(foo.metadata.name)
        if len(asked) == 1:
            raise NamespaceNotWatched("get", "default", "those with team=a")
        if len(asked) == 3:
            raise NamespaceNotWatched("get", "elsewhere", "default")

    controller = controller_for(manager, "reader").for_(Foo).complete(reconcile)
    with captured_logs() as logs, cluster.running(manager):
        create_foo(cluster, "a")
        eventually(lambda: asked == ["a", "a"], "asked again")
        assert controller.statistics().failed == 0
        create_foo(cluster, "b")
        eventually(lambda: asked[2:] == ["b", "b"], "retried")
    assert [line["object"].name for line in logs if line["log_level"] == "error"] == ["b"]


def test_a_write_that_is_not_declared_is_reported_once(cluster: ManagedSandbox) -> None:
    """Though the server takes it: with the line for the set-up. A declared write is not logged."""
    manager = cluster.manager()
    done: set[str] = set()

    def reconcile(foo: Foo, context: Context) -> None:
        context.apply(ConfigMap.named(foo), owner=foo)
        context.apply(Service.named(foo, spec=ServiceSpec(ports=(ServicePort(port=80),))), owner=foo)
        foos = context.client.resource(Foo)
        foos.update_status(foos.get(foo.metadata.name, namespace="default"))
        done.add(foo.metadata.name)

    builder = controller_for(manager, "maps").for_(Foo).owns(ConfigMap).writes(Service, "create", "patch")
    builder.complete(reconcile)
    with captured_logs() as logs, cluster.running(manager):
        for name in ("a", "b"):
            create_foo(cluster, name)
        eventually(lambda: done == {"a", "b"}, "written")
    told = [line for line in logs if line["event"].startswith("Undeclared write")]
    assert [(line["resource"], line["fix"], line["once"]) for line in told] == [
        (resource, f"declare it in the set-up: .writes({said}); then apply the roles again", True)
        for resource, said in [
            ("configmaps", 'ConfigMap, "create", "patch"'),
            ("foos.samplecontroller.k8s.io/status", 'Foo, "update", subresource="status"'),
        ]
    ]


def six_maps(manager: Manager, *, owns: bool, timeout_seconds: float) -> Controller:
    """Keeps six ConfigMaps per Foo, which the server names; the reconcile does not report its writes."""
    maps = manager.informer_for(ConfigMap)

    def reconcile(foo: Foo, context: Context) -> None:
        metadata = ObjectMeta(
            generate_name="m-", namespace="default", owner_references=(new_controller_ref(foo),)
        )
        for _ in range(6 - sum(is_controlled_by(each, foo) for each in maps)):
            context.client.resource(ConfigMap).create(ConfigMap(metadata=metadata))

    builder = controller_for(manager, "maps").for_(Foo)
    if owns:
        builder.owns(ConfigMap)
    return builder.with_options(own_write_timeout_seconds=timeout_seconds).complete(reconcile)


@pytest.mark.parametrize("timeout_seconds", [60, 0.01], ids=["in time", "asked"])
@pytest.mark.parametrize("owns", [True, False], ids=["owned", "only read"])
def test_no_write_can_be_forgotten(cluster: ManagedSandbox, owns: bool, timeout_seconds: float) -> None:
    """While the watch of children is late, changes of the owner lead to no second set, for however long."""
    manager = cluster.manager()
    controller = six_maps(manager, owns=owns, timeout_seconds=timeout_seconds)
    foos = cluster.client.resource(Foo)

    def made() -> int:
        return len(cluster.client.resource(ConfigMap).list("default").items)

    def waits() -> object:
        told = any(line["event"].startswith("Cache lacks our own write") for line in lines)
        return told if timeout_seconds < 60 else controller.queue.statistics().delayed

    with captured_logs() as lines, cluster.running(manager):
        eventually(lambda: controller.statistics().workers_alive, "working")
        # the workers do not wait for a cache that their controller only reads
        eventually(lambda: not manager.readiness_checks()["informers-synced"](), "filled")
        before = made()
        silence = cluster.sandbox.faults.delay_watches(resources=["configmaps"])
        create_foo(cluster, "a")
        eventually(lambda: controller.statistics().succeeded == 1, "made")
        foos.patch("a", {"spec": {"replicas": 2}}, namespace="default")
        eventually(lambda: made() > before + 6 or waits(), "waits")
        assert made() == before + 6
        silence.clear()
        eventually(lambda: controller.statistics().succeeded >= 2, "went on")
    assert made() == before + 6
    assert controller.statistics().failed == 0
