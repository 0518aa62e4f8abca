"""
Computes the status of a MyApp from the observed state alone: equal states give equal statuses.

    Ready        every desired replica runs this spec and is ready, no step failed, no child is being deleted
    Progressing  the Deployment is progressing towards this, or a step waits for an object's deletion
    Degraded     a step failed, or the Deployment reports that it cannot create its pods
All three are always present. Events report only what differs from the last status, so that a restart repeats
no Event.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from msgspec.structs import replace

from handloop import Condition, Context, find_condition, format_time, is_being_deleted, is_condition_true
from handloop.apis.apps_v1 import Deployment
from handloop.controller.myapp.children import labels
from handloop.controller.myapp.types import MyApp, MyAppStatus

READY: Final = "Ready"
PROGRESSING: Final = "Progressing"
DEGRADED: Final = "Degraded"

Texts = Sequence[str]
Claim = tuple[Literal["True", "False"], str, str]


def new_status(
    app: MyApp, deployment: Deployment | None, context: Context, failures: Texts = (), waits: Texts = ()
) -> MyAppStatus:
    """Return the new status, or the object `app.status` itself if nothing changed."""
    seen = Deployment() if deployment is None else deployment
    selector = seen.spec.selector.match_labels or labels(app)
    conditions = (
        Condition(type=name, status=status, reason=reason, message=message[:32_768])
        for name, (status, reason, message) in _claims(app, deployment, failures, waits).items()
    )
    status = replace(
        app.status,
        conditions=context.set_conditions(app, *conditions),
        ready_replicas=seen.status.ready_replicas,
        available_replicas=seen.status.available_replicas,
        observed_generation=app.metadata.generation,
        selector=",".join(f"{key}={value}" for key, value in sorted(selector.items())),
    )
    if status == app.status:
        return app.status
    return replace(status, last_update_time=format_time(context.now().timestamp()))


def _claims(app: MyApp, deployment: Deployment | None, failures: Texts, waits: Texts) -> dict[str, Claim]:
    wrong = "; ".join([*failures, *troubles(deployment)])
    degraded: Claim = ("True", "ReconcileError", wrong)
    if is_being_deleted(app):
        going: Claim = ("False", "Deleting", "The MyApp is being deleted")
        return {READY: going, PROGRESSING: going, DEGRADED: degraded if wrong else (*going[:2], "")}
    wanted, settled, text = _progress(deployment)
    settled, text = settled and not waits, "; ".join([text, *waits])
    at_rest: Claim = ("False", "ReconcileError", wrong) if wrong else ("False", "ReconcileSuccess", text)
    ready: Claim = ("True", "DeploymentReady", text) if settled and wanted else ("False", "Reconciling", text)
    moves = not settled and not (deployment is None and failures)
    return {
        READY: at_rest if wrong else ready,
        PROGRESSING: ("True", "Reconciling", text) if moves else at_rest,
        DEGRADED: degraded if wrong else ("False", "ReconcileSuccess" if settled else "Reconciling", ""),
    }


def troubles(deployment: Deployment | None) -> tuple[str, ...]:
    """Return a stuck Deployment's own messages, or () if it is not stuck or its status is outdated."""
    if deployment is None or deployment.status.observed_generation < deployment.metadata.generation:
        return ()
    bad = (("ReplicaFailure", "True"), ("Progressing", "False"))
    found = [each for each in deployment.status.conditions if (each.type, each.status) in bad]
    return tuple(f"Deployment: {each.message or each.reason}" for each in found)


def _progress(deployment: Deployment | None) -> tuple[int, bool, str]:
    """
    Return the desired number of replicas, whether it is reached, and a description.

    It is reached if exactly this number of replicas exists, and all of them are up to date and ready.
    """
    if deployment is None:
        return 0, False, "no Deployment yet"
    status, wanted = deployment.status, 1 if deployment.spec.replicas is None else deployment.spec.replicas
    text = f"Ready replicas: {status.ready_replicas}/{wanted}"
    if status.observed_generation < deployment.metadata.generation:
        return wanted, False, f"{text}, about to change"
    if status.updated_replicas < wanted:
        text = f"{text}, up to date: {status.updated_replicas}/{wanted}"
    elif status.replicas > wanted:
        text = f"{text}, to be removed: {status.replicas - wanted}"
    return wanted, {status.replicas, status.updated_replicas, status.ready_replicas} == {wanted}, text


def report(app: MyApp, after: MyAppStatus, failures: Texts, context: Context) -> None:
    """Record changes since `app.status` as Events. A Deployment's trouble is recorded only once."""
    before, now = app.status.conditions, find_condition(after.conditions, DEGRADED)
    was, was_degraded = find_condition(before, DEGRADED), is_condition_true(before, DEGRADED)
    new = [failure for failure in failures if was is None or failure not in was.message]
    if now is not None and now.status == "True" and not (new or was_degraded):
        new = [now.message]
    for text in new:
        context.event(app, "ReconcileError", text, "Warning")
    if was_degraded and not is_condition_true(after.conditions, DEGRADED):
        context.event(app, "ReconcileSuccess", "No step fails any more")
    if is_condition_true(after.conditions, READY) and not is_condition_true(before, READY):
        context.event(app, "DeploymentReady", f"Ready replicas: {after.ready_replicas}")
