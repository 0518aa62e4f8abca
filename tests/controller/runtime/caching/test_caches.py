"""The informers of a process, and how far they are."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from handloop.apis.core_v1 import Service
from handloop.apis.meta import FrozenMap, Kind
from handloop.client.resource_client import Client
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.caching.caches import WARM_UP_SECONDS, Caches
from handloop.controller.runtime.caching.multi_namespace_informer import is_refused
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import ObjectName
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, spawn_thread
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.builders.converted_sites import Site
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import AsAlice, ManagedSandbox, allow_foos, post


class Namespace(Kind, group="", version="v1", scope="Cluster"):
    """A cluster-scoped kind."""


def names(caches: Caches) -> list[str]:
    """What the informers are called."""
    return [informer.name for informer in caches.informers()]


def test_an_informer_per_namespace() -> None:
    """Named apart where there are several; a cluster-scoped kind has one; a namespace named twice is one."""
    client = ManagedSandbox().client
    everywhere = Caches(client)
    everywhere.informer_for(Service)
    assert names(everywhere) == ["services"]
    two = Caches(client, namespaces=("a", "b", "a"))
    two.informer_for(Service)
    two.informer_for(Service)
    two.informer_for(Namespace)
    assert names(two) == ["services@a", "namespaces@a", "services@b"]


def test_one_namespace_is_a_sequence_of_one() -> None:
    """A str of one name is refused: it would be taken for a label selector, without a word."""
    with pytest.raises(TypeError, match=r"such as \('default',\), or a label selector"):
        Caches(ManagedSandbox().client, namespaces="default")


@pytest.mark.parametrize("namespaces", [("", "a"), ("a", "", "b")])
def test_all_namespaces_and_one_of_them_are_refused(namespaces: tuple[str, ...]) -> None:
    """Each object of that one would be held, and delivered, twice; which of the two was meant is unknown."""
    with pytest.raises(ValueError) as caught:
        Caches(ManagedSandbox().client, namespaces=namespaces)
    assert str(caught.value) == (
        f'namespaces={namespaces!r} contains names and "", which means all namespaces: '
        'remove "" to watch only the named ones, or pass () for all'
    )


def test_all_namespaces_have_two_spellings() -> None:
    """The empty name is Kubernetes' own."""
    for namespaces in ((), ("",), ("", "")):
        caches = Caches(ManagedSandbox().client, namespaces=namespaces)
        caches.informer_for(Service)
        assert names(caches) == ["services"]


def test_a_transform_makes_what_is_kept(cluster: ManagedSandbox) -> None:
    """Of every kind, in every namespace."""
    caches = Caches(
        cluster.client,
        namespaces=("default", "kube-system"),
        options=InformerOptions(
            transform=lambda obj: replace(
                obj, metadata=replace(obj.metadata, labels=FrozenMap({"kept": "1"}))
            )
        ),
    )
    services = caches.informer_for(Service)
    stop = threading.Event()
    caches.start(stop)
    eventually(lambda: caches.synced_check() is None, "all listed")
    kept = services.list()
    stop.set()
    caches.shutdown()
    assert kept
    assert {service.metadata.labels for service in kept} == {FrozenMap({"kept": "1"})}


def test_an_informer_that_is_asked_for_after_the_start_is_filled(cluster: ManagedSandbox) -> None:
    """In every namespace; it ends with the others."""
    caches = Caches(cluster.client, namespaces=("default", "kube-system"))
    caches.start(threading.Event())
    late = caches.informer_for(Service)
    eventually(late.has_synced, "filled")
    caches.shutdown()
    assert all(informer.statistics().stopped for informer in late.informers)


def test_a_version_that_is_not_defined_yet_keeps_nobody_unready_who_converts(cluster: ManagedSandbox) -> None:
    """Else no replica could convert when the definition comes."""
    caches = Caches(cluster.client)
    caches.informer_for(Site)
    assert caches.synced_check() == "caches not filled yet: sites"
    stop = threading.Event()
    caches.start(stop)
    eventually(lambda: caches.synced_check() is None, "ready")
    assert not caches.informer_for(Site).has_synced()
    cluster.install(Site)
    eventually(caches.informer_for(Site).has_synced, "filled")
    stop.set()
    caches.shutdown()


