"""The Foo controller with all that is around it, on a sandbox without sockets."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from prometheus_client import generate_latest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.meta import Kind
from handloop.client.errors import DeadlineExceeded, StreamClosed
from handloop.client.resource_client import Client
from handloop.client.transport import READ_SECONDS
from handloop.controller.cli.operator import Setup
from handloop.controller.cli.options import Options
from handloop.controller.cli.program import NOTHING_TO_DO_SECONDS, Program, nothing_to_do
from handloop.controller.foo.controller import CachesNotSyncedError, FooController
from handloop.controller.foo.production import ProductionFooController
from handloop.controller.foo.runnable import FooRunnable
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop.controller.program import PROGRAM
from handloop.controller.runtime.metrics.metrics_page import new_registry
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import Namespace, Node
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually as until
from handloop.testing.fake_clock import FakeClock
from handloop.testing.request_trace import RequestTrace
from handloop_sandbox.clock import SettableClock
from handloop_sandbox.requests.request import User
from handloop_sandbox.server import Sandbox
from support.builders.options import new_options
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.doubles.fast_clock import FastClock
from support.rigs.managed_sandbox import allow_foos, post
from support.servers.cluster import foo

SECONDS = 60.0
FOO = new_options(controllers=("foo",))
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


class World:
    """A cluster, a program on it, and who acts as administrator."""

    def __init__(
        self,
        options: Options,
        *,
        clock: Clock = REAL_CLOCK,
        user: str = "admin",
        server_clock: SettableClock | None = None,
        bookmark_seconds: float = 10.0,
    ) -> None:
        users = {"alice": User("alice", ("system:authenticated",))}
        self.sandbox = Sandbox(
            token="admin",
            users=users,
            controllers=(),
            seed=1,
            clock=server_clock,
            bookmark_seconds=bookmark_seconds,
        )
        self.stop = threading.Event()
        self.registry = new_registry()
        transport = self.sandbox.transport(token=user, closed=StreamClosed, silent=DeadlineExceeded)
        client = Client(transport, seams=Seams(clock=clock), stop=self.stop)  # type: ignore[arg-type] # same shapes
        self.program = Program(client, options, self.stop, registry=self.registry, seams=Seams(clock=clock))

    def install(self, kind: type[Kind] = Foo) -> None:
        """Install a CRD."""
        post(self.sandbox, CRDS, custom_resource_definition(kind))

    def create_foo(self, name: str) -> None:
        """Create a Foo in the namespace default."""
        wanted = foo(name, {"deploymentName": name, "replicas": 1})
        post(self.sandbox, Foo.resource.path(namespace="default"), wanted)

    def unwell(self, checks: str) -> dict[str, str]:
        """The trouble, by the name of the check."""
        found = getattr(self.program.manager, f"{checks}_checks")()
        return {name: why for name, check in found.items() if (why := check())}

    @contextmanager
    def running(self) -> Iterator[None]:
        """Run the program for as long as the block lasts."""
        running = Background(self.program.run)
        try:
            yield
        finally:
            self.stop.set()
            running.result()

    def wait_ready(self) -> None:
        """Wait until every readiness check is content."""
        until(lambda: not self.unwell("readiness"), "ready", seconds=SECONDS)


def foo_of(world: World) -> ProductionFooController:
    """The Foo controller of the program, which its thread makes when it runs: full caches may be sooner."""
    runnable = world.program.controllers["foo"]
    assert isinstance(runnable, FooRunnable)
    until(lambda: runnable.controller, "made", seconds=SECONDS)
    assert runnable.controller is not None
    return runnable.controller


def test_readiness_shows_what_it_waits_for() -> None:
    """Not ready until the caches are filled, alive all the time, and ready by itself when the CRD appears."""
    world = World(FOO)
    assert world.unwell("readiness")["informers-synced"] == "caches not filled yet: deployments, foos"
    with world.running():
        until(world.program.manager.informers()[0].has_synced, "Deployments listed", seconds=SECONDS)
        assert world.unwell("readiness") == {"informers-synced": "caches not filled yet: foos"}
        assert world.unwell("liveness") == {}
        world.install()
        world.wait_ready()
    assert world.unwell("readiness") == {"shutdown": "shutting down"}
    assert world.unwell("liveness") == {}


def test_dead_workers_fail_both_checks() -> None:
    """A process that answers and does nothing is the worst kind: /healthz makes the kubelet restart it."""
    world = World(replace(FOO, workers=3))
    world.install()
    with world.running():
        world.wait_ready()
        until(lambda: foo_of(world).workers_alive() == 3, "all at work", seconds=SECONDS)
        foo_of(world)._workers_alive -= 1
        assert world.unwell("liveness") == {"workers": "2 of 3 are alive"}
        assert world.unwell("readiness") == {"workers": "2 of 3 are alive"}
        foo_of(world)._workers_alive += 1


def test_a_missing_crd_stops_one_controller_only() -> None:
    """
    Foo and MyApp run by default; without MyApp's CRD, Foos are served all the same, and it is logged.

    The parts are measured under the names of the dashboards.
    """
    world = World(new_options())
    world.install()
    world.create_foo("web")
    path = "/apis/apps/v1/namespaces/default/deployments/web"
    with world.running():
        until(
            lambda: world.sandbox.transport().request("GET", path).status == 200, "created", seconds=SECONDS
        )
        only_myapps = {"informers-synced": "caches not filled yet: myapps"}
        until(lambda: world.unwell("readiness") == only_myapps, "all others listed", seconds=SECONDS)
        assert world.unwell("liveness") == {}
        world.install(MyApp)
        world.wait_ready()
    text = generate_latest(world.registry).decode()
    assert 'workqueue_adds_total{controller="foo",name="foo"}' in text
    assert 'informer_cached_objects{name="foos.samplecontroller.k8s.io"} 1.0' in text


def test_what_several_controllers_mirror_is_mirrored_once() -> None:
    """Foo and MyApp share the Deployments."""
    world = World(new_options())
    plurals = [informer.kind.resource.plural for informer in world.program.manager.informers()]
    assert sorted(plurals) == ["deployments", "foos", "horizontalpodautoscalers", "myapps", "services"]
    with world.running():
        pass


def test_several_namespaces_are_watched_as_one() -> None:
    """-n a,b: a Foo in either is served, one elsewhere is not."""
    world = World(replace(FOO, namespace="default,demo"))
    world.install()
    world.create_foo("web")
    with world.running():
        world.wait_ready()
        until(lambda: foo_of(world).outcomes.statistics().synced, "synced", seconds=SECONDS)
    names = [informer.name for informer in world.program.manager.informers()]
    assert names == [
        "deployments.apps@default",
        "foos.samplecontroller.k8s.io@default",
        "deployments.apps@demo",
        "foos.samplecontroller.k8s.io@demo",
    ]


def test_namespaces_with_a_label_come_and_go() -> None:
    """-n team=x: a Foo in one is served; one whose namespace leaves is left alone, without an alarm."""
    world = World(replace(FOO, namespace="team=x"))
    world.install()
    world.create_foo("web")

    def label(team: str) -> None:
        admin = Client(world.sandbox.transport())  # type: ignore[arg-type] # same shapes
        admin.resource(Namespace).patch("default", {"metadata": {"labels": {"team": team}}})

    def synced() -> int:
        return foo_of(world).outcomes.statistics().synced

    with captured_logs() as logs, world.running():
        world.wait_ready()
        assert synced() == 0
        label("x")
        until(lambda: synced() > 0, "served", seconds=SECONDS)
        label("y")
        foos = world.program.manager.informer_for(Foo)
        until(lambda: foos.has_left("default"), "left", seconds=SECONDS)
        foo_of(world)._workqueue.add(ObjectName("default", "web"))
        until(lambda: any(line["event"] == "Sync waits" for line in logs), "looked at", seconds=SECONDS)
    assert [line for line in logs if line["log_level"] in {"warning", "error"}] == []


def test_with_nothing_at_all_every_kind_is_named() -> None:
    """E15 for both, with a sample of each."""
    clock = _HintClock()
    world = World(new_options(), clock=clock)
    world.install()
    world.install(MyApp)
    # the hint is about caches that are filled when it comes
    clock.may_hint = lambda: all(one.has_synced() for one in world.program.manager.informers())
    hint = hint_of(world)
    assert hint["event"] == "no Foo or MyApp in any namespace"
    assert "manifests/samples/myapp.yaml" in hint["fix"]


def test_where_no_namespace_has_the_label_that_is_told() -> None:
    """E15: nothing to do, and why."""
    clock = _HintClock()
    world = World(replace(FOO, namespace="team=x"), clock=clock)
    world.install()
    hint = hint_of(world)
    assert hint["event"] == "no Foo in a namespace with team=x"


def test_a_kind_without_namespaces_is_missed_in_the_cluster() -> None:
    """E15: a limit to a namespace is not the reason, and no way out."""
    idle = [Setup(name="nodes", kinds=(Node,), access=())]
    problem = nothing_to_do(idle, ("demo",), 0)
    assert problem.what == "no Node in the cluster"
    assert problem.fixes == ("kubectl apply -f FILE   (a Node; its fields: kubectl explain nodes)",)


def hint_of(world: World) -> dict[str, Any]:
    """The text of E15, for as long as nothing else happens."""
    with captured_logs() as logs, world.running():
        until(lambda: [entry for entry in logs if entry.get("code") == "E15"], "said", seconds=SECONDS)
    (entry,) = [entry for entry in logs if entry.get("code") == "E15"]
    return dict(entry)


def test_foos_that_may_not_be_counted_are_left_out() -> None:
    """A Role of one namespace is enough: no request goes to the others, to be refused."""
    world = World(replace(FOO, namespace="default"), clock=FastClock(only_sleeps=True), user="alice")
    world.install()
    allow_foos(world.sandbox, "alice", "default")
    trace = RequestTrace(world.sandbox.engine, "admin")
    assert hint_of(world)["event"] == 'no Foo in namespace "default"'
    assert {asked.namespace for asked in trace.asked() if asked.resource == "foos"} == {"default"}


def test_nothing_is_reported_where_there_is_something_to_do() -> None:
    """With a Foo in the cache the hint ends in silence, long before the program does."""
    world = World(FOO, clock=FastClock(only_sleeps=True))
    world.install()
    world.create_foo("web")
    with captured_logs() as logs, world.running():
        until(lambda: not hinting(), "no hint any more", seconds=SECONDS)
    assert not [entry for entry in logs if entry.get("code") == "E15"]


def test_a_replica_without_objects_reports_nothing() -> None:
    """With shards another one may have them all."""
    shared = replace(FOO, shards=4, leader_elect_resource_namespace="default")
    world = World(shared, clock=FastClock(only_sleeps=True))
    world.install()
    with captured_logs() as logs, world.running():
        until(lambda: not hinting(), "no hint any more", seconds=SECONDS)
    assert not [entry for entry in logs if entry.get("code") == "E15"]


def hinting() -> bool:
    """Whether the thread of E15 still waits."""
    return any(thread.name == "hint" for thread in threading.enumerate())


def test_a_hint_that_hangs_keeps_no_stop_from_its_end() -> None:
    """It may be counting Foos on a server that does not answer; its line is of no use any more."""
    joined: list[float | None] = []

    class Hanging:
        def join(self, timeout: float | None = None) -> None:
            joined.append(timeout)

        def is_alive(self) -> bool:
            return True

    world = World(FOO)
    world.program._seams = Seams(spawn=lambda _name, _target: Hanging())
    with world.running():
        pass
    assert joined == [1.0]


class _HintClock(FastClock):
    """Counts how often the hint has waited; it waits on until it may come."""

    def __init__(self) -> None:
        super().__init__(only_sleeps=True)
        self.waited = threading.Semaphore(0)
        self.may_hint: Callable[[], bool] = lambda: True

    def sleep(self, seconds: float, stop: threading.Event) -> bool:
        if seconds == NOTHING_TO_DO_SECONDS:
            self.waited.release()
            until(lambda: stop.is_set() or self.may_hint(), "time for the hint", seconds=SECONDS)
        return super().sleep(seconds, stop)


@pytest.mark.parametrize(
    ("bookmark_seconds", "step_seconds"), [(10.0, 60.0), (math.inf, 76.0)], ids=["bookmarks", "silence"]
)
def test_ten_idle_minutes_are_no_line(
    bookmark_seconds: float, step_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the hint nothing is logged and nothing fails: our sandbox repeats bookmarks, others do not."""
    clock, server_clock = FakeClock(), SettableClock(frozen=True)
    world = World(new_options(), clock=clock, server_clock=server_clock, bookmark_seconds=bookmark_seconds)
    world.install()
    world.install(MyApp)
    manager = world.program.manager

    def heard_at() -> set[float | None]:
        found = [informer.statistics().reflector for informer in manager.informers()]
        return {None if reflector is None else reflector.last_event_at for reflector in found}

    def said(logs: Sequence[Mapping[str, Any]]) -> list[str]:
        return [entry["event"] for entry in logs if entry["log_level"] != "debug"]

    report, reported = manager._caches.report, threading.Event()

    def report_all(stop: threading.Event) -> None:
        report(stop)
        reported.set()

    def has_reported() -> bool:
        clock.advance(0.05)
        return reported.is_set()

    monkeypatch.setattr(manager._caches, "report", report_all)
    with captured_logs() as logs, world.running():
        world.wait_ready()
        clock.wait_for_deadline(NOTHING_TO_DO_SECONDS)
        # a thread that still waits to look at the caches would log ten seconds later that it waited for them
        until(has_reported, "seen by all that the caches are filled", seconds=SECONDS)
        clock.advance(NOTHING_TO_DO_SECONDS)
        both = ["Starting workers", "Started workers", "Starting workers"]
        begun = Counter(["no Foo or MyApp in any namespace", *both])

        def has_begun() -> bool:
            clock.advance(0.05)  # also for a thread that begins to wait after the step above
            return begun <= Counter(said(logs))

        until(has_begun, "begun", seconds=SECONDS)
        before = said(logs)
        for _ in range(10):
            clock.advance(step_seconds)
            server_clock.advance(step_seconds)
            until(lambda: heard_at() == {clock.now()}, "heard of", seconds=SECONDS)
            assert world.unwell("readiness") == {}
        assert said(logs) == before
        errors = [informer.statistics().reflector for informer in manager.informers()]
        assert {each.last_error for each in errors if each is not None} == {""}
    text = generate_latest(world.registry).decode()
    silent = [
        line.split()[-1] for line in text.splitlines() if line.startswith("informer_silent_watches_total")
    ]
    assert set(silent) == {"0.0" if step_seconds < READ_SECONDS else "10.0"}


