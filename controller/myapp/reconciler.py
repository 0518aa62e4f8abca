"""
MyApp's reconciler, built on the runtime: creates and updates a MyApp's children, and reports its status.

    MyApp, Deployment, Service, autoscaler --watches--> names --> reconcile --> children, status, Events

While autoscaling is on, or our autoscaler still exists, the autoscaler sets the number of replicas. For a
MyApp that is being deleted, only the status is updated, because its children are deleted with it through
their owner references.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from handloop import (
    DONE,
    ClientError,
    Conflict,
    Context,
    GenerationChanged,
    Invalid,
    Kind,
    Lister,
    Manager,
    NotFound,
    ObjectName,
    PredicateFuncs,
    ReconcileError,
    Result,
    TerminalError,
    TooManyRequests,
    WaitError,
    controller_for,
    is_being_deleted,
    is_controlled_by,
    object_name,
)
from handloop.apis.apps_v1 import Deployment
from handloop.apis.autoscaling_v2 import HorizontalPodAutoscaler
from handloop.apis.core_v1 import Service
from handloop.controller.myapp import children
from handloop.controller.myapp.status import new_status, report
from handloop.controller.myapp.types import MyApp, problems
from handloop.controller.runtime.reconciling.controller import Controller

NAME: Final = "myapp"


class Steps(NamedTuple):
    """Runs all steps of a reconcile, even if one fails. Collects texts about the failures and waits."""

    context: Context
    failures: list[str]
    waits: list[str]

    def take(self, what: str, step: Callable[[], Any]) -> Any:
        """Run a step. Returns: its result, or None if it failed. Raises: errors that end the reconcile."""
        if self.context.deadline.passed():  # ignore a stop, which must not leave a MyApp half done
            self.context.deadline.check()
        try:
            return step()
        except (Conflict, TooManyRequests):
            raise  # the cache is behind, or the server asks us to wait
        except (WaitError, NotFound) as wait:  # the object to change has just been deleted
            self.waits.append(str(wait))
        except ReconcileError as error:
            self.failures.append(str(error))
        except ClientError as error:
            self.failures.append(f"{what}: {error}")
        return None


def reconcile(name: ObjectName, context: Context) -> Result:
    """Create and update a MyApp's children, and then its status. Raises: the errors of Reconciler."""
    app = context.lister_for(MyApp).get(name)
    if app is None:
        return DONE
    wrong = () if is_being_deleted(app) else problems(app)
    steps, deployment = Steps(context, [*wrong], []), children.owned(Deployment, app, context)
    if not wrong and not is_being_deleted(app):
        deployment = (live := steps.take("Deployment", lambda: _sync_deployment(app, context))) or deployment
        steps.take("Service", lambda: _sync_service(app, context))
        steps.take("HorizontalPodAutoscaler", lambda: _sync_autoscaler(app, live, context))
    _tell(app, deployment, steps)
    if steps.failures:
        raise (TerminalError if wrong else ReconcileError)("; ".join(steps.failures))
    return DONE if is_being_deleted(app) else Result(requeue_after=30.0)


def _sync_deployment(app: MyApp, context: Context) -> Deployment:
    before = children.child(Deployment, app, context)
    wanted = children.new_deployment(app, before)
    try:
        deployment = context.apply(wanted, owner=app)
    except Invalid:
        if before is None or not (changes := children.corrections(before, wanted)):
            raise
        return children.patched(before, {"spec": changes}, context)
    changes, replicas, scaling = children.corrections(deployment, wanted), app.spec.replicas, app.spec.scaling
    has_autoscaler = children.owned(HorizontalPodAutoscaler, app, context) is not None
    # a process may have ended between its create and its patch
    is_unpatched = before is not None and before.metadata.generation == 1 and not has_autoscaler
    is_new = is_unpatched or before is None or before.metadata.uid != deployment.metadata.uid
    if scaling is not None:
        replicas = min(max(replicas, scaling.min_replicas), scaling.max_replicas)
    if deployment.spec.replicas != replicas and (is_new or not (scaling or has_autoscaler)):
        changes["replicas"] = replicas
    # the Deployment controller may already have reacted to our own write
    metadata = {} if deployment is before else {"metadata": {"uid": deployment.metadata.uid}}
    return children.patched(deployment, {"spec": changes, **metadata}, context) if changes else deployment


def _sync_service(app: MyApp, context: Context) -> None:
    before, wanted = children.child(Service, app, context), children.new_service(app)
    try:
        service = context.apply(wanted, owner=app)
    except Invalid:
        if before is None or not (ports := children.moved(before.spec.ports, wanted.spec.ports, "port")):
            raise
        service = children.patched(before, {"spec": {"ports": ports}}, context)
    if service is not before:
        context.event(app, "ServiceReady", f"Service is a {service.spec.type} on port {app.spec.port}")


def _sync_autoscaler(app: MyApp, live: Deployment | None, context: Context) -> None:
    """Write or delete the autoscaler. Create it only after the Deployment has the spec's replicas."""
    scaling, namesake = app.spec.scaling, context.lister_for(Deployment).get(object_name(app))
    if namesake is not None and not is_controlled_by(namesake, app):
        scaling = None  # otherwise it would scale another owner's Deployment
    if scaling is None:
        if children.owned(HorizontalPodAutoscaler, app, context) is not None:
            context.prune(HorizontalPodAutoscaler, keep=(), owner=app)
            raise WaitError(f'HorizontalPodAutoscaler "{app.metadata.name}" is not gone yet')
    elif children.child(HorizontalPodAutoscaler, app, context) is not None or live is not None:
        context.apply(children.new_autoscaler(app, scaling), owner=app)


def _tell(app: MyApp, deployment: Deployment | None, steps: Steps) -> None:
    """Write the status if it differs, and then record the Events that report the change."""
    context = steps.context
    status = new_status(app, deployment, context, steps.failures, steps.waits)
    try:
        context.update_status(app, status)
    except NotFound:
        context.deleted(app)  # the next reconcile waits until the cache shows this
        if not is_being_deleted(app):
            raise
    else:
        # A namespace that is being deleted refuses Events.
        if status is not app.status and not is_being_deleted(app):
            report(app, status, steps.failures, context)


def namesakes(apps: Lister[MyApp]) -> Callable[[Kind], tuple[ObjectName, ...]]:
    """Return a map function from an object with a child's name to the MyApp that wants to use this name."""

    def find(obj: Kind) -> tuple[ObjectName, ...]:
        app = apps.get(object_name(obj))
        return () if app is None or is_controlled_by(obj, app) else (object_name(app),)

    return find


def add_myapp(manager: Manager, *, workers: int = 2) -> Controller:
    """Add the controller. It ignores changes to a MyApp's own status, but reacts to changes to a child."""
    builder = controller_for(manager, NAME).for_(MyApp, predicates=(GenerationChanged(),))
    builder.writes(MyApp, "patch", subresource="status").writes(HorizontalPodAutoscaler, "delete")
    find = namesakes(manager.lister_for(MyApp))
    changes_hands = PredicateFuncs(
        update=lambda old, new: old.metadata.owner_references != new.metadata.owner_references
    )
    for kind in (Deployment, Service, HorizontalPodAutoscaler):
        builder.owns(kind).watches(kind, find, predicates=(changes_hands,)).writes(kind, "create", "patch")
    builder.with_options(max_concurrent_reconciles=workers, reconcile_timeout_seconds=60.0)
    return builder.complete_by_name(reconcile)
