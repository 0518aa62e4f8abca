"""What a recorder does with a report."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from handloop.apis.core_v1 import Event, EventSource, ObjectReference
from handloop.controller.runtime.events.recorder import PublishingRecorder
from support.captured_logs import captured_logs
from support.fake_clock import FakeClock
from support.foo_builders import new_foo


def _reported(
    obj: object,
    *,
    event_type: str = "Normal",
    message: str = "ok",
    annotations: Mapping[str, str] | None = None,
    times: int = 1,
    missed: str = "",
) -> list[Event]:
    """What is published when something is reported that often."""
    made: list[Event] = []

    def publish(event: Event) -> str:
        made.append(event)
        return missed

    recorder = PublishingRecorder(publish, EventSource(component="foos"), clock=FakeClock())
    for _ in range(times):
        recorder.event(obj, event_type, "Synced", message, annotations=annotations)
    return made


def _reference(name: str) -> ObjectReference:
    return ObjectReference(api_version="v1", kind="Pod", namespace="default", name=name, uid=f"uid-{name}")


def test_an_event_lives_with_its_object_or_in_default() -> None:
    """EV-17. The namespace is the object's; a cluster-scoped object's events are in default."""
    (team,) = _reported(new_foo(namespace="team"), annotations={"a": "1"})
    (node,) = _reported(ObjectReference(kind="Node", name="node-1"))
    assert [made.metadata.namespace for made in (team, node)] == ["team", "default"]
    assert team.metadata.annotations == {"a": "1"}
    assert team.metadata.name.startswith("example-foo.")
    assert team.involved_object.uid == new_foo(namespace="team").metadata.uid


def test_no_two_events_have_one_name() -> None:
    """Two events at the same instant about one object get different names."""
    assert len({made.metadata.name for made in _reported(new_foo(), times=3)}) == 3


def test_an_unknown_type_is_dropped() -> None:
    """EV-20. A type other than Normal and Warning is logged, and no event is made."""
    with captured_logs() as logs:
        assert _reported(new_foo(), event_type="Error") == []
    assert [(entry["event"], entry["eventType"]) for entry in logs] == [("Unsupported event type", "Error")]


def test_an_object_that_cannot_be_referred_to_is_dropped() -> None:
    """Without a kind there is no event; the log has what was to be said."""
    with captured_logs() as logs:
        assert _reported(None) == []
    (entry,) = logs
    assert entry["event"] == "Could not construct reference, will not report event"
    assert (entry["reason"], entry["message"]) == ("Synced", "ok")


def test_a_missed_event_is_logged() -> None:
    """Whoever publishes says why somebody missed it; the caller is not told."""
    with captured_logs() as logs:
        assert len(_reported(new_foo(), missed="too many")) == 1
    assert [(entry["event"], entry["err"]) for entry in logs] == [
        ("Unable to record event (will not retry!)", "too many")
    ]


@pytest.mark.parametrize("name", ["2001:db8::1", "x" * 253])
def test_an_object_with_an_impossible_name_still_gets_its_event(name: str) -> None:
    """EV-21. The event is made, under a UUID."""
    (made,) = _reported(_reference(name))
    assert made.involved_object.name == name
    assert len(made.metadata.name) == 36


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        ("x" * 1024, "x" * 1024),
        ("x" * 1025, "x" * 1021 + "..."),
        ("x" + "é" * 600, "x" + "é" * 510 + "..."),
        ("broken \ud800", "broken ?"),
    ],
    ids=["fits", "cut", "cut-between-characters", "lone-surrogate"],
)
def test_messages_end_after_1024_bytes(message: str, kept: str) -> None:
    """A long message is cut between characters; what UTF-8 cannot hold is replaced."""
    (made,) = _reported(new_foo(), message=message)
    assert made.message == kept
    assert len(made.message.encode()) <= 1024
