"""A manager runs once, with something to run, and with every controller that was begun."""

from __future__ import annotations

import threading

import pytest

from handloop.apis.core_v1 import Service
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.keys import ObjectName
from handloop.testing.eventually import eventually
from support.doubles.runnables import Worker
from support.rigs.managed_sandbox import ManagedSandbox


class Counting:
    """A reconciler that counts."""

    def __init__(self) -> None:
        self.names: list[ObjectName] = []

    def reconcile(self, name: ObjectName, context: Context) -> None:
        self.names.append(name)


def test_a_manager_runs_once(cluster: ManagedSandbox) -> None:
    """Neither a second run nor a later add is accepted, while it runs and when it has ended."""
    manager, story, over = cluster.manager(), list[str](), threading.Event()
    over.set()
    manager.add(Worker(story, "a"))
    with cluster.running(manager):
        eventually(lambda: story, "running")
        with pytest.raises(RuntimeError, match="a manager runs only once"):
            manager.run(over)
    with pytest.raises(RuntimeError, match="a manager runs only once"):
        manager.run(over)
    with pytest.raises(RuntimeError, match="controller late would never start"):
        manager.add(Worker([], "late"))


def test_a_controller_that_was_begun_must_be_completed(cluster: ManagedSandbox) -> None:
    """Else the program would run, and do nothing."""
    manager = cluster.manager()
    builder = controller_for(manager, "foos").for_(Foo)
    with pytest.raises(RuntimeError, match=r"not complete: foos: call complete\(reconcile\)"):
        manager.run(cluster.stop)
    builder.complete_by_name(Counting())
    with cluster.running(manager):
        eventually(lambda: "running" in repr(manager), "running")
    assert repr(manager) == "<Manager of foos: stopped>"


def test_a_manager_with_nothing_to_run_reports_it(cluster: ManagedSandbox) -> None:
    """A set-up that was not called; caches alone are something."""
    manager = cluster.manager()
    assert repr(manager) == "<Manager of nothing: not started>"
    with pytest.raises(RuntimeError, match="nothing to run: add a controller, with controller_for"):
        manager.run(cluster.stop)
    services = manager.informer_for(Service)
    assert repr(services) == "<MultiNamespaceInformer of services/v1, all namespaces, not synced>"
    with cluster.running(manager):
        eventually(services.has_synced, "filled")
