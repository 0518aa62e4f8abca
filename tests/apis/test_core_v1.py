"""Events and pod templates."""

from __future__ import annotations

import msgspec

from apis.core_v1 import Event, EventSource, ObjectReference
from apis.meta import ObjectMeta, decode_hook


def test_an_event_survives_the_wire() -> None:
    """What is written is what is read back, with the server's field names."""
    event = Event(
        metadata=ObjectMeta(name="foo.1", namespace="default"),
        involved_object=ObjectReference(api_version="v1", kind="Pod", name="a", uid="u", field_path="spec"),
        reason="Synced",
        message="done",
        type="Normal",
        source=EventSource(component="sample-controller", host="here"),
        first_timestamp="2026-01-01T00:00:00Z",
        last_timestamp="2026-01-01T00:00:01Z",
        count=2,
        reporting_component="sample-controller",
    )
    body = msgspec.json.encode(event)
    sent = msgspec.json.decode(body)
    assert sent["involvedObject"] == {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": "a",
        "uid": "u",
        "fieldPath": "spec",
    }
    assert (sent["kind"], sent["apiVersion"], sent["count"]) == ("Event", "v1", 2)
    assert (sent["firstTimestamp"], sent["reportingComponent"]) == (
        "2026-01-01T00:00:00Z",
        "sample-controller",
    )
    assert msgspec.json.decode(body, type=Event, dec_hook=decode_hook) == event


def test_timestamps_of_the_newer_api_are_null() -> None:
    """Events made through events.k8s.io have no first and last timestamp here."""
    sent = b'{"metadata": {"name": "a"}, "firstTimestamp": null, "lastTimestamp": null, "reason": "x"}'
    event = msgspec.json.decode(sent, type=Event, dec_hook=decode_hook)
    assert event.first_timestamp is None
    assert event.reason == "x"
