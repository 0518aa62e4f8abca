"""The decision of kstatus, by the cases of its own tests and by those of its rules that these leave out."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from handloop.apis.conditions import Condition, Conditions
from handloop.apis.meta import APIStruct, Kind, ObjectMeta
from handloop.apis.unstructured import Unstructured
from handloop.kinds.core_v1 import Service, ServiceSpec
from handloop.testing.kstatus import State, assert_kstatus, kstatus

CUSTOM = "example.org/v1 Thing"
ALL_OK = {"type": "Ready", "status": "True", "reason": "AllOk", "message": "All looks ok"}
NOT_YET = {"type": "Ready", "status": "False", "reason": "NotReadyYet"}
OTHER = {"type": "SomeCondition", "status": "False"}
MOVING = {"type": "Reconciling", "status": "True", "reason": "Moving"}
STUCK = {"type": "Stalled", "status": "True", "message": "no such image"}

# of its status_compute_test.go, the cases that the rules for all kinds decide
THEIRS: list[tuple[str, str, int, dict[str, Any] | None, State]] = [
    ("crdNoStatus", CUSTOM, 1, None, "Current"),
    ("crdReady", CUSTOM, 1, {"conditions": [ALL_OK]}, "Current"),
    ("crdNotReady", CUSTOM, 1, {"observedGeneration": 1, "conditions": [NOT_YET]}, "InProgress"),
    ("crdNoCondition", CUSTOM, 1, {"conditions": [OTHER]}, "Current"),
    ("crdMismatchStatusGeneration", CUSTOM, 2, {"observedGeneration": 1}, "InProgress"),
    ("dsDifferentGeneration", "apps/v1 DaemonSet", 2, {"observedGeneration": 1}, "InProgress"),
    ("pdbNotObserved", "policy/v1beta1 PodDisruptionBudget", 2, {"observedGeneration": 1}, "InProgress"),
    # of its status_augment_test.go
    ("no conditions", CUSTOM, 1, {"conditions": []}, "Current"),
    ("no existing", "v1 Pod", 1, {"phase": "Running", "conditions": []}, "InProgress"),
    ("has other", "v1 Pod", 1, {"phase": "Running", "conditions": [NOT_YET]}, "InProgress"),
    ("InProgress", "v1 Pod", 1, {"phase": "Running", "conditions": [MOVING]}, "InProgress"),
    ("Failed", "v1 Pod", 1, {"phase": "Running", "conditions": [STUCK]}, "Failed"),
]
OURS: list[tuple[str, int | None, dict[str, Any], State]] = [
    ("new", 1, {"observedGeneration": -1}, "InProgress"),
    ("0 is a generation", 1, {"observedGeneration": 0, "conditions": [ALL_OK]}, "InProgress"),
    ("no generation", None, {"observedGeneration": 1, "conditions": [ALL_OK]}, "Current"),
    ("an old failure", 2, {"observedGeneration": 1, "conditions": [STUCK]}, "InProgress"),
    ("unknown", 1, {"conditions": [ALL_OK | {"status": "Unknown"}]}, "InProgress"),
    ("no status of a condition", 1, {"conditions": [NOT_YET | {"status": "No"}]}, "Current"),
    ("the first of two", 1, {"conditions": [NOT_YET, ALL_OK]}, "InProgress"),
    ("not stalled any more", 1, {"conditions": [STUCK | {"status": "False"}, ALL_OK]}, "Current"),
    ("ready, and stalled", 1, {"conditions": [ALL_OK, STUCK]}, "Failed"),
    ("stalled first", 1, {"conditions": [STUCK, MOVING]}, "Failed"),
    ("reconciling first", 1, {"conditions": [MOVING, STUCK]}, "InProgress"),
]


def seen(*conditions: str, spec: dict[str, Any] | None = None, **status: Any) -> dict[str, Any]:
    """Spec and status of an object, with conditions as "Ready=False/PodCompleted"."""
    for each in conditions:
        kind, _, rest = each.partition("=")
        value, _, reason = rest.partition("/")
        condition = {"type": kind, "status": value} | ({"reason": reason} if reason else {})
        status.setdefault("conditions", []).append(condition)
    return ({} if spec is None else {"spec": spec}) | ({"status": status} if status else {})


Counts = dict[str, Any]
NEW_SET, AVAILABLE = "Progressing=True/NewReplicaSetAvailable", "Available=True"
UNSCHEDULABLE = "PodScheduled=False/Unschedulable"
FOUR, TIMED, LB = {"replicas": 4}, {"progressDeadlineSeconds": 45}, {"type": "LoadBalancer"}
DEP: Counts = dict.fromkeys(("replicas", "updatedReplicas", "readyReplicas", "availableReplicas"), 1)
RS: Counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "fullyLabeledReplicas"), 4)
STS: Counts = dict.fromkeys(("replicas", "readyReplicas", "currentReplicas"), 4)
SCHEDULED = ("desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled")
DS: Counts = dict.fromkeys((*SCHEDULED, "numberAvailable", "numberReady"), 4) | {"observedGeneration": 1}
CRASHING, PULLING = (
    [{"name": "nginx", "state": {"waiting": {"reason": reason}}}]
    for reason in ("CrashLoopBackOff", "ImagePullBackOff")
)
FROM_0, FROM_3 = (FOUR | {"updateStrategy": {"rollingUpdate": {"partition": first}}} for first in (0, 3))
SUSPENDED, RESUMED, STARTED = {"suspend": True}, {"suspend": False}, "2019-06-04T01:17:13Z"

# of its status_compute_test.go the others, but podBeingScheduled, which is a test of its own, and its
# core_test.go; a row without a name is ours. Last come the state, and words of the reason
BUILT_IN: dict[str, list[tuple[str, dict[str, Any], str]]] = {
    "v1 Pod": [
        ("NoStatus", seen(), "InProgress phase is ''"),
        ("Ready", seen("Ready=True", phase="Running"), "Current Ready is True"),
        ("CompletedSuccessfully", seen("Ready=False/PodCompleted", phase="Succeeded"), "Current Succeeded"),
        ("CompletedFailed", seen("Ready=False/PodCompleted", phase="Failed"), "Current phase is Failed"),
        ("Unschedulable", seen(UNSCHEDULABLE, phase="Pending"), "Failed (Unschedulable)"),
        ("CrashLooping", seen(UNSCHEDULABLE, phase="Running", containerStatuses=CRASHING), "Failed nginx"),
        ("", seen(phase="Running", containerStatuses=PULLING), "InProgress not Ready"),
        ("", seen("Ready=True", phase="Running", containerStatuses=CRASHING), "Current Ready is True"),
        ("", seen(phase="Pending"), "InProgress phase is 'Pending'"),
    ],
    "v1 PersistentVolumeClaim": [
        ("NoStatus", seen(), "InProgress phase is ''"),
        ("Bound", seen(phase="Bound"), "Current nothing"),
        ("", seen(phase="Lost"), "InProgress phase is 'Lost'"),
    ],
    "apps/v1 StatefulSet": [
        ("NoStatus", seen(), "InProgress replicas is 0 of 1"),
        ("BadStatus", seen(observedGeneration=1, currentReplicas=1), "InProgress replicas is 0 of 1"),
        ("OK", seen(spec=FOUR, **STS), "Current nothing"),
        ("LessReady", seen(spec=FOUR, **STS | {"readyReplicas": 2}), "InProgress readyReplicas is 2 of 4"),
        ("LessCurrent", seen(spec=FOUR, **STS | {"currentReplicas": 2}), "InProgress currentReplicas is 2"),
        ("ExtraPods", seen(spec=FOUR, **STS | {"replicas": 8}), "InProgress replicas is 8, but 4 are wanted"),
        ("", seen(spec={"updateStrategy": {"type": "OnDelete"}}), "Current OnDelete"),
        ("", seen(spec=FROM_3, **STS), "InProgress updatedReplicas is 0 of 1"),
        ("", seen(spec=FROM_3, **STS | {"updatedReplicas": 1, "currentReplicas": 3}), "Current partition 3"),
        ("", seen(spec=FROM_0, **STS | {"updatedReplicas": 3}), "InProgress updatedReplicas is 3 of 4"),
        ("", seen(spec=FOUR, **STS | {"currentRevision": "a", "updateRevision": "b"}), "InProgress 'a'"),
    ],
    "apps/v1 DaemonSet": [
        ("NoStatus", seen(), "InProgress no generation was observed"),
        ("BadStatus", seen(observedGeneration=1, currentReplicas=1), "InProgress no desiredNumberScheduled"),
        ("OK", seen(**DS), "Current nothing"),
        ("LessReady", seen(**DS | {"numberReady": 2}), "InProgress numberReady is 2 of 4"),
        ("LessAvailable", seen(**DS | {"numberAvailable": 2}), "InProgress numberAvailable is 2 of 4"),
        ("", seen(**DS | {"currentNumberScheduled": 3}), "InProgress currentNumberScheduled is 3 of 4"),
        ("", seen(**DS | {"updatedNumberScheduled": 3}), "InProgress updatedNumberScheduled is 3 of 4"),
    ],
    "apps/v1 Deployment": [
        ("NoStatus", seen(), "InProgress replicas is 0 of 1"),
        ("OK", seen(NEW_SET, AVAILABLE, **DEP), "Current nothing"),
        ("NotProgressing", seen("Progressing=False", AVAILABLE, spec=TIMED, **DEP), "InProgress Progressing"),
        ("NoProgressDeadlineSeconds", seen(AVAILABLE, **DEP), "Current nothing"),
        ("NotAvailable", seen(NEW_SET, "Available=False", **DEP), "InProgress Available is not True"),
        ("", seen("Progressing=False/ProgressDeadlineExceeded", **DEP), "Failed (ProgressDeadlineExceeded)"),
        ("", seen(NEW_SET, AVAILABLE, spec=TIMED, **DEP), "Current nothing"),
        ("", seen(AVAILABLE, spec={"progressDeadlineSeconds": 2147483647}, **DEP), "Current nothing"),
        ("", seen(AVAILABLE, spec={"replicas": 0}), "Current nothing"),
        ("", seen(AVAILABLE, **DEP | {"updatedReplicas": 0}), "InProgress updatedReplicas is 0 of 1"),
        ("", seen(AVAILABLE, **DEP | {"replicas": 2}), "InProgress replicas is 2, but 1 are wanted"),
        ("", seen(AVAILABLE, **DEP | {"availableReplicas": 0}), "InProgress availableReplicas is 0 of 1"),
        ("", seen(AVAILABLE, **DEP | {"readyReplicas": 0}), "InProgress readyReplicas is 0 of 1"),
    ],
    "apps/v1 ReplicaSet": [
        ("NoStatus", seen(), "InProgress fullyLabeledReplicas is 0 of 1"),
        ("OK1", seen("ReplicaFailure=False", spec=FOUR, **RS), "Current nothing"),
        ("OK2", seen(spec=FOUR, **RS), "Current nothing"),
        ("LessReady", seen(spec=FOUR, **RS | {"readyReplicas": 2}), "InProgress readyReplicas is 2 of 4"),
        ("LessAvailable", seen(spec=FOUR, **RS | {"availableReplicas": 2}), "InProgress availableReplicas"),
        ("ReplicaFailure", seen("ReplicaFailure=True", spec=FOUR, **RS), "InProgress ReplicaFailure is True"),
        ("", seen(spec=FOUR, **RS | {"replicas": 5}), "InProgress replicas is 5, but 4 are wanted"),
    ],
    "policy/v1beta1 PodDisruptionBudget": [("Observed", seen(observedGeneration=1), "Current nothing")],
    "batch/v1 Job": [
        ("NoStatus", seen(), "InProgress not started"),
        ("Complete", seen("Complete=True", succeeded=1, active=0), "Current Complete is True"),
        ("Failed", seen("Failed=True/JobFailed", spec={"completions": 4}, failed=1), "Failed (JobFailed)"),
        ("InProgress", seen("Failed=False", "Complete=False", startTime=STARTED), "Current nothing"),
        ("Suspended", seen("Suspended=True", spec=SUSPENDED), "Current Suspended is True"),
        ("PreviouslySuspended", seen("Suspended=False", spec=RESUMED), "InProgress not started"),
        ("SuspendedTransition, to", seen("Suspended=False", spec=SUSPENDED), "InProgress not started"),
        ("SuspendedTransition, from", seen("Suspended=True", spec=RESUMED), "InProgress not started"),
    ],
    "batch/v1 CronJob": [
        ("NoStatus", seen(), "Current nothing"),
        ("WithStatus", seen() | {"status": None}, "Current nothing"),
    ],
    "v1 Service": [
        ("Default", seen(), "Current nothing"),
        ("NodePort", seen(spec={"type": "NodePort"}), "Current nothing"),
        ("LBok", seen(spec=LB | {"clusterIP": "1.2.3.4"}), "Current nothing"),
        ("LBnok", seen(spec=LB), "InProgress LoadBalancer without a clusterIP"),
    ],
    "apiextensions.k8s.io/v1 CustomResourceDefinition": [
        ("NoConditions", seen(), "InProgress Established is not True"),
        ("Installing", seen("NamesAccepted=True", "Established=False/Installing"), "InProgress Established"),
        ("NamesNotAccepted", seen("NamesAccepted=False/SomeReason"), "Failed (SomeReason)"),
        ("Established", seen("NamesAccepted=True", "Established=True"), "Current Established is True"),
        ("", seen("Established=False/NotAccepted"), "Failed (NotAccepted)"),
    ],
}


def document(what: str, generation: int | None, status: dict[str, Any] | None) -> dict[str, Any]:
    """An object as JSON."""
    version, _, kind = what.partition(" ")
    metadata = {"name": "test"} | ({} if generation is None else {"generation": generation})
    return {"apiVersion": version, "kind": kind, "metadata": metadata} | (
        {} if status is None else {"status": status}
    )


@pytest.mark.parametrize(("what", "generation", "status", "expected"), [case[1:] for case in THEIRS])
def test_its_own_cases(what: str, generation: int, status: dict[str, Any] | None, expected: State) -> None:
    """Each has the state that kstatus' tests expect, and a deletion comes before all of them."""
    obj = document(what, generation, status)
    assert kstatus(obj).state == expected
    obj["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert kstatus(obj).state == "Terminating"


@pytest.mark.parametrize(("generation", "status", "expected"), [case[1:] for case in OURS])
def test_what_its_rules_say(generation: int | None, status: dict[str, Any], expected: State) -> None:
    """The order of its rules and of the conditions."""
    assert kstatus(document(CUSTOM, generation, status)).state == expected


@pytest.mark.parametrize(
    ("what", "parts", "expected"),
    [(what, *case[1:]) for what, cases in BUILT_IN.items() for case in cases],
)
def test_the_rules_of_a_built_in_kind(what: str, parts: dict[str, Any], expected: str) -> None:
    """Its state, and what says so."""
    state, _, words = expected.partition(" ")
    found = kstatus(document(what, 1, None) | parts)
    assert found.state == state
    assert words in found.why


def test_a_daemon_set_without_a_generation_was_not_observed() -> None:
    """Of any other kind it would not count."""
    obj = document("apps/v1 DaemonSet", None, DS)
    assert str(kstatus(obj)) == "InProgress, as no generation was observed"


def test_a_pod_has_15_seconds_to_be_scheduled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only then nothing but a change of the pod or of the nodes will help."""
    obj = document("v1 Pod", 1, None) | seen(UNSCHEDULABLE, phase="Pending")
    obj["metadata"]["creationTimestamp"] = "1970-01-01T00:01:00Z"
    monkeypatch.setattr(time, "time", lambda: 74.9)
    assert_kstatus(obj, "InProgress")
    monkeypatch.setattr(time, "time", lambda: 75.0)
    assert_kstatus(obj, "Failed")


def test_a_pod_in_a_phase_that_it_does_not_know_is_refused() -> None:
    """As there."""
    with pytest.raises(ValueError, match="does not know the phase Lost of a Pod"):
        kstatus(document("v1 Pod", 1, {"phase": "Lost"}))


def test_a_typed_object_of_a_built_in_kind_has_its_rules() -> None:
    """By the fields that it has on the wire."""
    service = Service(metadata=ObjectMeta(name="a"), spec=ServiceSpec(type="LoadBalancer"))
    assert_kstatus(service, "InProgress")


class Status(APIStruct):
    """What a controller says."""

    observed_generation: int = 0
    conditions: Conditions = ()


class Thing(Kind, group="example.org", version="v1"):
    """A typed object."""

    status: Status = Status()


def test_an_object_may_be_typed_and_the_assertion_shows_why() -> None:
    """One in a status of which nothing was set, one that failed, and one whose fields nobody knows."""
    new = Thing(metadata=ObjectMeta(name="a", generation=1))
    assert_kstatus(new, "InProgress")
    failed = Condition(type="Stalled", status="True", reason="TerminalError", message="no such image")
    stuck = Thing(metadata=new.metadata, status=Status(observed_generation=1, conditions=(failed,)))
    words = r"is Failed, as Stalled is True \(TerminalError\) \(no such image\); expected Current: Thing\("
    with pytest.raises(AssertionError, match=words):
        assert_kstatus(stuck)
    raw = json.dumps(document(CUSTOM, 2, {"observedGeneration": 1})).encode()
    assert_kstatus(Unstructured.of("example.org/v1", "Thing").from_json(raw), "InProgress")
