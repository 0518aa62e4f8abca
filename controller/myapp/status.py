"""
The status of a MyApp, a pure function of the observed state: without a change it does not change.

    Ready        every wanted replica runs this very spec and is ready, no step failed, no child is going away
    Progressing  the Deployment is on its way to that, or a step waits for an object to go
    Degraded     a step failed, or the Deployment says that it cannot make its pods
All three are always there. A status is about the spec of its observedGeneration. A MyApp that is being
deleted is neither Ready nor Progressing: its children are no longer kept.

MyAppReporter records Events when a status says something new. It compares the two statuses and has no memory,
so a restart repeats nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.conditions import FALSE, TRUE, Condition, find_condition, is_condition_true, set_condition
from handloop.apis.core_v1 import Service
from handloop.apis.meta import format_time
from handloop.controller.myapp.desired_children import labels
from handloop.controller.myapp.types import MyApp, MyAppStatus
from handloop.controller.runtime.events.recorder import EVENT_TYPE_NORMAL, EVENT_TYPE_WARNING, EventRecorder

READY: Final = "Ready"
PROGRESSING: Final = "Progressing"
DEGRADED: Final = "Degraded"

Reason = Literal[
    "Reconciling", "ReconcileSuccess", "ReconcileError", "DeploymentReady", "ServiceReady", "Deleting"
]
RECONCILING: Final = "Reconciling"
RECONCILE_SUCCESS: Final = "ReconcileSuccess"
RECONCILE_ERROR: Final = "ReconcileError"
DEPLOYMENT_READY: Final = "DeploymentReady"
SERVICE_READY: Final = "ServiceReady"
DELETING: Final = "Deleting"

_MESSAGE_LENGTH: Final = 32_768


class _Claim(NamedTuple):
    """The content of a condition."""

    holds: bool
    reason: Reason
    message: str


class Progress(NamedTuple):
    """How far a Deployment is; settled = its pods are the wanted ones, of this very spec, and all ready."""

    wanted: int
    settled: bool
    text: str


_NOWHERE: Final = Progress(0, settled=False, text="no Deployment yet")


def new_status(
    app: MyApp,
    deployment: Deployment | None,
    failures: Sequence[str] = (),
    waits: Sequence[str] = (),
    *,
    now: float,
) -> MyAppStatus:
    """
    The status as it should be; `app.status` itself when nothing changed.

    Args: deployment is ours as last read or written, None = there is none; failures name failed steps and the
    reasons, waits the steps that cannot be taken yet; now in Unix seconds.
    """
    return _with_claims(app, deployment, _claims(deployment, failures, waits), now)


def deletion_status(app: MyApp, deployment: Deployment | None, *, now: float) -> MyAppStatus:
    """The status of a MyApp that is being deleted, which may take as long as a finalizer holds it."""
    wrong = "" if deployment is None else "; ".join(troubles(deployment))
    going = _Claim(False, DELETING, "The MyApp is being deleted")
    degraded = _Claim(True, RECONCILE_ERROR, wrong) if wrong else _Claim(False, DELETING, "")
    claims = {READY: going, PROGRESSING: going, DEGRADED: degraded}
    return _with_claims(app, deployment, claims, now)


def troubles(deployment: Deployment) -> tuple[str, ...]:
    """Why a Deployment cannot go on, in its own words; () if it can, or has not observed its spec yet."""
    status = deployment.status
    if status.observed_generation < deployment.metadata.generation:
        return ()
    return tuple(
        f"Deployment: {condition.message or condition.reason}"
        for condition in status.conditions
        if (condition.type, condition.status) in (("ReplicaFailure", "True"), ("Progressing", "False"))
    )


def progress(deployment: Deployment) -> Progress:
    """How far a Deployment is, with a text for people."""
    status = deployment.status
    wanted = 1 if deployment.spec.replicas is None else deployment.spec.replicas
    text = f"Ready replicas: {status.ready_replicas}/{wanted}"
    if status.observed_generation < deployment.metadata.generation:
        return Progress(wanted, settled=False, text=f"{text}, about to change")
    if status.updated_replicas < wanted:
        text = f"{text}, up to date: {status.updated_replicas}/{wanted}"
    elif status.replicas > wanted:
        text = f"{text}, to be removed: {status.replicas - wanted}"
    counts = (status.replicas, status.updated_replicas, status.ready_replicas)
    return Progress(wanted, settled=counts == (wanted,) * 3, text=text)


def _with_claims(
    app: MyApp, deployment: Deployment | None, claims: Mapping[str, _Claim], now: float
) -> MyAppStatus:
    status = _observed(app, deployment)
    for condition_type, (holds, reason, message) in claims.items():
        condition = Condition(
            type=condition_type,
            status=TRUE if holds else FALSE,
            observed_generation=app.metadata.generation,
            reason=reason,
            message=message[:_MESSAGE_LENGTH],
        )
        status = replace(status, conditions=set_condition(status.conditions, condition, now=now))
    if status == app.status:
        return app.status
    return replace(status, last_update_time=format_time(now))


def _observed(app: MyApp, deployment: Deployment | None) -> MyAppStatus:
    seen = Deployment() if deployment is None else deployment
    selector = seen.spec.selector.match_labels or labels(app)
    return replace(
        app.status,
        ready_replicas=seen.status.ready_replicas,
        available_replicas=seen.status.available_replicas,
        observed_generation=app.metadata.generation,
        selector=",".join(f"{key}={value}" for key, value in sorted(selector.items())),
    )


def _claims(
    deployment: Deployment | None, failures: Sequence[str], waits: Sequence[str]
) -> dict[str, _Claim]:
    at = _NOWHERE if deployment is None else progress(deployment)
    wrong = "; ".join([*failures, *(() if deployment is None else troubles(deployment))])
    text = "; ".join([at.text, *waits])
    settled = at.settled and not waits
    moving = not settled and not (deployment is None and failures)
    return {
        READY: _ready(at, text, wrong, settled=settled),
        PROGRESSING: _Claim(True, RECONCILING, text) if moving else _at_rest(text, wrong),
        DEGRADED: _Claim(True, RECONCILE_ERROR, wrong) if wrong else _healthy(settled=settled),
    }


def _ready(at: Progress, text: str, wrong: str, *, settled: bool) -> _Claim:
    if wrong:
        return _Claim(False, RECONCILE_ERROR, wrong)
    if settled and at.wanted:
        return _Claim(True, DEPLOYMENT_READY, text)
    return _Claim(False, RECONCILING, text)


def _at_rest(text: str, wrong: str) -> _Claim:
    return _Claim(False, RECONCILE_ERROR, wrong) if wrong else _Claim(False, RECONCILE_SUCCESS, text)


def _healthy(*, settled: bool) -> _Claim:
    """No failure; success is known once the Deployment has settled."""
    return _Claim(False, RECONCILE_SUCCESS if settled else RECONCILING, "")


class MyAppReporter:
    """Records the Events of the MyApp controller. State: none. Threads: any."""

    def __init__(self, recorder: EventRecorder) -> None:
        self._recorder = recorder

    def changed(self, app: MyApp, after: MyAppStatus, failures: Sequence[str]) -> None:
        """
        A new status was written in place of `app.status`.

        Args: failures of this reconcile: each is reported unless the old status had it.
        """
        for text in _new_troubles(app.status, after, failures):
            self._recorder.event(app, EVENT_TYPE_WARNING, RECONCILE_ERROR, text)
        was_degraded = is_condition_true(app.status.conditions, DEGRADED)
        if was_degraded and not is_condition_true(after.conditions, DEGRADED):
            self._recorder.event(app, EVENT_TYPE_NORMAL, RECONCILE_SUCCESS, "No step fails any more")
        if not is_condition_true(app.status.conditions, READY) and is_condition_true(after.conditions, READY):
            text = f"Ready replicas: {after.ready_replicas}"
            self._recorder.event(app, EVENT_TYPE_NORMAL, DEPLOYMENT_READY, text)

    def serves(self, app: MyApp, service: Service) -> None:
        """The Service was written."""
        text = f"Service is a {service.spec.type} on port {app.spec.port}"
        self._recorder.event(app, EVENT_TYPE_NORMAL, SERVICE_READY, text)


def _new_troubles(before: MyAppStatus, after: MyAppStatus, failures: Sequence[str]) -> Sequence[str]:
    """
    The failures that the old status did not have; without any, the reason of a status that became Degraded.

    A Deployment's own words may change with every try, so only the first ones are reported.
    """
    degraded = find_condition(before.conditions, DEGRADED)
    said = degraded.message if degraded is not None else ""
    new = [failure for failure in failures if failure not in said]
    if new or is_condition_true(before.conditions, DEGRADED):
        return new
    degraded = find_condition(after.conditions, DEGRADED)
    return [degraded.message] if degraded is not None and degraded.status == TRUE else []
