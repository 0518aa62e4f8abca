from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from apis.apps_v1 import Deployment
from informers.keys import DeletedFinalStateUnknown
from informers.mutation_detector import (
    PERIOD_SECONDS,
    RETAIN_SECONDS,
    CacheMutated,
    MutationDetector,
    encoded_state,
    is_mutation_detection_on,
)
from support.captured_logs import captured_logs
from support.deployments import deployment
from support.fake_clock import FakeClock
from support.threads import Background


def test_a_changed_object_is_reported_within_a_second() -> None:
    """STO-22: the callback gets the message at the next comparison. Follows TestMutationDetector."""
    clock = FakeClock()
    messages: list[str] = []
    stop = threading.Event()

    def report(message: str) -> None:
        messages.append(message)
        stop.set()

    detector: MutationDetector[dict[str, Any]] = MutationDetector("me", on_mutation=report, clock=clock)
    obj = {"metadata": {"labels": {"check": "foo"}}}
    detector.add_object(obj)
    running = Background(lambda: detector.run(stop))
    clock.wait_for_waiters(1)
    obj["metadata"]["labels"]["check"] = "bar"
    clock.advance(PERIOD_SECONDS)
    running.result()
    assert messages == ["cache me modified"]


def test_unchanged_objects_are_not_reported() -> None:
    """STO-22: comparing changes nothing and finds nothing."""
    detector: MutationDetector[Any] = MutationDetector("me", clock=FakeClock())
    detector.add_object({"a": [1, {"b": 2}]})
    detector.add_object(deployment("a", labels={"x": "y"}))
    detector.compare_objects()
    detector.compare_objects()


def test_by_default_a_change_raises() -> None:
    """Whoever runs the detector learns of it; the log says what kind of object it was."""
    detector: MutationDetector[dict[str, int]] = MutationDetector("me", clock=FakeClock())
    obj = {"a": 1}
    detector.add_object(obj)
    obj["a"] = 2
    with captured_logs() as entries, pytest.raises(CacheMutated, match=r"^cache me modified$"):
        detector.compare_objects()
    assert [(entry["event"], entry["type"]) for entry in entries] == [("Cached object was changed", "dict")]


def test_run_compares_once_when_it_is_to_stop() -> None:
    """A detector that is stopped at once has looked all the same."""
    reports: list[str] = []
    detector: MutationDetector[dict[str, int]] = MutationDetector(
        "me", on_mutation=reports.append, clock=FakeClock()
    )
    obj = {"a": 1}
    detector.add_object(obj)
    obj["a"] = 2
    stop = threading.Event()
    stop.set()
    with captured_logs():
        detector.run(stop)
    assert reports == ["cache me modified"]


def test_tombstones_are_ignored() -> None:
    """What they hold is no longer in the cache."""
    detector: MutationDetector[dict[str, int]] = MutationDetector("me", clock=FakeClock())
    obj = {"a": 1}
    detector.add_object(DeletedFinalStateUnknown("a", obj))
    obj["a"] = 2
    detector.compare_objects()


def test_objects_are_forgotten_after_two_rotations() -> None:
    """An object is watched for two to four minutes, then memory is given back."""
    clock = FakeClock()
    reports: list[str] = []
    detector: MutationDetector[dict[str, int]] = MutationDetector(
        "me", on_mutation=reports.append, clock=clock
    )
    obj = {"a": 1}
    detector.add_object(obj)
    obj["a"] = 2
    with captured_logs():
        for _ in range(4):
            clock.advance(RETAIN_SECONDS + 1)
            detector.compare_objects()
    assert len(reports) == 2


@pytest.mark.parametrize(
    ("value", "on"),
    [("1", True), ("t", True), ("TRUE", True), ("true", True), ("0", False), ("", False), ("yes", False)],
)
def test_the_environment_turns_detection_on(value: str, on: bool) -> None:
    """What Go takes for true."""
    assert is_mutation_detection_on({"KUBE_CACHE_MUTATION_DETECTOR": value}) is on
    assert not is_mutation_detection_on({})


class Slotted:
    __slots__ = ("labels",)

    def __init__(self, labels: list[str]) -> None:
        self.labels = labels


class Plain:
    def __init__(self, labels: list[str]) -> None:
        self.labels = labels


@pytest.mark.parametrize("kind", [Slotted, Plain])
def test_state_of_plain_classes(kind: type[Slotted | Plain]) -> None:
    """Attributes count, in slots or not."""
    obj = kind(["a"])
    before = encoded_state(obj)
    assert encoded_state(obj) == before
    obj.labels.append("b")
    assert encoded_state(obj) != before


def test_state_of_our_own_types_cannot_be_changed_unseen() -> None:
    """Even the ways around immutability show."""
    obj: Deployment = deployment("a", labels={"x": "y"})
    before = encoded_state(obj)
    dict.__setitem__(obj.metadata.labels, "x", "z")
    changed_label = encoded_state(obj)
    assert changed_label != before
    msgspec.structs.force_setattr(obj.metadata, "name", "b")
    assert encoded_state(obj) != changed_label
