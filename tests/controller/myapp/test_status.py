"""The status of a MyApp as a function of the observed objects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment, DeploymentCondition
from handloop.apis.conditions import Condition, find_condition
from handloop.apis.grammar.times import format_time
from handloop.controller.myapp import status as of
from handloop.controller.myapp.status import DEGRADED, PROGRESSING, READY, troubles
from handloop.controller.myapp.types import MyApp, MyAppStatus
from handloop.controller.runtime.reconciling.context import Context
from handloop.testing.fake_clock import FakeClock
from support.builders.myapp_builders import deployment_of, new_app

NOW = 1_700_000_000.0
UP = (("True", "DeploymentReady"), ("False", "ReconcileSuccess"), ("False", "ReconcileSuccess"))
COMING = (("False", "Reconciling"), ("True", "Reconciling"), ("False", "Reconciling"))


def new_status(
    app: MyApp,
    deployment: Deployment | None,
    failures: Sequence[str] = (),
    waits: Sequence[str] = (),
    *,
    now: float,
) -> MyAppStatus:
    """The status at a time."""
    return of.new_status(app, deployment, Context(clock=FakeClock(unix=now)), failures, waits)


def summary(status: MyAppStatus) -> tuple[tuple[str, str], ...]:
    """(status, reason) of Ready, Progressing and Degraded."""
    found = [find_condition(status.conditions, name) for name in (READY, PROGRESSING, DEGRADED)]
    assert len(status.conditions) == len(found)
    return tuple((each.status, each.reason) for each in found if each is not None)


def message(status: MyAppStatus, condition_type: str) -> str:
    """The message of a condition."""
    condition = find_condition(status.conditions, condition_type)
    assert condition is not None
    return condition.message


def test_all_replicas_ready() -> None:
    """Ready, not progressing, not degraded; counts, generation, selector and the time of the change."""
    app = new_app(replicas=3, generation=4)
    status = new_status(app, deployment_of(app), now=NOW)
    assert summary(status) == UP
    assert (status.ready_replicas, status.available_replicas, status.observed_generation) == (3, 3, 4)
    assert {condition.observed_generation for condition in status.conditions} == {4}
    assert status.last_update_time == format_time(NOW)
    assert status.selector.startswith("app.kubernetes.io/instance=a,")


@pytest.mark.parametrize(
    ("seen", "text"),
    [
        ({"ready_replicas": 1}, "Ready replicas: 1/3"),
        ({"observed_generation": 0}, "Ready replicas: 3/3, about to change"),
        ({"updated_replicas": 1}, "Ready replicas: 3/3, up to date: 1/3"),
        ({"replicas": 4}, "Ready replicas: 3/3, to be removed: 1"),
        ({"ready_replicas": 4, "replicas": 4}, "Ready replicas: 4/3, to be removed: 1"),
        ({"replicas": 0, "updated_replicas": 0, "ready_replicas": 0}, "Ready replicas: 0/3, up to date: 0/3"),
    ],
)
def test_a_deployment_on_its_way(seen: dict[str, Any], text: str) -> None:
    """Until every wanted replica, and no other, is of this spec and ready, it is Progressing."""
    app = new_app(replicas=3)
    status = new_status(app, deployment_of(app, **seen), now=NOW)
    assert summary(status) == COMING
    assert message(status, PROGRESSING) == message(status, READY) == text


def test_a_myapp_that_is_being_deleted() -> None:
    """Neither Ready nor Progressing, with any Deployment; Degraded as the Deployment is; reported once."""
    app = new_app(replicas=3, generation=5)
    app = replace(app, metadata=replace(app.metadata, deletion_timestamp=format_time(NOW)))
    gone = (("False", "Deleting"),) * 3
    status = new_status(app, deployment_of(app), now=NOW)
    assert summary(status) == gone
    assert (status.ready_replicas, status.observed_generation) == (3, 5)
    told = replace(app, status=status)
    assert new_status(told, deployment_of(app), now=NOW + 1) is status
    last = new_status(told, None, now=NOW + 1)
    assert (summary(last), last.ready_replicas, last.available_replicas) == (gone, 0, 0)
    failed = DeploymentCondition(type="ReplicaFailure", status="True", message="no quota")
    degraded = new_status(app, deployment_of(app, conditions=(failed,)), now=NOW)
    assert summary(degraded) == (*gone[:2], ("True", "ReconcileError"))
    assert message(degraded, DEGRADED) == "Deployment: no quota"


def test_nothing_is_not_ready() -> None:
    """Scaled to zero under a paused autoscaler, all of nothing is ready: neither Ready nor Progressing."""
    app = new_app()
    status = new_status(app, deployment_of(app, scaled_to=0), now=NOW)
    assert summary(status)[:2] == (("False", "Reconciling"), ("False", "ReconcileSuccess"))
    assert message(status, READY) == "Ready replicas: 0/0"


def test_the_replicas_that_count_are_those_of_the_deployment() -> None:
    """Under an autoscaler it may want others than the spec."""
    app = new_app(replicas=1, autoScaling={"enabled": True, "maxReplicas": 9})
    status = new_status(app, deployment_of(app, scaled_to=7), now=NOW)
    assert summary(status) == UP
    assert message(status, READY) == "Ready replicas: 7/7"


def test_a_failure_is_degraded_and_not_ready() -> None:
    """With all replicas ready or not; both messages are there."""
    app = new_app()
    status = new_status(app, deployment_of(app), ["Service: no", "HorizontalPodAutoscaler: no"], now=NOW)
    error = ("False", "ReconcileError")
    assert summary(status) == (error, error, ("True", "ReconcileError"))
    assert message(status, DEGRADED) == "Service: no; HorizontalPodAutoscaler: no"
    coming = new_status(app, deployment_of(app, ready_replicas=0), ["Service: no"], now=NOW)
    assert summary(coming)[1:] == (("True", "Reconciling"), ("True", "ReconcileError"))


def test_without_a_deployment() -> None:
    """It is on its way, or it failed and is not."""
    app = new_app()
    assert summary(new_status(app, None, now=NOW)) == COMING
    error = ("False", "ReconcileError")
    failed = new_status(app, None, ["Deployment: no"], now=NOW)
    assert summary(failed) == (error, error, ("True", "ReconcileError"))
    assert (failed.ready_replicas, failed.available_replicas) == (0, 0)
    assert failed.selector


def test_what_has_to_wait_is_not_ready() -> None:
    """A child that cannot be had yet is no failure, but keeps the rest from being all there is."""
    app = new_app()
    status = new_status(app, deployment_of(app), (), ["Service is not gone yet"], now=NOW)
    assert summary(status) == COMING
    assert message(status, PROGRESSING) == "Ready replicas: 1/1; Service is not gone yet"


@pytest.mark.parametrize(("condition_type", "value"), [("ReplicaFailure", "True"), ("Progressing", "False")])
def test_what_the_deployment_cannot_do_is_degraded(condition_type: str, value: str) -> None:
    """In the Deployment's words, unless they are about a spec that is no more."""
    app = new_app()
    condition = DeploymentCondition(
        type=condition_type, status=value, reason="Quota", message="exceeded quota"
    )
    deployment = deployment_of(app, ready_replicas=0, conditions=(condition,))
    status = new_status(app, deployment, now=NOW)
    assert summary(status)[1:] == (("True", "Reconciling"), ("True", "ReconcileError"))
    assert message(status, DEGRADED) == "Deployment: exceeded quota"
    changed = replace(deployment, metadata=replace(deployment.metadata, generation=2))
    assert troubles(changed) == ()
    mute = replace(
        deployment, status=replace(deployment.status, conditions=(replace(condition, message=""),))
    )
    assert troubles(mute) == ("Deployment: Quota",)


