"""
A factory and its informers.

Upstream's periods of single kinds and informers by resource have no subject here: a handler asks for a period
of its own, and a kind is its type.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.apis.coordination_v1 import Lease
from handloop.apis.meta import Kind
from handloop.apis.unstructured import Unstructured
from handloop.client.decoding.pages import ListPage
from handloop.client.options import ListOptions
from handloop.controller.foo.types import Foo
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.indexer import NAMESPACE_INDEX
from handloop.informers.informer_options import InformerOptions
from handloop.informers.lister import NamespaceNotWatched
from handloop.informers.listwatch import Resources
from handloop.kinds.apps_v1 import Deployment as CompleteDeployment
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable, spawn_thread
from handloop.testing.eventually import eventually as until
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import deployment, names
from support.checks.api_errors import api_error
from support.checks.threads import Background
from support.doubles.fake_lister_watcher import FakeSource, FakeWatch
from support.doubles.recording_handler import Gate, RecordingHandler


class Node(Kind, group="", version="v1", scope="Cluster"):
    """A cluster-scoped kind."""


class FakeCollection:
    """Implements handloop.informers.listwatch.Resources; remembers the namespaces asked for."""

    def __init__(self, source: FakeSource) -> None:
        self.source = source
        self.namespaces: set[str] = set()

    def list(self, namespace: str = "", *, options: ListOptions) -> ListPage[Any]:
        self.namespaces.add(namespace)
        return self.source.list(options)

    def watch(self, namespace: str = "", *, options: ListOptions) -> FakeWatch[Any]:
        if options.send_initial_events:
            raise api_error(422, "Invalid")  # a server without streaming lists
        self.namespaces.add(namespace)
        return self.source.watch(options)


class FakeClient:
    """Implements handloop.informers.factory.ResourceSource: a collection per kind, filled by the test."""

    def __init__(self, *deployments: Deployment) -> None:
        self.collections: dict[type[Kind], FakeCollection] = {
            Deployment: FakeCollection(FakeSource(*deployments))
        }

    def resource(self, kind: type[Any]) -> Resources[Any]:
        return self.collections.setdefault(kind, FakeCollection(FakeSource()))


class Rig:
    def __init__(self, **options: Any) -> None:
        self.client = FakeClient(deployment("a"), deployment("b"))
        self.clock = FakeClock()
        self.stop = threading.Event()
        self.spawned: list[str] = []
        self.factory = SharedInformerFactory(
            self.client,
            seams=Seams(clock=self.clock, random=lambda: 0.0, spawn=self._spawn),
            **options,
        )

    def _spawn(self, name: str, target: Callable[[], None]) -> Joinable:
        self.spawned.append(name)
        return spawn_thread(name, target)

    def wait_synced(self) -> dict[type[Kind], bool]:
        """wait_for_cache_sync on a clock that another thread moves."""
        done = threading.Event()

        def tick() -> None:
            while not done.wait(0.002):
                self.clock.advance(0.1)

        ticker = threading.Thread(target=tick)
        ticker.start()
        try:
            return self.factory.wait_for_cache_sync(self.stop)
        finally:
            done.set()
            ticker.join(20)


@pytest.fixture
def make_rig() -> Iterator[Callable[..., Rig]]:
    """Factories that are shut down at the end of the test."""
    rigs: list[Rig] = []

    def make(**options: Any) -> Rig:
        rigs.append(Rig(**options))
        return rigs[-1]

    yield make
    for rig in rigs:
        rig.factory.shutdown()


MakeRig = Callable[..., Rig]


def test_one_informer_per_kind(make_rig: MakeRig) -> None:
    """Asking twice gives the same one, and asking does not start it."""
    rig = make_rig()
    informer = rig.factory.informer_for(Deployment)
    assert rig.factory.informer_for(Deployment) is informer
    assert rig.factory.informers() == [informer]
    assert not informer.statistics().started


def test_start_starts_each_informer_once(make_rig: MakeRig) -> None:
    """A second start finds nothing to do."""
    rig = make_rig()
    rig.factory.informer_for(Deployment)
    rig.factory.informer_for(Foo)
    rig.factory.start(rig.stop)
    rig.factory.start(rig.stop)
    assert rig.wait_synced() == {Deployment: True, Foo: True}
    assert sorted(rig.spawned) == [
        "informer-deployments",
        "informer-foos",
        "reflector-deployments",
        "reflector-foos",
    ]


def test_informer_requested_after_the_start_waits_for_another(make_rig: MakeRig) -> None:
    """It does not run, and the wait for the caches ignores it, until start is called again."""
    rig = make_rig()
    rig.factory.informer_for(Deployment)
    rig.factory.start(rig.stop)
    late = rig.factory.informer_for(Foo)
    assert rig.wait_synced() == {Deployment: True}
    assert not late.statistics().started
    rig.factory.start(rig.stop)
    assert rig.wait_synced() == {Deployment: True, Foo: True}


def test_wait_names_the_caches_that_are_not_filled(make_rig: MakeRig) -> None:
    """Stopped before, the map has False for them."""
    rig = _with_forbidden_foos(make_rig)
    with capture_logs():
        rig.factory.start(rig.stop)
        while not rig.factory.informer_for(Deployment).has_synced():
            rig.stop.wait(0.002)
        rig.stop.set()
        synced = rig.factory.wait_for_cache_sync(rig.stop)
    assert synced == {Deployment: True, Foo: False}


def _with_forbidden_foos(make_rig: MakeRig) -> Rig:
    rig = make_rig()
    foos = FakeCollection(FakeSource())
    foos.source.every_list = api_error(403, "Forbidden")
    rig.client.collections[Foo] = foos
    rig.factory.informer_for(Deployment)
    rig.factory.informer_for(Foo)
    return rig


def test_wait_is_never_silent(make_rig: MakeRig) -> None:
    """While a cache is missing, a line every ten seconds shows the progress."""
    rig = _with_forbidden_foos(make_rig)
    with capture_logs() as logs:
        rig.factory.start(rig.stop)
        # the clock runs ahead of the informers
        until(rig.factory.informer_for(Deployment).has_synced, "synced")
        until(lambda: "Failed to list" in [entry["event"] for entry in logs], "refused")
        waiter = threading.Thread(target=rig.wait_synced)
        waiter.start()
        while not (lines := [entry["event"] for entry in logs if "waiting" in entry["event"]]):
            rig.stop.wait(0.002)
        rig.stop.set()
        waiter.join(30)
    assert lines[0].startswith("waiting for caches: deployments ✓ 2, foos ✗ ")


def test_shutdown_ends_everything_for_good(make_rig: MakeRig) -> None:
    """It returns when the informers have ended; a later start does nothing; twice is fine."""
    rig = make_rig()
    informer = rig.factory.informer_for(Deployment)
    rig.factory.start(rig.stop)
    rig.factory.shutdown()
    assert informer.statistics().stopped
    rig.factory.informer_for(Foo)
    spawned = list(rig.spawned)
    rig.factory.start(rig.stop)
    rig.factory.shutdown()
    assert rig.spawned == spawned


def test_shutdown_waits_for_a_running_handler(make_rig: MakeRig) -> None:
    """A call in progress ends first."""
    rig = make_rig()
    gate = Gate()
    handler = RecordingHandler(gate)
    rig.factory.informer_for(Deployment).add_event_handler(handler)
    rig.factory.start(rig.stop)
    gate.wait()

    def shut_down() -> list[str]:
        rig.factory.shutdown()
        return handler.seen()

    shutting_down = Background(shut_down)
    until(lambda: rig.factory.informer_for(Deployment).statistics().stopped, "stopped")
    assert not shutting_down.has_ended()
    gate.open()
    assert len(shutting_down.result()) >= 1


def test_shutdown_can_be_bounded(make_rig: MakeRig) -> None:
    """It returns in time, with the kind whose informer still runs."""
    rig = make_rig()
    gate = Gate()
    rig.factory.informer_for(Deployment).add_event_handler(RecordingHandler(gate))
    rig.factory.start(rig.stop)
    gate.wait()
    assert rig.factory.shutdown(0.05) == [Deployment]
    gate.open()
    assert rig.factory.shutdown() == []


def test_resync_is_for_every_kind(make_rig: MakeRig) -> None:
    """Without periods of single kinds; handlers ask for their own."""
    rig = make_rig(options=InformerOptions(resync_seconds=30))
    assert rig.factory.informer_for(Deployment)._periods.check_seconds == 30


def test_namespace_and_tweak_bind_list_and_watch(make_rig: MakeRig) -> None:
    """Both are in the options of both calls; a list has pages of the size that was asked for."""

    def only_web(options: ListOptions) -> ListOptions:
        return msgspec.structs.replace(options, label_selector="app=web")

    rig = make_rig(namespace="demo", options=InformerOptions(tweak=only_web, page_size=1))
    informer = rig.factory.informer_for(Deployment)
    rig.factory.start(rig.stop)
    rig.wait_synced()
    collection = rig.client.collections[Deployment]
    while not collection.source.watch_options:
        rig.stop.wait(0.002)
    asked = [*collection.source.list_options, *collection.source.watch_options]
    assert {options.label_selector for options in asked} == {"app=web"}
    assert [options.limit for options in collection.source.list_options] == [1, 1]
    assert collection.namespaces == {"demo"}
    assert informer.indexer.indexers().keys() == {NAMESPACE_INDEX}


def test_cluster_scoped_kinds_have_no_namespace(make_rig: MakeRig) -> None:
    """The factory's namespace does not apply to them."""
    rig = make_rig(namespace="demo")
    rig.factory.informer_for(Node)
    rig.factory.start(rig.stop)
    rig.wait_synced()
    assert rig.client.collections[Node].namespaces <= {""}