def test_the_check_names_what_is_missing(cluster: ManagedSandbox) -> None:
    """Each kind once, until its cache is filled."""
    caches = Caches(cluster.client, namespaces=("default", "kube-system"))
    caches.informer_for(Service)
    caches.informer_for(Foo)
    assert caches.synced_check() == "caches not filled yet: services, foos"
    stop = threading.Event()
    caches.start(stop)
    eventually(lambda: caches.synced_check() == "caches not filled yet: foos", "Services listed")
    cluster.install(Foo)
    eventually(lambda: caches.synced_check() is None, "all listed")
    stop.set()
    caches.shutdown()


def test_warming_up_waits_for_what_can_be_filled(cluster: ManagedSandbox) -> None:
    """A kind that the server does not know is in trouble, and is not waited for."""
    caches = Caches(cluster.client)
    caches.informer_for(Service)
    caches.informer_for(Foo)
    stop = threading.Event()
    caches.start(stop)
    caches.warm_up(stop)
    assert caches.informer_for(Service).has_synced()
    assert not caches.informer_for(Foo).has_synced()
    stop.set()
    caches.shutdown()


def test_warming_up_is_bounded(cluster: ManagedSandbox) -> None:
    """A list that takes for ever keeps no replica from leading for more than a minute."""
    clock = FakeClock(moves_itself=True)
    caches = Caches(cluster.client, seams=Seams(clock=clock))
    caches.informer_for(Service)
    with captured_logs():
        caches.warm_up(threading.Event())
    assert WARM_UP_SECONDS <= clock.now() < WARM_UP_SECONDS + 1


@pytest.mark.parametrize("wait", ["warm_up", "report"])
def test_a_stop_ends_every_wait(cluster: ManagedSandbox, wait: str) -> None:
    """Also while nothing is filled."""
    caches = Caches(cluster.client, seams=Seams(clock=FakeClock()))
    caches.informer_for(Service)
    stop = threading.Event()
    stop.set()
    getattr(caches, wait)(stop)
    assert caches.synced_check() is not None


def test_a_long_wait_is_not_silent(cluster: ManagedSandbox) -> None:
    """Every ten seconds a line shows how far each kind is."""
    stop = threading.Event()

    class Clock(FakeClock):
        def sleep(self, seconds: float, event: threading.Event) -> bool:
            if self.now() > 25:
                stop.set()
            return super().sleep(seconds, event)

    caches = Caches(cluster.client, seams=Seams(clock=Clock(moves_itself=True)))
    caches.informer_for(Service)
    with captured_logs() as logs:
        caches.report(stop)
    assert [entry["event"].split(" — ")[0] for entry in logs] == [
        "waiting for caches: services not started",
        "waiting for caches: services not started",
    ]


def test_told_to_end_all_of_them_end(cluster: ManagedSandbox) -> None:
    """In every namespace, without the event that they were started with; no thread is waited for."""
    caches = Caches(cluster.client, namespaces=("default", "kube-system"))
    caches.informer_for(Service)
    caches.start(threading.Event())
    caches.stop()
    eventually(lambda: all(informer.statistics().stopped for informer in caches.informers()), "ended")
    caches.shutdown()


def test_nothing_begins_once_the_caches_have_ended(cluster: ManagedSandbox) -> None:
    """A reconcile that was left behind may still ask for a watch, which nobody would end."""
    caches, name = Caches(cluster.client), ObjectName("default", "a")
    caches.start(threading.Event())
    caches.stop()
    assert caches.watch_object(Service, name, lambda *_: None) is None
    assert caches.watch(Service, "default") is None
    assert not caches.run_beside("beside", lambda _stop: None)


def test_what_begins_while_the_caches_end_is_ended(cluster: ManagedSandbox) -> None:
    """Between the start of its thread and its registration."""
    caches: Caches
    ended: list[bool] = []

    def spawn(name: str, target: Callable[[], None]) -> Joinable:
        thread = spawn_thread(name, target)
        if name == "watch-services":
            caches.stop()
            ended.append(True)
        return thread

    caches = Caches(cluster.client, seams=Seams(spawn=spawn))
    caches.start(threading.Event())
    watch = caches.watch_object(Service, ObjectName("default", "a"), lambda *_: None)
    assert ended
    assert watch is not None
    assert watch.has_ended
    assert caches.shutdown(20) == []