def test_conditions_that_are_well_are_no_trouble() -> None:
    """Progressing=True and Available are how a Deployment is when all is well."""
    fine = (
        DeploymentCondition(type="Progressing", status="True", message="m"),
        DeploymentCondition(type="Available", status="False", message="m"),
        DeploymentCondition(type="ReplicaFailure", status="False", message="m"),
    )
    assert troubles(deployment_of(new_app(), conditions=fine)) == ()


def test_the_same_seen_again_is_the_same_status() -> None:
    """To the object, at any time: nothing to write."""
    app = new_app()
    app = replace(app, status=new_status(app, deployment_of(app), now=NOW))
    assert new_status(app, deployment_of(app), now=NOW + 1000) is app.status


def test_times_of_transitions_move_with_the_status_only() -> None:
    """A new message or generation moves lastUpdateTime; lastTransitionTime waits for another status."""
    app = new_app(replicas=2)
    first = new_status(app, deployment_of(app, ready_replicas=0), now=NOW)
    app = replace(app, status=first)
    second = new_status(app, deployment_of(app, ready_replicas=1), now=NOW + 10)
    third = new_status(replace(app, status=second), deployment_of(app), now=NOW + 20)

    def times(status: MyAppStatus) -> list[str]:
        return [each.last_transition_time for each in status.conditions]

    assert times(first) == times(second) == [format_time(NOW)] * 3
    assert second.last_update_time == format_time(NOW + 10)
    assert times(third) == [format_time(NOW + 20), format_time(NOW + 20), format_time(NOW)]


def test_conditions_of_others_are_kept() -> None:
    """A status may hold a condition that is not ours."""
    theirs = Condition(type="Backup", status="True", reason="Done", last_transition_time=format_time(NOW))
    app = new_app(status=MyAppStatus(conditions=(theirs,)))
    status = new_status(app, deployment_of(app), now=NOW)
    assert find_condition(status.conditions, "Backup") == theirs
    assert len(status.conditions) == 4


def test_a_message_is_never_too_long_to_be_stored() -> None:
    """The schema takes 32768 characters."""
    status = new_status(new_app(), None, ["x" * 40_000], now=NOW)
    assert len(message(status, DEGRADED)) == 32_768
