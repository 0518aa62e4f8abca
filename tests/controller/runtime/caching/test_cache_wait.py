"""Reads of caches whose first list is not complete: an object that is not listed yet never counts as gone."""

from __future__ import annotations

import threading

import pytest

from handloop.apis.core_v1 import Service
from handloop.apis.meta import Kind
from handloop.client.resource_client import Client
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.caching.cache_wait import CacheSyncTimeoutError, wait_for_caches
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Lister
from handloop.informers.outage import Hints
from handloop.kinds.core_v1 import ConfigMap
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.doubles.fast_clock import FastClock
from support.doubles.held_watches import HeldWatches
from support.rigs.managed_sandbox import ManagedSandbox


class WaitersClock(FastClock):
    """Tells which threads have begun to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.sleepers: set[str] = set()

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        self.sleepers.add(threading.current_thread().name)
        return super().sleep(seconds, stop)


class Reading:
    """A reconciler and a runnable that read one kind's names; made_before = by a lister made before run."""

    name = "reading"

    def __init__(self, manager: Manager, kind: type[Kind], *, made_before: bool) -> None:
        self._manager = manager
        self._kind = kind
        self._before: Lister[Kind] | None = manager.lister_for(kind) if made_before else None
        self.begun: list[str] = []
        self.seen: list[list[str]] = []

    def reconcile(self, name: ObjectName, context: Context) -> None:
        self.begun.append(name.name)
        if name.name == "reads":
            self.read()

    def run(self, stop: threading.Event) -> None:
        self.read()
        stop.wait(20)

    def read(self) -> None:
        lister = self._manager.lister_for(self._kind) if self._before is None else self._before
        self.seen.append([obj.metadata.name for obj in lister.list()])


@pytest.mark.parametrize("reader", ["reconcile", "runnable"])
@pytest.mark.parametrize("made_before", [True, False], ids=["made before run", "made late"])
def test_a_read_of_a_cache_that_is_not_filled_waits(reader: str, made_before: bool) -> None:
    """As upstream: in an empty answer all would seem gone, and existing objects would be made again."""
    cluster, clock = ManagedSandbox(), WaitersClock()
    cluster.config_map("reads")
    watches = HeldWatches(cluster.transport())
    watches.hold("services")
    cluster.client = Client(watches, stop=cluster.stop)
    manager = cluster.manager(seams=Seams(clock=clock))
    reading = Reading(manager, Service, made_before=made_before)
    if reader == "runnable":
        manager.add(reading)
    else:
        controller_for(manager, "maps").for_(ConfigMap).complete_by_name(reading)
    thread = "run-reading" if reader == "runnable" else "maps-worker-0"
    with cluster.running(manager):
        eventually(lambda: reading.seen or thread in clock.sleepers, "read")
        assert reading.seen == []
        watches.hold()
        watches.drop()
        eventually(lambda: reading.seen, "filled")
    assert reading.seen == [["kubernetes"]]


@pytest.mark.parametrize("made_before", [True, False], ids=["made before run", "made late"])
def test_a_missing_kind_holds_no_worker_and_is_read_once_it_is_there(made_before: bool) -> None:
    """The reconcile ends at once, with the fix in the log, and is no failure; it is called again."""
    cluster = ManagedSandbox()
    cluster.config_map("reads")
    manager = cluster.manager(
        informer_options=InformerOptions(hints=Hints(crd_command="operator crd")),
        seams=Seams(clock=FastClock()),
    )
    reading = Reading(manager, Foo, made_before=made_before)
    controller = controller_for(manager, "maps").for_(ConfigMap).complete_by_name(reading)
    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: [entry for entry in logs if entry["event"] == "Reconcile waits"], "waiting")
        cluster.config_map("other")
        eventually(lambda: "other" in reading.begun, "the other reconciled")
        assert reading.seen == []
        cluster.install(Foo)
        eventually(lambda: reading.seen, "called again")
        assert controller.statistics().failed == 0
    why = next(entry["why"] for entry in logs if entry["event"] == "Reconcile waits")
    assert why.startswith("the cache of foos is not filled: foos.samplecontroller.k8s.io: ")
    assert "install a CustomResourceDefinition that serves it, `operator crd | kubectl apply -f -`" in why


def test_a_handler_gets_what_there_is() -> None:
    """Whoever is no reconcile and no runnable does not wait: an event brings what it cannot see yet."""
    cluster = ManagedSandbox()
    manager = cluster.manager(controller_options=ControllerOptions(cache_sync_timeout_seconds=0.3))
    foos = manager.lister_for(Foo)
    with cluster.running(manager), captured_logs():
        eventually(lambda: manager.informers()[0].statistics().reflector, "started")
        assert foos.get("default/a") is None
        assert (foos.list(), foos.by_index("namespace", "default")) == ([], [])


def test_the_error_has_the_kind_and_the_servers_message() -> None:
    """Whoever reads it knows which CRD or which permission is missing."""
    troubles = ["foos.example.com: the server could not find the requested resource", "services: no list yet"]
    clock = FakeClock(moves_itself=True)
    with pytest.raises(CacheSyncTimeoutError) as caught:
        wait_for_caches("controller c", lambda: troubles, threading.Event(), timeout_seconds=120, clock=clock)
    assert str(caught.value) == (
        "controller c: timed out after 120s waiting for caches to sync: "
        "foos.example.com: the server could not find the requested resource; services: no list yet"
    )
    assert caught.value.troubles == tuple(troubles)


def test_it_goes_on_as_soon_as_nothing_is_wrong() -> None:
    """Asked again soon."""
    clock, stop = FakeClock(), threading.Event()
    troubles = ["foos: not yet"]
    waiting = Background(
        lambda: wait_for_caches("c", lambda: list(troubles), stop, timeout_seconds=120, clock=clock)
    )
    clock.wait_for_deadline(0.005)
    troubles.clear()
    clock.advance(0.005)
    assert waiting.result() is True