def test_transform_is_for_every_kind(make_rig: MakeRig) -> None:
    """Each informer gets it, before it starts."""
    transformed: list[str] = []

    def note(obj: Any) -> Any:
        transformed.append(obj.metadata.name)
        return obj

    rig = make_rig(options=InformerOptions(transform=note))
    rig.factory.informer_for(Deployment)
    rig.factory.start(rig.stop)
    rig.wait_synced()
    assert transformed == ["a", "b"]


def test_lister_reads_the_informers_store(make_rig: MakeRig) -> None:
    """The lister of a kind sees what its informer has stored."""
    rig = make_rig()
    lister = rig.factory.lister_for(Deployment)
    assert lister.list() == []
    rig.factory.start(rig.stop)
    rig.wait_synced()
    assert names(lister.list()) == ["a", "b"]
    assert names(list(lister)) == ["a", "b"]


def test_lister_of_one_namespace_answers_for_no_other(make_rig: MakeRig) -> None:
    """With a namespace of its own the factory's listers raise for other namespaces."""
    rig = make_rig(namespace="demo")
    for lister in (rig.factory.lister_for(Deployment), rig.factory.lister_for(Lease)):
        assert lister.get("demo/missing") is None
        with pytest.raises(NamespaceNotWatched):
            lister.get("other/missing")
    assert rig.factory.lister_for(Node).get("missing") is None


def test_informers_of_several_factories_can_be_distinguished() -> None:
    """The suffix is a part of the name, in logs and metrics; without one the name is the resource's."""
    assert Rig().factory.informer_for(Deployment).name == "deployments.apps"
    assert (
        Rig(options=InformerOptions(name_suffix="@demo")).factory.informer_for(Deployment).name
        == "deployments.apps@demo"
    )


def test_a_second_type_of_one_kind_is_refused() -> None:
    """It would be a second watch and a second cache of the same objects, without a warning."""
    factory = SharedInformerFactory(FakeClient())
    factory.informer_for(Deployment)
    with pytest.raises(ValueError, match=r"has an informer of handloop.apis.apps_v1.Deployment already"):
        factory.informer_for(CompleteDeployment)
    with pytest.raises(ValueError, match=r"or handloop.apis.unstructured.Deployment everywhere"):
        factory.informer_for(Unstructured.of("apps/v1", "Deployment"))
    assert repr(factory) == "<SharedInformerFactory of deployments.apps/v1: 0 started>"
    factory.shutdown()
    assert repr(factory) == "<SharedInformerFactory of deployments.apps/v1: shut down>"
