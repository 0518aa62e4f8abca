"""The decision of kstatus, by the cases of its own tests and by those of its rules that these leave out."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handloop.apis.conditions import Condition, Conditions
from handloop.apis.meta import APIStruct, Kind, ObjectMeta
from handloop.apis.unstructured import Unstructured
from handloop.testing.kstatus import State, assert_kstatus, kstatus

CUSTOM = "example.org/v1 Thing"
ALL_OK = {"type": "Ready", "status": "True", "reason": "AllOk", "message": "All looks ok"}
NOT_YET = {"type": "Ready", "status": "False", "reason": "NotReadyYet"}
OTHER = {"type": "SomeCondition", "status": "False"}
MOVING = {"type": "Reconciling", "status": "True", "reason": "Moving"}
STUCK = {"type": "Stalled", "status": "True", "message": "no such image"}

# of its status_compute_test.go, the cases that the rules for all kinds decide; a custom group has a dot here
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


def test_a_built_in_kind_that_has_its_own_rules_is_refused() -> None:
    """No answer is better than that for a custom kind."""
    with pytest.raises(ValueError, match="kstatus has rules for a Deployment"):
        kstatus(document("apps/v1 Deployment", 1, {"observedGeneration": 1}))


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
    words = r"it is Failed, as Stalled is True \(TerminalError\) \(no such image\), and not Current: Thing\("
    with pytest.raises(AssertionError, match=words):
        assert_kstatus(stuck)
    raw = json.dumps(document(CUSTOM, 2, {"observedGeneration": 1})).encode()
    assert_kstatus(Unstructured.of("example.org/v1", "Thing").from_json(raw), "InProgress")
