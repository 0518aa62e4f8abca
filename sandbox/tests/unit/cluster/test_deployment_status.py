from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster import deployment_status as statuses
from handloop_sandbox.cluster.cluster_controller import Pace
from handloop_sandbox.cluster.deployment_status import AVAILABLE, PROGRESSING, Finding
from handloop_sandbox.grammar.times import format_time
from support.servers.simulated_cluster import START, new_deployment

_NOW = START


def _rs(wanted: int, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web-abc"}, "spec": {"replicas": wanted}, "status": status}


def _deployment(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    deployment = new_deployment(**spec)
    deployment["metadata"]["generation"] = 1
    return {**deployment, "status": status or {}}


def _condition(kind: str, status: str, reason: str, at: float = _NOW - 100) -> dict[str, Any]:
    stamp = format_time(at)
    times = {"lastUpdateTime": stamp, "lastTransitionTime": stamp}
    return {"type": kind, "status": status, "reason": reason, "message": "", **times}


def _complete(**changes: int) -> dict[str, Any]:
    counters = {"replicas": 3, "updatedReplicas": 3, "readyReplicas": 3, "availableReplicas": 3}
    return {"observedGeneration": 1, **counters, **changes}


def test_condition_keeps_its_transition_time_until_the_status_changes() -> None:
    """Another reason moves lastUpdateTime, another status both times; the same finding changes nothing."""
    status = {"conditions": [_condition(AVAILABLE, "True", "A")]}
    assert statuses.with_condition(status, Finding(AVAILABLE, "True", "A", "other text"), _NOW) is status
    renamed = statuses.with_condition(status, Finding(AVAILABLE, "True", "B", ""), _NOW)["conditions"][0]
    assert renamed["lastTransitionTime"] == format_time(_NOW - 100)
    assert renamed["lastUpdateTime"] == format_time(_NOW)
    turned = statuses.with_condition(status, Finding(AVAILABLE, "False", "B", ""), _NOW)["conditions"][0]
    assert turned["lastTransitionTime"] == format_time(_NOW)


def test_changed_condition_goes_to_the_end() -> None:
    """Conditions are in the order in which they last changed, as the real controller leaves them."""
    status = {"conditions": [_condition(PROGRESSING, "True", "A"), _condition(AVAILABLE, "False", "B")]}
    changed = statuses.with_condition(status, Finding(PROGRESSING, "True", "C", ""), _NOW)
    assert [entry["type"] for entry in changed["conditions"]] == [AVAILABLE, PROGRESSING]


def test_counters_of_a_rollout_half_done() -> None:
    """Counters sum over all ReplicaSets; zeros are left out; wanted but missing replicas are unavailable."""
    new = _rs(2, replicas=2, readyReplicas=1, availableReplicas=1)
    old = _rs(2, replicas=2, readyReplicas=2, availableReplicas=2, terminatingReplicas=1)
    status = statuses.counted(_deployment(), [old, new], new, _NOW)
    conditions = status.pop("conditions")
    assert status == {
        "observedGeneration": 1,
        "replicas": 4,
        "updatedReplicas": 2,
        "readyReplicas": 3,
        "availableReplicas": 3,
        "unavailableReplicas": 1,
        "terminatingReplicas": 1,
    }
    assert [(c["type"], c["status"], c["reason"]) for c in conditions] == [
        (AVAILABLE, "True", "MinimumReplicasAvailable")
    ]


@pytest.mark.parametrize(
    ("changes", "generation", "complete"),
    [
        ({}, 1, True),
        ({"updatedReplicas": 2}, 1, False),
        ({"replicas": 4}, 1, False),
        ({"availableReplicas": 2}, 1, False),
        ({}, 2, False),
    ],
)
def test_completion(changes: dict[str, int], generation: int, complete: bool) -> None:
    """Every replica is new and available, and the spec was seen. Follows TestDeploymentComplete."""
    deployment = _deployment()
    deployment["metadata"]["generation"] = generation
    assert statuses.is_complete(deployment, _complete(**changes)) is complete


@pytest.mark.parametrize(
    ("before", "after", "progressing"),
    [
        ({"updatedReplicas": 1, "replicas": 4}, {"updatedReplicas": 2, "replicas": 4}, True),
        ({"updatedReplicas": 1, "replicas": 4}, {"updatedReplicas": 1, "replicas": 3}, True),
        ({"updatedReplicas": 1, "replicas": 4}, {"updatedReplicas": 1, "replicas": 4}, False),
        ({"readyReplicas": 1}, {"readyReplicas": 2}, True),
        ({"availableReplicas": 2}, {"availableReplicas": 1}, False),
    ],
)
def test_progress(before: dict[str, int], after: dict[str, int], progressing: bool) -> None:
    """More new, fewer old, more ready or available replicas. Follows TestDeploymentProgressing."""
    assert statuses.is_progressing(before, after) is progressing


def _progress(
    deployment: dict[str, Any], status: dict[str, Any], *, stuck: bool = False
) -> tuple[str, str, str]:
    given = {**status, "conditions": deployment["status"].get("conditions", [])}
    found = statuses.with_progress(deployment, given, _rs(3), stuck=stuck, now=_NOW)
    entry = next(c for c in found["conditions"] if c["type"] == PROGRESSING)
    return entry["status"], entry["reason"], entry["message"]


def test_progressing_condition_through_a_rollout() -> None:
    """The condition goes from progressing over timed out to available, with the real texts."""
    running = {"conditions": [_condition(PROGRESSING, "True", "NewReplicaSetCreated")]}
    part = _complete(readyReplicas=1, availableReplicas=1)
    moved = ("True", "ReplicaSetUpdated", 'ReplicaSet "web-abc" is progressing.')
    assert _progress(_deployment(running), part) == moved
    late = _deployment({**part, **running})
    timed_out = ("False", "ProgressDeadlineExceeded", 'ReplicaSet "web-abc" has timed out progressing.')
    assert _progress(late, part, stuck=True) == timed_out
    stuck = _deployment(
        {**part, "conditions": [_condition(PROGRESSING, "False", "ProgressDeadlineExceeded")]}
    )
    assert _progress(stuck, part)[:2] == ("False", "ProgressDeadlineExceeded")
    done = ("True", "NewReplicaSetAvailable", 'ReplicaSet "web-abc" has successfully progressed.')
    assert _progress(stuck, _complete()) == done


def test_finished_rollout_stays_finished() -> None:
    """A pod that fails after the rollout does not make the Deployment progress again or time out."""
    done = _deployment(
        {**_complete(), "conditions": [_condition(PROGRESSING, "True", "NewReplicaSetAvailable")]}
    )
    lost = _complete(availableReplicas=2, readyReplicas=2)
    assert _progress(done, lost, stuck=True)[:2] == ("True", "NewReplicaSetAvailable")


def test_progress_renews_the_time_the_deadline_counts_from() -> None:
    """Progress of the same kind moves lastUpdateTime although the reason stays."""
    running = {"conditions": [_condition(PROGRESSING, "True", "ReplicaSetUpdated")]}
    given = {**_complete(availableReplicas=1), **running}
    found = statuses.with_progress(_deployment(running), given, _rs(3), stuck=False, now=_NOW)
    entry = found["conditions"][-1]
    assert entry["lastUpdateTime"] == format_time(_NOW)
    assert entry["lastTransitionTime"] == format_time(_NOW - 100)


@pytest.mark.parametrize("deadline", [None, 2**31 - 1])
def test_without_a_deadline_there_is_no_progressing_condition(deadline: int | None) -> None:
    """A Deployment without a deadline loses the condition."""
    status = {"conditions": [_condition(PROGRESSING, "True", "ReplicaSetUpdated")]}
    deployment = _deployment(status, progressDeadlineSeconds=deadline)
    found = statuses.with_progress(deployment, status, None, stuck=False, now=_NOW)
    assert "conditions" not in found
    assert statuses.deadline_at(deployment, _NOW, Pace()) is None


def test_deadline_counts_from_the_last_progress() -> None:
    """The deadline is after the last progress, shorter at a higher speed; nothing is due once it is over."""
    running = {"conditions": [_condition(PROGRESSING, "True", "ReplicaSetUpdated", _NOW)]}
    deployment = _deployment(running, progressDeadlineSeconds=60)
    assert statuses.deadline_at(deployment, None, Pace()) == _NOW + 60
    assert statuses.deadline_at(deployment, _NOW + 0.25, Pace(10)) == _NOW + 6.25
    for reason in ("NewReplicaSetAvailable", "ProgressDeadlineExceeded"):
        over = _deployment({"conditions": [_condition(PROGRESSING, "True", reason)]})
        assert statuses.deadline_at(over, None, Pace()) is None


def test_replica_failure_is_copied_and_cleared() -> None:
    """The ReplicaFailure condition of a ReplicaSet shows on the Deployment as long as it is there."""
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "no"}
    failing = _rs(3, conditions=[{**failure, "lastTransitionTime": format_time(_NOW)}])
    status = statuses.with_failure({"conditions": []}, [failing], None)
    assert status["conditions"][0] | failure == status["conditions"][0]
    assert "conditions" not in statuses.with_failure(status, [_rs(3)], None)


@pytest.mark.parametrize(
    ("paused", "reason", "expected"),
    [
        (True, "ReplicaSetUpdated", "DeploymentPaused"),
        (True, "DeploymentPaused", None),
        (False, "DeploymentPaused", "DeploymentResumed"),
        (False, "ReplicaSetUpdated", None),
        (True, "ProgressDeadlineExceeded", None),
    ],
)
def test_pausing_is_noted(paused: bool, reason: str, expected: str | None) -> None:
    """Pausing and resuming make Progressing Unknown, once. Follows TestCheckPausedConditions."""
    deployment = _deployment({"conditions": [_condition(PROGRESSING, "True", reason)]}, paused=paused)
    finding = statuses.pause_finding(deployment)
    assert (finding.reason if finding else None) == expected
    assert finding is None or finding.status == "Unknown"


def test_a_failure_without_a_reason_is_passed_on() -> None:
    """A user wrote the condition of the ReplicaSet, with only a type and a status."""
    failing = _rs(3, conditions=[{"type": "ReplicaFailure", "status": "True", "lastTransitionTime": None}])
    (found,) = statuses.with_failure({"conditions": []}, [failing], None)["conditions"]
    times = {"lastUpdateTime": None, "lastTransitionTime": None}
    assert found == {"type": "ReplicaFailure", "status": "True", **times}
