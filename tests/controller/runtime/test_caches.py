"""The informers of a process, and how far they are."""

from __future__ import annotations

import threading

import pytest
from msgspec.structs import replace

from handloop.apis.core_v1 import Service
from handloop.apis.meta import FrozenMap, Kind
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.caches import WARM_UP_SECONDS, Caches
from handloop.informers.informer_options import InformerOptions
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox


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
        f'namespaces={namespaces!r} holds "", which is all namespaces, beside single ones: '
        'leave "" out to watch those alone, or give () for all'
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
    assert all(informer.is_stopped() for informer in late.informers)


def test_the_check_names_what_is_missing(cluster: ManagedSandbox) -> None:
    """Each kind once, until its cache is filled."""
    caches = Caches(cluster.client, namespaces=("default", "kube-system"))
    caches.informer_for(Service)
    caches.informer_for(Foo)
    assert caches.synced_check() == "no complete list yet of services, foos"
    stop = threading.Event()
    caches.start(stop)
    eventually(lambda: caches.synced_check() == "no complete list yet of foos", "Services listed")
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
    eventually(lambda: all(informer.is_stopped() for informer in caches.informers()), "ended")
    caches.shutdown()


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
