"""Events of events.k8s.io/v1."""

from __future__ import annotations

import msgspec

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event, EventSeries
from handloop.apis.meta import ObjectMeta, decode_hook


def test_an_event_survives_the_wire() -> None:
    """Every field, under the names of this group."""
    event = Event(
        metadata=ObjectMeta(name="e", namespace="default"),
        event_time="2026-01-01T00:00:00.000000Z",
        series=EventSeries(count=2, last_observed_time="2026-01-01T00:00:01.000000Z"),
        reporting_controller="example.com/c",
        reporting_instance="example.com/c-1",
        action="Make",
        reason="Made",
        regarding=ObjectReference(kind="Pod", name="p", namespace="default"),
        related=ObjectReference(kind="Node", name="n"),
        note="made it",
        type="Normal",
    )
    wire = msgspec.json.decode(msgspec.json.encode(event))
    assert (wire["apiVersion"], wire["kind"], wire["note"]) == ("events.k8s.io/v1", "Event", "made it")
    assert wire["series"] == {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"}
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event, dec_hook=decode_hook) == event


def test_an_old_event_is_one_without_a_series() -> None:
    """What was made as core/v1 has neither a time of its own nor a series here."""
    event = msgspec.json.decode(
        b'{"metadata": {"name": "e"}, "eventTime": null, "deprecatedCount": 3}',
        type=Event,
        dec_hook=decode_hook,
    )
    assert (event.event_time, event.series, event.related) == (None, None, None)
