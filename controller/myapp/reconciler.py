"""
MyApp with the runtime: one name in, the children as that MyApp wants them, and a true status.

    MyApp, Deployment, Service, autoscaler --watches--> names --> reconcile --> children, status, events

A reconcile reads the caches, takes each step whatever became of the others, and writes only what differs:
without a change in the cluster it writes nothing. What a MyApp owns in its children: `myapp_changes`; when it
is Ready, Progressing or Degraded: `myapp_status`; whom it leaves alone: `myapp_child`.

While autoscaling is on, or an autoscaler of ours still exists, the replicas are the autoscaler's; over a
Deployment that is not ours there is none. A MyApp that is being deleted gets nothing but a true status: its
children go with it, by their owner references, and in the foreground before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, TypeVar

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Service
from handloop.apis.meta import Kind, Object, is_controlled_by
from handloop.client.errors import AlreadyExists, NotFound
from handloop.client.resource_client import Client
from handloop.controller.myapp.access import MYAPP_ACCESS
from handloop.controller.myapp.changes import autoscaler_changes, deployment_changes, service_changes
from handloop.controller.myapp.child import FIELD_MANAGER, Child
from handloop.controller.myapp.children import new_autoscaler, new_deployment, new_service
from handloop.controller.myapp.reports import MyAppReporter
from handloop.controller.myapp.status import deletion_status, new_status
from handloop.controller.myapp.steps import Steps
from handloop.controller.myapp.types import MyApp, MyAppStatus, problems
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.controller import Controller
from handloop.controller.runtime.events.recorder import EventRecorder
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.predicates import GenerationChanged, PredicateFuncs
from handloop.controller.runtime.reconcile import DONE, ReconcileContext, Result
from handloop.controller.runtime.reconcile_errors import ReconcileError, TerminalError
from handloop.informers.keys import ObjectName, object_name
from handloop.informers.lister import Lister
from handloop.workqueue.clock import REAL_CLOCK, Clock

NAME: Final = "myapp"
LOOK_AGAIN_SECONDS: Final = 30.0
RECONCILE_SECONDS: Final = 60.0
CHILDREN: Final[tuple[type[Kind], ...]] = (Deployment, Service, HorizontalPodAutoscaler)

K = TypeVar("K", bound=Kind)


class Listers(Protocol):
    """The caches."""

    def lister_for(self, kind: type[K]) -> Lister[K]:
        """The cached objects of a kind."""


class MyAppReconciler:
    """Keeps MyApps and their children in step. State: none; all of it is in the cluster. Threads: any."""

    def __init__(
        self, client: Client, listers: Listers, recorder: EventRecorder, *, clock: Clock = REAL_CLOCK
    ) -> None:
        self._apps = listers.lister_for(MyApp)
        self._myapps = client.resource(MyApp)
        self._deployment = Child(Deployment, client, listers.lister_for(Deployment))
        self._service = Child(Service, client, listers.lister_for(Service))
        self._autoscaler = Child(HorizontalPodAutoscaler, client, listers.lister_for(HorizontalPodAutoscaler))
        self._reporter = MyAppReporter(recorder)
        self._clock = clock

    def reconcile(self, name: ObjectName, context: ReconcileContext) -> Result:
        """
        Make the children what the MyApp wants, and its status what they are.

        Raises: TerminalError for a spec that cannot work; ReconcileError when a step failed; Conflict and
        AlreadyExists when the cache is behind.
        """
        try:
            app = self._apps.namespace(name.namespace).get(name.name)
        except NotFound:
            return DONE
        if app.metadata.deletion_timestamp is not None:
            self._tell_of_deletion(app, context)
            return DONE
        steps = Steps()
        wrong = problems(app)
        if wrong:
            steps.failures.extend(wrong)
            self._tell(app, self._deployment.owned(app), steps, context)
            raise TerminalError("; ".join(wrong))
        deployment = self._bring_up_to_date(app, steps, context)
        if steps.lost is not None:
            raise steps.lost
        self._tell(app, deployment, steps, context)
        if steps.failures:
            raise ReconcileError("; ".join(steps.failures))
        return Result(requeue_after=LOOK_AGAIN_SECONDS)

    def _bring_up_to_date(self, app: MyApp, steps: Steps, context: ReconcileContext) -> Deployment | None:
        deployment = steps.take("Deployment", partial(self._sync_deployment, app, context))
        _check_time(context)
        steps.take("Service", partial(self._sync_service, app, context))
        _check_time(context)
        if not isinstance(steps.lost, AlreadyExists):
            steps.take("HorizontalPodAutoscaler", partial(self._sync_autoscaler, app, context))
        return deployment or self._deployment.owned(app)

    def _sync_deployment(self, app: MyApp, context: ReconcileContext) -> Deployment:
        scaled = app.spec.is_auto_scaled or self._autoscaler.owned(app) is not None
        changes = partial(deployment_changes, keep_replicas=scaled)
        return self._deployment.ensure(app, new_deployment(app), changes, context)[0]

    def _sync_service(self, app: MyApp, context: ReconcileContext) -> None:
        service, written = self._service.ensure(app, new_service(app), service_changes, context)
        if written:
            self._reporter.serves(app, service)

    def _sync_autoscaler(self, app: MyApp, context: ReconcileContext) -> None:
        """
        Once ours is gone from the cache, too, the replicas are the spec's again.

        It scales the Deployment of its name, whosever that is: over somebody else's there must be none.
        """
        scaling = app.spec.auto_scaling
        if scaling is None or not scaling.enabled or self._deployment.is_taken(app):
            self._autoscaler.remove(app, context)
            return
        self._autoscaler.ensure(app, new_autoscaler(app, scaling), autoscaler_changes, context)

    def _tell(
        self, app: MyApp, deployment: Deployment | None, steps: Steps, context: ReconcileContext
    ) -> None:
        """Write the status if it says something new, and then the events that go with it."""
        now = self._clock.time()
        status = new_status(app, deployment, steps.failures, steps.waits, now=now)
        if status is app.status:
            return
        try:
            self._write(app, status, context)
        except NotFound:
            # it is gone, or its definition has no status: who looks again once the cache had time will know
            context.deleted(app)
            raise
        self._reporter.changed(app, status, steps.failures)

    def _tell_of_deletion(self, app: MyApp, context: ReconcileContext) -> None:
        """No events: there is nothing to be done about it, and the namespace may take no more of them."""
        status = deletion_status(app, self._deployment.owned(app), now=self._clock.time())
        if status is not app.status:
            with suppress(NotFound):
                self._write(app, status, context)

    def _write(self, app: MyApp, status: MyAppStatus, context: ReconcileContext) -> None:
        told = replace(app, status=status)
        context.wrote(self._myapps.update_status(told, field_manager=FIELD_MANAGER))


def _check_time(context: ReconcileContext) -> None:
    """A stop of the program is no reason to leave a MyApp half done."""
    if context.deadline.passed():
        context.deadline.check()


def namesakes(apps: Lister[MyApp]) -> Callable[[Object], Iterable[ObjectName]]:
    """
    From an object that is not a MyApp's to the MyApp of its name.

    It may be in the way of a child: when it goes, or changes hands, that MyApp should look again.
    """

    def find(obj: Object) -> Iterable[ObjectName]:
        name = object_name(obj)
        try:
            app = apps.namespace(name.namespace).get(name.name)
        except NotFound:
            return ()
        return () if is_controlled_by(obj, app) else (name,)

    return find


def add_myapp(manager: Manager, *, workers: int = 2) -> Controller:
    """
    Have a manager run it.

    Only a change of the spec counts in a MyApp itself, or its status would wake it; children count with all
    they have, or their status would not.
    """
    builder = controller_for(manager, NAME).for_(MyApp, predicates=(GenerationChanged(),))
    find = namesakes(manager.lister_for(MyApp))
    changes_hands = PredicateFuncs(update=_has_other_owners)
    for child in CHILDREN:
        builder.owns(child).watches(child, find, predicates=(changes_hands,))
    builder.with_options(max_concurrent_reconciles=workers, reconcile_timeout_seconds=RECONCILE_SECONDS)
    builder.declares(*MYAPP_ACCESS)
    recorder = manager.recorder(FIELD_MANAGER)
    reconciler = MyAppReconciler(manager.client, manager, recorder, clock=manager.clock)
    return builder.complete(reconciler)


def _has_other_owners(old: Object, new: Object) -> bool:
    return old.metadata.owner_references != new.metadata.owner_references
