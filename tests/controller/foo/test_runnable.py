"""The Foo controller on the manager."""

from __future__ import annotations

import threading

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import Event
from handloop.client.decoding.pages import Undecodable
from handloop.client.errors import NotFound
from handloop.controller.foo.controller import CachesNotSyncedError
from handloop.controller.foo.production import ProductionFooController
from handloop.controller.foo.runnable import FooRunnable, add_foo
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.life.runnable import WorkersBusyError, needs_leader_election
from handloop.informers.keys import ObjectName
from handloop.testing.eventually import eventually
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.rigs.foo_cluster import create_foo, foo_cluster
from support.rigs.managed_sandbox import ManagedSandbox

DEPTH = {"name": "foo", "controller": "foo", "priority": ""}


@pytest.fixture
def cluster() -> ManagedSandbox:
    """A sandbox in which Foos can be made."""
    return foo_cluster()


def has_deployment(cluster: ManagedSandbox, name: str, *, namespace: str = "default") -> bool:
    """Whether the Foo got its Deployment."""
    try:
        cluster.client.resource(Deployment).get(name, namespace=namespace)
    except NotFound:
        return False
    return True


def controller_of(runnable: FooRunnable) -> ProductionFooController:
    """What a runnable has made."""
    assert runnable.controller is not None, "not running"
    return runnable.controller


def workers_alive(runnable: FooRunnable) -> int:
    """How many of them work."""
    return controller_of(runnable).workers_alive()


def test_foo_works_on_the_informers_of_the_manager(cluster: ManagedSandbox) -> None:
    """One watch of Deployments serves Foo and all others; Foo only works while we lead."""
    manager = cluster.manager()
    runnable = add_foo(manager, workers=2)
    assert needs_leader_election(runnable)
    assert len(manager.informers()) == 2
    manager.informer_for(Deployment)
    assert len(manager.informers()) == 2
    with cluster.running(manager):
        create_foo(cluster, "a", replicas=1)
        eventually(lambda: has_deployment(cluster, "a"), "made")
    assert workers_alive(runnable) == 0
    labels = {"controller": "foo"}
    assert cluster.metric("controller_runtime_max_concurrent_reconciles", **labels) == 2
    assert cluster.metric("controller_runtime_reconcile_total", result="success", **labels) >= 1


def test_foo_works_in_several_namespaces(cluster: ManagedSandbox) -> None:
    """In each that was chosen, and in no other."""
    for namespace in ("one", "two", "three"):
        cluster.namespace(namespace)
        create_foo(cluster, "a", namespace=namespace, replicas=1)
    manager = cluster.manager(namespaces=("one", "two"))
    runnable = add_foo(manager, workers=2)
    with cluster.running(manager):
        eventually(
            lambda: runnable.controller and runnable.controller.outcomes.statistics().synced >= 2, "synced"
        )
    found = [ns for ns in ("one", "two", "three") if has_deployment(cluster, "a", namespace=ns)]
    assert found == ["one", "two"]


def test_dead_workers_are_noticed(cluster: ManagedSandbox) -> None:
    """Once they run, and not before or after."""
    manager = cluster.manager()
    runnable = add_foo(manager, workers=2)
    assert runnable.workers_check() is None
    with cluster.running(manager):
        eventually(lambda: runnable.controller and workers_alive(runnable) == 2, "working")
        controller_of(runnable)._workers_alive -= 1
        assert runnable.workers_check() == "1 of 2 are alive"
        controller_of(runnable)._workers_alive += 1
        assert runnable.workers_check() is None
    assert runnable.workers_check() is None


def test_a_standby_queues_and_is_silent(cluster: ManagedSandbox) -> None:
    """Its caches are warm, and a replica that follows the leader begins with their content."""
    manager = cluster.manager()
    runnable = FooRunnable(manager, workers=2)
    informer = manager.informer_for(Foo)
    misfit = Undecodable("default", "misfit", "7", b'{"metadata":{"uid":"u"}}', "it does not fit")
    with cluster.running(manager):
        create_foo(cluster, "a", replicas=1)
        eventually(lambda: informer.get(ObjectName("default", "a")), "cached")
        informer.informers[0].quarantine.add(misfit)
        assert runnable.controller is None
        assert cluster.registry.get_sample_value("workqueue_depth", DEPTH) is None
        leading = Background(lambda: runnable.run(cluster.stop))
        eventually(lambda: has_deployment(cluster, "a"), "made")
        eventually(lambda: warnings(cluster) == ["it does not fit"], "said")
    leading.result()


def warnings(cluster: ManagedSandbox) -> list[str]:
    """The texts of the Warning events."""
    events = cluster.client.resource(Event).list("default").items
    return [event.message for event in events if event.type == "Warning"]


class Scripted:
    """A Foo controller that ends as the test decides."""

    def __init__(self, error: Exception | None, workers_alive: int) -> None:
        self._error = error
        self._workers_alive = workers_alive

    def run(self, workers: int, stop: threading.Event) -> None:
        if self._error is not None:
            raise self._error

    def workers_alive(self) -> int:
        return self._workers_alive


def scripted(cluster: ManagedSandbox, error: Exception | None, workers_alive: int = 0) -> FooRunnable:
    """A runnable with it."""
    runnable = FooRunnable(cluster.manager(), workers=2)
    runnable.new_controller = lambda: Scripted(error, workers_alive)  # type: ignore[method-assign,assignment,return-value]
    return runnable


def test_a_stop_before_the_caches_are_filled_is_a_clean_end(cluster: ManagedSandbox) -> None:
    """Without a stop it is an error."""
    stop = threading.Event()
    runnable = scripted(cluster, CachesNotSyncedError("not yet"))
    with pytest.raises(CachesNotSyncedError):
        runnable.run(stop)
    stop.set()
    with captured_logs() as logs:
        runnable.run(stop)
    assert [entry["event"] for entry in logs] == ["Stopped before the caches were filled"]


def test_workers_that_did_not_end_are_reported(cluster: ManagedSandbox) -> None:
    """Whoever holds a lease must not release it."""
    with pytest.raises(WorkersBusyError, match=r"foo: 1 workers did not end in 30s"):
        scripted(cluster, None, workers_alive=1).run(threading.Event())
