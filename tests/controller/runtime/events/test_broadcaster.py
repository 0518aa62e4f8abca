from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from handloop.apis.core_v1 import Event, ObjectReference
from handloop.client.errors import ConnectionRefused
from handloop.controller.runtime.events.broadcaster import EventBroadcaster
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.builders.foo_builders import new_foo
from support.checks.captured_logs import captured_logs
from support.checks.threads import Gate
from support.doubles.event_sink import FakeEventSink, pod_reference

_DEADLINE_SECONDS = 30.0
_DROPPED = "Unable to record event (will not retry!)"


@contextmanager
def _broadcaster(*, queue_length: int = 1000) -> Iterator[EventBroadcaster]:
    broadcaster = EventBroadcaster(
        queue_length=queue_length, seams=Seams(clock=FakeClock(moves_itself=True), random=lambda: 0.5)
    )
    try:
        yield broadcaster
    finally:
        assert broadcaster.shutdown(_DEADLINE_SECONDS) == 0


def _recorded(report: Callable[[EventBroadcaster], None]) -> list[Event]:
    """The events that a watcher saw."""
    seen: list[Event] = []
    with _broadcaster() as broadcaster:
        broadcaster.start_event_watcher("test", seen.append)
        report(broadcaster)
    return seen


def test_a_thousand_events_survive_a_failing_sink() -> None:
    """Each of 1000 events fails four times: none is dropped, sink and watcher both get all."""
    names: list[str] = []
    sink = FakeEventSink(lambda call: ConnectionRefused("refused") if call % 5 < 4 else None)
    with _broadcaster() as broadcaster:
        broadcaster.start_event_watcher("names", lambda event: names.append(event.involved_object.name))
        broadcaster.start_recording_to_sink(sink)
        recorder = broadcaster.new_recorder("component")
        for number in range(1000):
            recorder.event(pod_reference(f"pod-{number}"), "Normal", "Started", "started")
        sink.wait_for_calls(5000)
    assert len(sink.stored) == 1000
    assert names == [f"pod-{number}" for number in range(1000)]
    assert len(sink.calls) == 5000


def test_an_event_has_who_what_and_when() -> None:
    """Component and host are copied, times are the recorder's, the object is referred to."""
    (event,) = _recorded(
        lambda broadcaster: broadcaster.new_recorder("sample-controller", host="node-1").event(
            new_foo(), "Normal", "Synced", "Foo synced successfully", annotations={"a": "1"}
        )
    )
    assert event.metadata.name.startswith("example-foo.")
    assert event.metadata.namespace == "default"
    assert event.metadata.annotations == {"a": "1"}
    assert event.involved_object.uid == "uid-of-default-example-foo"
    assert (event.type, event.reason, event.message) == ("Normal", "Synced", "Foo synced successfully")
    assert (event.source.component, event.source.host) == ("sample-controller", "node-1")
    assert (event.reporting_component, event.reporting_instance) == ("sample-controller", "node-1")
    assert event.first_timestamp == event.last_timestamp == "2023-11-14T22:13:20Z"
    assert event.count == 1


def test_two_sinks_count_for_themselves() -> None:
    """Each sink sees a create, then a patch."""
    sinks = FakeEventSink(), FakeEventSink()
    with _broadcaster() as broadcaster:
        for sink in sinks:
            broadcaster.start_recording_to_sink(sink)
        recorder = broadcaster.new_recorder("component")
        recorder.event(new_foo(), "Normal", "Synced", "ok")
        recorder.event(new_foo(), "Normal", "Synced", "ok")
    for sink in sinks:
        create, patch = sink.calls
        assert create.patch is None
        assert patch.patch is not None
        assert patch.patch["count"] == 2


def test_shutdown_tries_what_is_queued_once() -> None:
    """Events recorded just before the end are still written when the sink answers."""
    sink = FakeEventSink()
    with _broadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        recorder = broadcaster.new_recorder("component")
        for number in range(20):
            recorder.event(pod_reference(f"pod-{number}"), "Normal", "Started", "started")
    assert len(sink.stored) == 20


def test_shutdown_does_not_wait_for_a_sink_that_hangs() -> None:
    """After the timeout the Event in hand is left behind, those queued are dropped, and all are counted."""
    hang = Gate()
    broadcaster = EventBroadcaster(seams=Seams(clock=FakeClock(moves_itself=True)))
    watcher = broadcaster.start_event_watcher("hanging", hang)
    recorder = broadcaster.new_recorder("component")
    recorder.event(new_foo(), "Normal", "Synced", "in hand")
    hang.wait_entered()
    recorder.event(new_foo(), "Normal", "Synced", "queued")
    assert len(watcher) == 1
    assert broadcaster.shutdown(0.05) == 2
    assert len(watcher) == 0
    hang.open()
    assert broadcaster.shutdown(_DEADLINE_SECONDS) == 0


def test_a_full_queue_drops_with_a_log_and_without_waiting() -> None:
    """The event is lost to the watcher that is behind, and to it only."""
    hang, seen = Gate(), list[str]()
    with captured_logs() as logs, _broadcaster(queue_length=1) as broadcaster:
        broadcaster.start_event_watcher("slow", hang)
        recorder = broadcaster.new_recorder("component")
        recorder.event(new_foo(), "Normal", "Synced", "in hand")
        hang.wait_entered()
        recorder.event(new_foo(), "Normal", "Synced", "queued")
        broadcaster.start_event_watcher("quick", lambda event: seen.append(event.message))
        recorder.event(new_foo(), "Normal", "Synced", "dropped")
        hang.open()
    assert [(entry["event"], entry["err"]) for entry in logs] == [
        (_DROPPED, "too many queued events for slow")
    ]
    assert seen == ["dropped"]


@pytest.mark.parametrize(("verbosity", "level"), [(0, "info"), (4, "debug")])
def test_structured_logging_has_every_field(verbosity: int, level: str) -> None:
    """The log line names object, kind, type, reason and message, at the level asked for."""
    with captured_logs() as logs, _broadcaster() as broadcaster:
        broadcaster.start_structured_logging(verbosity)
        recorder = broadcaster.new_recorder("component")
        recorder.event(new_foo(), "Warning", "ErrResourceExists", "taken")
        recorder.event(ObjectReference(kind="Node", name="node-1"), "Normal", "Ready", "ok")
    foo, node = logs
    assert foo == {
        "event": "Event occurred",
        "log_level": level,
        "object": "default/example-foo",
        "fieldPath": "",
        "kind": "Foo",
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "type": "Warning",
        "reason": "ErrResourceExists",
        "message": "taken",
    } | ({"v": verbosity} if verbosity else {})
    assert node["object"] == "node-1"
