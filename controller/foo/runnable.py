"""Runs the handwritten Foo controller in a manager, whose informers it shares."""

from __future__ import annotations

import threading
from typing import Final

from handloop import Manager, ObjectName, object_name
from handloop.apis.apps_v1 import Deployment
from handloop.controller.foo.controller import CONTROLLER_AGENT_NAME, CachesNotSyncedError, FooController
from handloop.controller.foo.production import ProductionFooController
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.guards.name_memory import Chosen, NameMemory
from handloop.controller.runtime.life.runnable import DividedWork, WorkersBusyError
from handloop.controller.runtime.reconciling.explainer import Explanation
from handloop.seams.logs import get_logger

log = get_logger("foo")

NAME: Final = "foo"


class PlainFooRunnable:
    """
    Runs the plain controller, which is meant for learning.

    Implements handloop.controller.runtime.life.runnable.Runnable. run creates the controller. Until then, as
    on a standby, the caches are filled, but no names are queued and no Events are recorded.
    State: controller is None until run is called.
    """

    needs_leader_election = True
    ends_first = True

    def __init__(self, manager: Manager, *, workers: int) -> None:
        self.name = NAME
        self.controller: FooController | None = None
        self._manager = manager
        self._workers = workers
        self._informers = (manager.informer_for(Deployment), manager.informer_for(Foo))
        self._recorder = manager.recorder(CONTROLLER_AGENT_NAME)

    def run(self, stop: threading.Event) -> None:
        """
        Work until stop is set.

        Raises: CachesNotSyncedError if the caches were not filled and stop was not set.
        """
        manager = self._manager
        metrics, seams = manager.workqueue_metrics, manager.seams
        self._run(
            FooController(manager.client, *self._informers, self._recorder, metrics=metrics, seams=seams),
            stop,
        )

    def _run(self, controller: FooController, stop: threading.Event) -> None:
        self.controller = controller
        try:
            controller.run(self._workers, stop)
        except CachesNotSyncedError as error:
            if not stop.is_set():
                raise
            log.info("Stopped before the caches were filled", err=str(error))


class FooRunnable(PlainFooRunnable, DividedWork):
    """
    Runs the controller for a real cluster. Its metrics exist before it runs.

    Implements handloop.controller.runtime.guards.admission.ShareWorker.
    Fields: memory, the parts that store data about Foos by name; kind, sources and plannable, as in
    Plannable.
    State: controller, as in the base class; _stop is the event that was passed to run().
    """

    controller: ProductionFooController | None
    kind = Foo.resource.kind
    sources: tuple[str, ...] = ()
    plannable = False

    def __init__(self, manager: Manager, *, workers: int) -> None:
        # do not shard Deployments by label, because a Foo can name one of another owner, without our label
        manager.replica.declare([(Foo, False)])
        super().__init__(manager, workers=workers)
        self._metrics = manager.reconcile_metrics.for_controller(NAME, workers)
        self._own_metrics = manager.own_write_metrics.for_controller(NAME)
        self._stop = threading.Event()
        self.memory = NameMemory()
        self._admitted = manager.replica.admission(self._informers, self, self._informers[1])

    def explain(self, name: ObjectName) -> Explanation | None:
        """Explain what happens to a Foo, or why nothing happens. Return None before the controller runs."""
        return None if self.controller is None else self.controller.explain(name)

    def wake(self, name: ObjectName) -> None:
        """See ShareWorker."""
        if self.controller is not None:
            self.controller.wake(name)

    def share_grew(self, names: Chosen) -> None:
        """See ShareWorker. Foos arrive with their share."""

    def share_shrank(self) -> None:
        """See ShareWorker."""

    def new_controller(self) -> ProductionFooController:
        """Create the controller, which registers its handlers with the manager's informers."""
        manager = self._manager
        controller = ProductionFooController(
            manager.client,
            *self._informers,
            self._recorder,
            metrics_provider=manager.workqueue_metrics,
            metrics=self._metrics,
            own_metrics=self._own_metrics,
            shutdown_timeout_seconds=manager.controller_options.shutdown_timeout_seconds,
            memory=self.memory,
            admitted=self._admitted,
            seams=manager.seams,
        )
        manager.own_write_metrics.show_paused(NAME, controller.paused)
        return controller

    def run(self, stop: threading.Event) -> None:
        """
        Work until stop is set.

        Raises: WorkersBusyError if workers have not ended within the shutdown timeout; the errors of the base
        class's method.
        """
        self._stop = stop
        controller = self.new_controller()
        self._run(controller, stop)
        busy = controller.workers_alive()
        if busy:
            raise WorkersBusyError(self.name, busy, self._manager.controller_options.shutdown_timeout_seconds)

    # for a plan

    def prepare(self, stop: threading.Event) -> list[ObjectName]:  # noqa: ARG002 - the waits end with the manager
        """See handloop.controller.runtime.planning.planner.Plannable."""
        self.controller = self.new_controller()
        for kind in (Deployment, Foo):
            self._manager.informer_for(kind)  # waits until it is filled
        return sorted(object_name(foo) for foo in self._informers[1].list())

    def reconcile_once(self, name: ObjectName) -> float | None:
        """Likewise."""
        if self.controller is None or self.controller.why_paused(name):
            return None
        self.controller.sync_handler(name)
        return 0.0

    def workers_check(self) -> str | None:
        """Report dead workers, for the health check. Returns None if all are alive."""
        controller = self.controller
        if controller is None or self._stop.is_set():
            return None
        dead = controller.workers_ended()
        return f"{self._workers - dead} of {self._workers} are alive" if dead else None


def add_foo(manager: Manager, *, workers: int) -> FooRunnable:
    """Add the Foo controller to a manager."""
    runnable = FooRunnable(manager, workers=workers)
    manager.add(runnable)
    return runnable


def add_plain_foo(manager: Manager, *, workers: int) -> PlainFooRunnable:
    """Add the plain Foo controller to a manager, instead of the production controller."""
    runnable = PlainFooRunnable(manager, workers=workers)
    manager.add(runnable)
    return runnable