def test_the_hint_waits_for_the_caches() -> None:
    """While the CRD is missing another message holds; the hint comes after it was installed."""
    clock = _HintClock()
    world = World(FOO, clock=clock)
    with captured_logs() as logs, world.running():
        for _ in range(2):
            assert clock.waited.acquire(timeout=SECONDS)
        assert not [entry for entry in logs if entry.get("code") == "E15"]
        world.install()
        until(lambda: [e for e in logs if e.get("code") == "E15"], "said", seconds=SECONDS)


def test_a_stop_before_the_caches_are_filled_is_a_clean_end() -> None:
    """Ctrl-C while it waits for a CRD is no error, and leaves no thread."""
    world = World(FOO)
    with captured_logs() as logs, world.running():
        until(lambda: [e for e in logs if e["event"] == "Failed to list"], "waiting", seconds=SECONDS)
    assert "Stopped before the caches were filled" in [entry["event"] for entry in logs]


def test_caches_that_end_by_themselves_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a request to stop, the end is not clean; the started parts still end."""
    world = World(FOO)

    def give_up(*_: object) -> None:
        raise CachesNotSyncedError("gave up")

    original = FooController.run
    monkeypatch.setattr(FooController, "run", give_up)
    with pytest.raises(CachesNotSyncedError):
        world.program.run()
    with pytest.raises(CachesNotSyncedError):
        original(foo_of(world), 1, world.stop)  # ends the queue's threads


def test_e15_suggests_all_namespaces_when_one_was_chosen() -> None:
    """Nothing to do is information, not an error."""
    foo = PROGRAM.chosen(("foo",))
    everywhere = nothing_to_do(foo, ())
    assert everywhere.fixes == ("kubectl apply -f manifests/samples/foo.yaml",)
    scoped = nothing_to_do(foo, ("demo",), 12)
    assert scoped.what == 'no Foo in namespace "demo" (12 in other namespaces)'
    assert "-A" in scoped.fixes[0]
    assert scoped.fixes[1].endswith("-n demo")
    assert str(scoped).startswith("info: ")
    alone = nothing_to_do(PROGRAM.setups(), ("demo",))
    assert alone.what == 'no Foo or MyApp in namespace "demo"'
