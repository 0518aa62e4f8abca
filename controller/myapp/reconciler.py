"""
MyApp with the runtime: one name in, the children as that MyApp wants them, and a true status.

    MyApp, Deployment, Service, autoscaler --watches--> names --> reconcile --> children, status, Events

A reconcile reads the caches, takes each step even if another one fails, and writes only differences: without
a change in the cluster it writes nothing. The fields that a MyApp owns in its children: changes.py. The
conditions Ready, Progressing and Degraded: status.py. The objects that it leaves alone: child.py.

While autoscaling is on, or an autoscaler of ours still exists, the autoscaler decides on the replicas. A
foreign Deployment gets no autoscaler. A MyApp that is being deleted only gets a true status: its children go
with it, by their owner references, and before it in a foreground deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Final, TypeVar

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Service
from handloop.apis.meta import Kind, Object, is_controlled_by
from handloop.client.errors import AlreadyExists, APIError, ClientError, Conflict, NotFound, TooManyRequests
from handloop.controller.myapp.access import MYAPP_ACCESS
from handloop.controller.myapp.changes import autoscaler_changes, deployment_changes, service_changes
from handloop.controller.myapp.child import FIELD_MANAGER, Child
from handloop.controller.myapp.desired_children import new_autoscaler, new_deployment, new_service
from handloop.controller.myapp.status import MyAppReporter, deletion_status, new_status
from handloop.controller.myapp.types import MyApp, MyAppStatus, problems
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.context import Context, Listers, NameTakenError
from handloop.controller.runtime.controller import Controller
from handloop.controller.runtime.events.recorder import EventRecorder
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.predicates import GenerationChanged, PredicateFuncs
from handloop.controller.runtime.reconcile import DONE, ReconcileError, Result, TerminalError, WaitError
from handloop.informers.keys import ObjectName, object_name
from handloop.informers.lister import Lister
from handloop.workqueue.seams import REAL_CLOCK, Clock

NAME: Final = "myapp"
LOOK_AGAIN_SECONDS: Final = 30.0
RECONCILE_SECONDS: Final = 60.0
CHILDREN: Final[tuple[type[Kind], ...]] = (Deployment, Service, HorizontalPodAutoscaler)

T = TypeVar("T")


class Steps:
    """
    The steps of one reconcile, each taken even if another one fails, and their outcomes.

    State: failures and waits, in words; lost = the race that was lost: the cache is behind, so the whole
    reconcile is retried without a status.
    """

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.waits: list[str] = []
        self.lost: APIError | None = None

    def take(self, what: str, step: Callable[[], T]) -> T | None:
        """
        Take a step. Returns: its result; None when it failed.

        Args: what names the step's subject in failures and waits.
        Raises: TooManyRequests: a server that asks for time gets no further request. Unexpected errors.
        """
        try:
            return step()
        except (Conflict, AlreadyExists) as error:
            self.lost = error
        except TooManyRequests:
            raise
        except WaitError as wait:
            self.waits.append(str(wait))
        except NameTakenError as error:
            self.failures.append(str(error))
        except ClientError as error:
            self.failures.append(f"{what}: {error}")
        return None


class MyAppReconciler:
    """Keeps MyApps and their children in step. State: none; it is all in the cluster. Threads: any."""

    def __init__(self, listers: Listers, recorder: EventRecorder, *, clock: Clock = REAL_CLOCK) -> None:
        self._apps = listers.lister_for(MyApp)
        self._deployment = Child(Deployment, listers.lister_for(Deployment))
        self._service = Child(Service, listers.lister_for(Service))
        self._autoscaler = Child(HorizontalPodAutoscaler, listers.lister_for(HorizontalPodAutoscaler))
        self._reporter = MyAppReporter(recorder)
        self._clock = clock

    def reconcile(self, name: ObjectName, context: Context) -> Result:
        """
        Bring the children in line with the MyApp, and its status in line with the children.

        Raises: TerminalError for a spec that cannot work; ReconcileError when a step failed; Conflict and
        AlreadyExists when the cache is behind.
        """
        app = self._apps.get(name)
        if app is None:
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

    def _bring_up_to_date(self, app: MyApp, steps: Steps, context: Context) -> Deployment | None:
        deployment = steps.take("Deployment", partial(self._sync_deployment, app, context))
        _check_time(context)
        steps.take("Service", partial(self._sync_service, app, context))
        _check_time(context)
        if not isinstance(steps.lost, AlreadyExists):
            steps.take("HorizontalPodAutoscaler", partial(self._sync_autoscaler, app, context))
        return deployment or self._deployment.owned(app)

    def _sync_deployment(self, app: MyApp, context: Context) -> Deployment:
        scaled = app.spec.is_auto_scaled or self._autoscaler.owned(app) is not None
        changes = partial(deployment_changes, keep_replicas=scaled)
        return self._deployment.ensure(app, new_deployment(app), changes, context)[0]

    def _sync_service(self, app: MyApp, context: Context) -> None:
        service, written = self._service.ensure(app, new_service(app), service_changes, context)
        if written:
            self._reporter.serves(app, service)

    def _sync_autoscaler(self, app: MyApp, context: Context) -> None:
        """
        Create, correct or delete the autoscaler; once it is gone from the cache, the spec's replicas count
        again.

        An autoscaler scales the Deployment of its name, even a foreign one: then it must not exist.
        """
        scaling = app.spec.auto_scaling
        if scaling is None or not scaling.enabled or self._deployment.is_taken(app):
            self._autoscaler.remove(app, context)
            return
        self._autoscaler.ensure(app, new_autoscaler(app, scaling), autoscaler_changes, context)

    def _tell(self, app: MyApp, deployment: Deployment | None, steps: Steps, context: Context) -> None:
        """Write the status if it says something new, and then record the Events that go with it."""
        now = self._clock.time()
        status = new_status(app, deployment, steps.failures, steps.waits, now=now)
        if status is app.status:
            return
        try:
            self._write(app, status, context)
        except NotFound:
            # the MyApp is gone, or its CRD has no status: the retry waits for the cache, which tells
            context.deleted(app)
            raise
        self._reporter.changed(app, status, steps.failures)

    def _tell_of_deletion(self, app: MyApp, context: Context) -> None:
        """Write the status without Events: a namespace that is being deleted may take none."""
        status = deletion_status(app, self._deployment.owned(app), now=self._clock.time())
        if status is not app.status:
            with suppress(NotFound):
                self._write(app, status, context)

    def _write(self, app: MyApp, status: MyAppStatus, context: Context) -> None:
        told = replace(app, status=status)
        context.client.resource(MyApp).update_status(told, field_manager=FIELD_MANAGER)


def _check_time(context: Context) -> None:
    """Raise after the deadline only: a stop of the program is no reason to leave a MyApp half done."""
    if context.deadline.passed():
        context.deadline.check()


def namesakes(apps: Lister[MyApp]) -> Callable[[Object], Iterable[ObjectName]]:
    """
    A map function: from an object that is no child of a MyApp to the MyApp of its name.

    The object may be in the way of a child: when it goes, or changes owners, that MyApp is reconciled.
    """

    def find(obj: Object) -> Iterable[ObjectName]:
        name = object_name(obj)
        app = apps.get(name)
        return () if app is None or is_controlled_by(obj, app) else (name,)

    return find


def add_myapp(manager: Manager, *, workers: int = 2) -> Controller:
    """
    Add the MyApp controller to a manager.

    Of a MyApp only changes of the spec count: its status must not wake it. Of children all changes count,
    their status included.
    """
    builder = controller_for(manager, NAME).for_(MyApp, predicates=(GenerationChanged(),))
    find = namesakes(manager.lister_for(MyApp))
    changes_hands = PredicateFuncs(update=_has_other_owners)
    for child in CHILDREN:
        builder.owns(child).watches(child, find, predicates=(changes_hands,))
    builder.with_options(max_concurrent_reconciles=workers, reconcile_timeout_seconds=RECONCILE_SECONDS)
    builder.declares(*MYAPP_ACCESS)
    recorder = manager.recorder(FIELD_MANAGER)
    reconciler = MyAppReconciler(manager, recorder, clock=manager.seams.clock)
    return builder.complete_by_name(reconciler)


def _has_other_owners(old: Object, new: Object) -> bool:
    return old.metadata.owner_references != new.metadata.owner_references