def test_a_kind_without_a_type_has_an_informer(cluster: ManagedSandbox) -> None:
    """With the server's plural and scope; the objects are whole."""
    cluster.install(Foo)
    foo = {"kind": "Foo", "apiVersion": Foo.resource.api_version, "metadata": {"name": "a"}}
    cluster.post(Foo.resource.path(namespace="default"), foo | {"spec": {"deploymentName": "d"}})
    kind = cluster.client.discovery().kind(Foo.resource.api_version, "Foo")
    assert kind.resource.plural == "foos"
    caches, stop = Caches(cluster.client), threading.Event()
    foos = caches.informer_for(kind)
    caches.start(stop)
    try:
        eventually(foos.has_synced, "listed")
        (found,) = foos.list()
        assert found.content()["spec"] == {"deploymentName": "d"}
        assert foos.get("a", namespace="default") == found
    finally:
        stop.set()
        caches.shutdown()
    with pytest.raises(LookupError, match="no kind Bar in"):
        cluster.client.discovery().kind(Foo.resource.api_version, "Bar")


def test_a_namespace_that_refuses_us_keeps_no_other_waiting() -> None:
    """Missing, or without our role: the others are worked on, and it follows as soon as it is allowed."""
    cluster = ManagedSandbox(Foo)
    for namespace in ("good", "bad"):
        cluster.namespace(namespace)
    cluster.client = Client(AsAlice(cluster.transport()), stop=cluster.stop)
    allow_foos(cluster.sandbox, "alice", "good")
    manager = cluster.manager(namespaces=("good", "bad", "missing"))
    seen: list[str] = []
    builder = controller_for(manager, "reader").for_(Foo)
    builder.complete(lambda foo, context: seen.append(f"{foo.metadata.namespace} {len(names_in(context))}"))

    def names_in(context: Context) -> list[str]:
        return [foo.metadata.name for foo in context.lister_for(Foo).list()]

    def foo(namespace: str) -> None:
        head = {"apiVersion": Foo.resource.api_version, "kind": "Foo", "metadata": {"name": "a"}}
        spec = {"deploymentName": "a", "replicas": 1}
        post(cluster.sandbox, Foo.resource.path(namespace=namespace), {**head, "spec": spec})

    for namespace in ("good", "bad"):
        foo(namespace)
    with captured_logs() as lines, cluster.running(manager):
        eventually(lambda: seen == ["good 1"], "the one that may be read")
        assert all(check() is None for check in manager.readiness_checks().values())
        assert any("bad" in str(line.get("fix")) for line in lines if line["log_level"] == "warning")
        allow_foos(cluster.sandbox, "alice", "bad")
        eventually(lambda: "bad 2" in seen, "the one that is allowed by now")


def test_namespaces_that_are_all_refused_are_waited_for() -> None:
    """An empty cache of all would be taken for a cluster without objects."""
    cluster = ManagedSandbox(Foo)
    cluster.client = Client(AsAlice(cluster.transport()), stop=cluster.stop)
    manager = cluster.manager(namespaces=("default", "other"))
    informer = manager.informer_for(Foo)
    controller_for(manager, "reader").for_(Foo).complete(lambda _foo, _context: None)
    with captured_logs(), cluster.running(manager):
        eventually(lambda: all(map(is_refused, informer.informers)), "refused")
        assert not informer.has_synced()
        allow_foos(cluster.sandbox, "alice", "default")
        eventually(informer.has_synced, "one of them")


def test_a_call_that_blocks_makes_unready_and_then_dead(cluster: ManagedSandbox) -> None:
    """A predicate, a map function or a handler that waits: nothing else of its kind is heard of meanwhile."""
    clock, gate, calls = FakeClock(), threading.Event(), []
    caches = Caches(cluster.client, seams=Seams(clock=clock))
    stop = threading.Event()

    def wait(foo: Foo) -> None:
        calls.append(foo.metadata.name)
        gate.wait()

    caches.informer_for(Foo).add_event_handler(ResourceEventHandlerFuncs(add_func=wait))
    cluster.install(Foo)
    cluster.foo("a")
    caches.start(stop)
    try:
        eventually(lambda: calls, "called")
        assert (caches.fresh_check(), caches.alive_check()) == (None, None)
        clock.advance(61)
        with captured_logs() as logs:
            assert "blocked: foos.samplecontroller.k8s.io: " in str(caches.fresh_check())
        assert [line["event"].partition(":")[0] for line in logs] == [
            "A handler, or its predicate or map function, blocks"
        ]
        assert caches.alive_check() is None
        clock.advance(240)
        assert "for 301s" in str(caches.alive_check())
        gate.set()
        eventually(lambda: caches.alive_check() is None, "alive")
    finally:
        gate.set()
        stop.set()
        caches.shutdown()
