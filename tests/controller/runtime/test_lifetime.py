"""The stop of a process: in order, within one deadline, and with every failure named."""

from __future__ import annotations

import math
import threading
import time

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Service
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.election.config import LeaderElectionConfig
from handloop.controller.runtime.election.leader_election import StopTimeoutError
from handloop.controller.runtime.election.lease_lock import LeaseLock
from handloop.controller.runtime.life.runnable import WorkersBusyError
from handloop.controller.runtime.reconcile import DeadlineExceededError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.builders.foo_builders import new_foo
from support.checks.captured_logs import captured_logs
from support.checks.threads import Gate, StuckThread
from support.doubles.runnables import Failing, Free, Worker, expect
from support.rigs.election import LeaseAPI
from support.rigs.managed_sandbox import ManagedSandbox

LEASE = "demo/lease"


def test_a_failure_asks_for_the_stop_before_it_is_reported(
    cluster: ManagedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log that blocks or fails keeps no process alive whose controller has failed."""
    manager, seen = cluster.manager(), list[bool]()

    class Log:
        def error(self, *_: object, **__: object) -> None:
            seen.append(manager._lifetime.stop.is_set())

    monkeypatch.setattr("handloop.controller.runtime.lifetime.log", Log())
    manager._lifetime.fail("x", ZeroDivisionError("bad"))
    assert seen == [True]


def test_a_program_that_a_runnable_ends_is_told_in_words(cluster: ManagedSandbox) -> None:
    """An exit code alone says nothing."""
    with captured_logs() as logs:
        cluster.manager()._lifetime.fail("x", SystemExit(3))
    assert logs[0]["err"] == "SystemExit(3)"


def test_caches_outlive_the_controllers(cluster: ManagedSandbox) -> None:
    """A reconcile that drains still reads: informers stop after the workers, events last."""
    story: list[str] = []
    manager = cluster.manager()
    informer = manager.informer_for(Service).informers[0]
    manager.add(Worker(story, "w", lambda: story.append(f"stopped: {informer.statistics().stopped}")))
    with cluster.running(manager):
        eventually(informer.has_synced, "synced")
        eventually(lambda: story, "begun")
    assert story == ["w begins", "stopped: False", "w ends"]
    assert informer.statistics().stopped


@pytest.mark.parametrize("elects", [False, True])
def test_a_reconcile_in_flight_may_use_a_runnable(cluster: ManagedSandbox, elects: bool) -> None:
    """A pool, a session or a loop that `manager.add` runs ends after the workers."""
    manager, story, ends = cluster.manager(), list[str](), threading.Event()
    if elects:
        lock = LeaseLock(LeaseAPI().client(), namespace="demo", name="lease", identity="us")
        manager.elect(LeaderElectionConfig(lock, retry_period_seconds=0.05))
    pool = Free(story, "pool", ends.set)

    def reconcile(_foo: Foo, _context: Context) -> None:
        story.append("reconcile begins")
        cluster.stop.wait(20)
        assert not ends.wait(0.1), "the pool went first"
        story.append("reconcile ends")

    controller_for(manager, "c").for_(Foo).complete(reconcile)
    manager.add(pool)
    cluster.install(Foo)
    cluster.client.resource(Foo).create(new_foo("a", resource_version="", uid=""))
    with cluster.running(manager):
        eventually(lambda: "reconcile begins" in story, "begun")
    assert story == ["pool begins", "reconcile begins", "reconcile ends", "pool ends"]


@pytest.mark.parametrize("elects", [False, True])
def test_a_whole_stop_has_one_deadline(cluster: ManagedSandbox, elects: bool) -> None:
    """Runnables, lease, caches and events share it, whichever of their threads are stuck: a pod has 45 s."""
    clock = FakeClock()
    manager = cluster.manager(seams=Seams(clock=clock, spawn=lambda _name, _target: StuckThread(clock)))
    if elects:
        lock = LeaseLock(LeaseAPI().client(), namespace="demo", name="lease", identity="us")
        manager.elect(LeaderElectionConfig(lock))
    for kind in (Service, Deployment):
        manager.informer_for(kind)
    manager.add(Worker([], "guarded"))
    manager.add(Free([], "free"))
    cluster.stop.set()
    with pytest.raises(StopTimeoutError) as caught, captured_logs():
        manager.run(cluster.stop)
    left_behind = "free" if elects else "guarded, free"
    assert str(caught.value) == f"{left_behind} did not end within 30s of the stop"
    assert 35 <= clock.now() <= 36


@pytest.mark.parametrize("elects", [False, True])
def test_a_timeout_of_0_waits_for_no_runnable_and_is_no_error(cluster: ManagedSandbox, elects: bool) -> None:
    """As upstream. The lease stays with the work that goes on."""
    release, story, api = threading.Event(), list[str](), LeaseAPI()
    manager = cluster.manager(controller_options=ControllerOptions(shutdown_timeout_seconds=0))
    if elects:
        lock = LeaseLock(api.client(), namespace="demo", name="lease", identity="us")
        manager.elect(LeaderElectionConfig(lock, retry_period_seconds=0.05))
    manager.add(Worker(story, "stuck", lambda: expect(release)))
    manager.add(Failing(WorkersBusyError("busy", 1, 0), "busy"))
    with captured_logs() as logs, cluster.running(manager):
        eventually(lambda: story, "begun")
    assert story == ["stuck begins"]
    assert "Controllers did not end in time" not in [entry["event"] for entry in logs]
    assert not elects or api.spec(LEASE)["holderIdentity"] == "us"
    release.set()
    eventually(lambda: story[-1] == "stuck ends", "ended")


@pytest.mark.parametrize("seconds", [math.inf, 1e10])
@pytest.mark.parametrize("elects", [False, True])
def test_a_stop_may_wait_for_reconciles_without_a_limit(
    cluster: ManagedSandbox, seconds: float, elects: bool
) -> None:
    """All that ends after them is waited for, too. A thread's own join allows no such times."""
    cluster.install(Foo)
    cluster.foo("a")
    manager = cluster.manager(controller_options=ControllerOptions(shutdown_timeout_seconds=seconds))
    if elects:
        lock = LeaseLock(LeaseAPI().client(), namespace="demo", name="lease", identity="us")
        manager.elect(LeaderElectionConfig(lock, retry_period_seconds=0.05))
    began, ended = threading.Event(), list[bool]()

    def reconcile(_foo: Foo, _context: Context) -> None:
        began.set()
        cluster.stop.wait(20)
        time.sleep(0.1)
        ended.append(True)

    controller_for(manager, "slow").for_(Foo).complete(reconcile)
    with captured_logs() as logs, cluster.running(manager):
        eventually(began.is_set, "under way")
    assert ended == [True]
    assert [line for line in logs if line["log_level"] in ("warning", "error")] == []


def test_a_stop_that_leaves_a_runnable_behind_is_a_failure(
    cluster: ManagedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is named, and may still be writing: the end is not clean."""
    monkeypatch.setattr("handloop.controller.runtime.lifetime._GRACE_SECONDS", 0.0)
    release = threading.Event()
    manager = cluster.manager(controller_options=ControllerOptions(shutdown_timeout_seconds=0.05))
    story: list[str] = []
    manager.add(Worker(story, "stuck", lambda: expect(release)))
    message = r"^stuck did not end within 0.05s of the stop$"
    with captured_logs() as logs, pytest.raises(StopTimeoutError, match=message), cluster.running(manager):
        eventually(lambda: story, "begun")
    (line,) = [entry for entry in logs if entry["event"] == "Controllers did not end in time"]
    assert line["controllers"] == ["stuck"]
    release.set()
    eventually(lambda: story[-1] == "stuck ends", "ended")


def test_every_failure_is_raised(cluster: ManagedSandbox) -> None:
    """The first, which ended the process, and what failed on the way out; each is named in the message."""
    manager = cluster.manager()
    manager.add(Failing(ZeroDivisionError("first"), "a", at_once=True))
    manager.add(Failing(WorkersBusyError("b", 2, 30), "b"))
    with pytest.raises(ExceptionGroup) as caught, captured_logs() as logs:
        manager.run(cluster.stop)
    assert list(map(repr, caught.value.exceptions)) == [
        "ZeroDivisionError('first')",
        "WorkersBusyError('b: 2 workers did not end in 30s')",
    ]
    assert caught.value.message == "2 failures: first; b: 2 workers did not end in 30s"
    # each logs for itself, in whatever order their threads get there
    assert {entry["controller"] for entry in logs if entry["event"] == "Controller failed"} == {"a", "b"}


def test_what_fails_because_of_the_stop_is_only_logged(cluster: ManagedSandbox) -> None:
    """As upstream: the end is as it was asked for."""
    manager = cluster.manager()
    manager.add(Failing(DeadlineExceededError("stopping"), "late"))
    manager.add(Failing(ValueError("a bug"), "bug"))
    with captured_logs() as logs, cluster.running(manager):
        pass
    said = {
        entry["controller"]: entry["log_level"] for entry in logs if entry["event"] == "Controller failed"
    }
    assert said == {"late": "info", "bug": "error"}


def test_a_handler_that_hangs_keeps_no_stop_from_its_end(
    cluster: ManagedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cache with it is left behind, and logged; nothing writes there, so the end is clean."""
    monkeypatch.setattr("handloop.controller.runtime.lifetime._GRACE_SECONDS", 0.0)
    monkeypatch.setattr("handloop.controller.runtime.lifetime._LEAST_SECONDS", 0.05)
    manager = cluster.manager(controller_options=ControllerOptions(shutdown_timeout_seconds=0.0))
    hang = Gate()
    manager.informer_for(Service).add_event_handler(ResourceEventHandlerFuncs(add_func=hang))
    with captured_logs() as logs, cluster.running(manager):
        hang.wait_entered()
    (line,) = [entry for entry in logs if entry["event"] == "Left behind at shutdown"]
    assert "cache of services" in line["what"]
    hang.open()


def test_events_that_a_stop_leaves_behind_are_counted(
    cluster: ManagedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two wait for a sink that hangs with a third."""
    monkeypatch.setattr("handloop.controller.runtime.lifetime._GRACE_SECONDS", 0.0)
    monkeypatch.setattr("handloop.controller.runtime.lifetime._LEAST_SECONDS", 0.05)
    hang = Gate()
    monkeypatch.setattr("handloop.controller.runtime.events.delivery.EventDelivery.deliver", hang)
    manager = cluster.manager(controller_options=ControllerOptions(shutdown_timeout_seconds=0.0))
    services, recorder = manager.informer_for(Service), manager.recorder("test")
    with captured_logs() as logs, cluster.running(manager):
        eventually(services.has_synced, "started")
        for number in range(3):
            recorder.event(new_foo(f"foo-{number}"), "Normal", "Synced", "synced")
        hang.wait_entered()
    (line,) = [entry for entry in logs if entry["event"] == "Left behind at shutdown"]
    assert line["what"] == ["3 Events"]
    hang.open()
