"""What a recorder does with a report."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

import pytest

from handloop.apis.core_v1 import Event, EventSource, ObjectReference
from handloop.client.decoding.pages import Undecodable
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.events.recorder import (
    PublishingRecorder,
    event_name,
    reference_to,
    reference_to_kind,
    reference_to_undecodable,
)
from handloop.testing.fake_clock import FakeClock
from support.builders.foo_builders import new_foo
from support.checks.captured_logs import captured_logs
from support.doubles.unspeakable import UNSPEAKABLE


def _reported(
    obj: object,
    *,
    event_type: str = "Normal",
    message: str = "ok",
    annotations: Mapping[str, str] | None = None,
    times: int = 1,
    missed: str = "",
) -> list[Event]:
    """The published events when something is reported that often."""
    made: list[Event] = []

    def publish(event: Event) -> str:
        made.append(event)
        return missed

    recorder = PublishingRecorder(publish, EventSource(component="foos"), clock=FakeClock())
    for _ in range(times):
        recorder.event(obj, event_type, "Synced", message, annotations=annotations)
    return made


def test_an_event_lives_with_its_object_or_in_default() -> None:
    """The namespace is the object's; a cluster-scoped object's events are in default."""
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
    """A type other than Normal and Warning is logged, and no event is made."""
    with captured_logs() as logs:
        assert _reported(new_foo(), event_type="Error") == []
    assert [(entry["event"], entry["eventType"]) for entry in logs] == [("Unsupported event type", "Error")]


def test_an_object_that_cannot_be_referred_to_is_dropped() -> None:
    """Without a kind there is no event; the log has its text."""
    with captured_logs() as logs:
        assert _reported(None) == []
    (entry,) = logs
    assert entry["event"] == "Could not construct reference, will not report event"
    assert (entry["reason"], entry["message"]) == ("Synced", "ok")


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


# -- the reference


_FOO_REFERENCE = ObjectReference(
    api_version="samplecontroller.k8s.io/v1alpha1",
    kind="Foo",
    namespace="default",
    name="example-foo",
    uid="uid-of-default-example-foo",
    resource_version="1",
)


@pytest.mark.parametrize(
    ("message", "kept"),
    [(ValueError("bad"), "bad"), (None, "None"), (UNSPEAKABLE[1], "<UnspeakableExit, whose str raised")],
)
def test_a_message_that_is_no_text_is_put_in_words(message: Any, kept: str) -> None:
    """An author who passes an error itself must not lose it to another one."""
    (made,) = _reported(new_foo(), message=message)
    assert made.message.startswith(kept)
    assert _reported(message, message=message) == []


def test_a_reference_names_kind_place_and_uid() -> None:
    """Everything that `kubectl describe` selects events by is in the reference."""
    assert reference_to(new_foo()) == reference_to_kind(new_foo()) == _FOO_REFERENCE


def test_a_reference_is_its_own_reference() -> None:
    """An ObjectReference is used as it is, field path included."""
    reference = ObjectReference(kind="Pod", name="web", field_path="spec.containers{web}")
    assert reference_to(reference) is reference


@pytest.mark.parametrize("obj", [None, "default/example-foo", object(), {"kind": "Foo"}])
def test_other_things_have_no_reference(obj: object) -> None:
    """A value that is no object of ours cannot be referred to."""
    assert reference_to(obj) is None


def test_event_names_join_object_and_time() -> None:
    """`<object>.<hex of nanoseconds>`."""
    assert event_name("example-foo", 1_700_000_000_000_000_000) == "example-foo.17979cfe362a0000"


@pytest.mark.parametrize("name", ["2001:db8::1", "Upper", "a" * 253, "-dash", "under_score"])
def test_names_that_are_no_dns_names_become_uuids(name: str) -> None:
    """The event gets a UUID, the same for the same name and time."""
    assert str(uuid.UUID(event_name(name, 1))) == event_name(name, 1)
    assert event_name(name, 1) != event_name(name, 2)


def _undecodable(raw: bytes) -> Undecodable:
    return Undecodable("default", "example-foo", "1", raw, "Expected `int` <= 10 - at `$.spec.replicas`")


def test_an_undecodable_object_is_referred_to_by_key_and_uid() -> None:
    """The UID is read from the raw object: without it `kubectl describe` would not show the event."""
    raw = b'{"metadata":{"uid":"uid-of-default-example-foo","labels":{"a":1}},"spec":{"replicas":11}}'
    assert reference_to_undecodable(Foo.resource, _undecodable(raw)) == _FOO_REFERENCE


@pytest.mark.parametrize("raw", [b"", b'{"metadata":{"uid":"cut', b'{"metadata":[]}', b"\xff", b"{}"])
def test_an_undecodable_object_without_metadata_is_referred_to_by_key(raw: bytes) -> None:
    """Where not even the metadata can be read, the UID is left out."""
    reference = reference_to_undecodable(Foo.resource, _undecodable(raw))
    assert (reference.namespace, reference.name, reference.uid) == ("default", "example-foo", "")
