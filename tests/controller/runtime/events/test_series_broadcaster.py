"""Recorders of events.k8s.io/v1, and the threads behind them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event
from handloop.controller.runtime.events.delivery import SinkStatistics
from handloop.controller.runtime.events.recorder import EventRecorder
from handloop.controller.runtime.events.series_broadcaster import (
    FINISH_SECONDS,
    REFRESH_SECONDS,
    SERIES_EVENTS_ACCESS,
    SeriesBroadcaster,
)
from handloop.controller.runtime.rbac.roles import roles
from handloop.workqueue.seams import Seams
from support.captured_logs import captured_logs
from support.deadline import until
from support.fake_clock import FakeClock
from support.fake_series_sink import FakeSeriesSink
from support.foo_builders import new_foo

_DEADLINE_SECONDS = 10.0
_ROUNDS = round(REFRESH_SECONDS / FINISH_SECONDS)


@contextmanager
def _broadcaster(clock: FakeClock | None = None) -> Iterator[SeriesBroadcaster]:
    broadcaster = SeriesBroadcaster(seams=Seams(clock=clock or FakeClock(), random=lambda: 0.5))
    try:
        yield broadcaster
    finally:
        assert broadcaster.shutdown(_DEADLINE_SECONDS)


def _counted(broadcaster: SeriesBroadcaster) -> SinkStatistics:
    """What became of the events for the sink."""
    assert broadcaster._writer is not None
    return broadcaster._writer.delivery.statistics()


def _wait_until_counted(broadcaster: SeriesBroadcaster, count: int) -> None:
    """Until so many events have come through, whatever became of them."""
    until(lambda: sum(_counted(broadcaster)) == count, f"{count} counted", seconds=_DEADLINE_SECONDS)


def test_an_event_says_who_what_and_when() -> None:
    """Controller and instance, the action, both objects, and the time in microseconds."""
    seen: list[Event] = []
    with _broadcaster() as broadcaster:
        broadcaster.start_event_watcher("test", seen.append)
        broadcaster.new_recorder("example.com/foos", host="node-1").event(
            new_foo(),
            "Normal",
            "Scaled",
            "scaled to 3",
            action="Scale",
            related=ObjectReference(kind="Deployment", name="d", namespace="default"),
            annotations={"a": "1"},
        )
    (event,) = seen
    assert event.metadata.name.startswith("example-foo.")
    assert (event.metadata.namespace, event.metadata.annotations) == ("default", {"a": "1"})
    assert event.event_time == "2023-11-14T22:13:20.000000Z"
    assert event.reporting_controller == "example.com/foos"
    assert event.reporting_instance == "example.com/foos-node-1"
    assert (event.type, event.reason, event.action, event.note) == (
        "Normal",
        "Scaled",
        "Scale",
        "scaled to 3",
    )
    assert event.regarding.uid == "uid-of-default-example-foo"
    assert event.related is not None
    assert event.related.name == "d"
    assert event.series is None


def test_a_recorder_takes_the_place_of_one_of_core_v1() -> None:
    """Without an action it is the reason; a related thing that is no object is left out."""
    seen: list[Event] = []
    with _broadcaster() as broadcaster:
        broadcaster.start_event_watcher("test", seen.append)
        recorder: EventRecorder = broadcaster.new_recorder("c")
        recorder.event(new_foo(), "Normal", "Synced", "ok")
    (event,) = seen
    assert (event.action, event.related) == ("Synced", None)
    assert event.reporting_instance == f"c-{socket.gethostname()}"


def test_two_equal_events_are_one_with_a_series() -> None:
    """
    EV-23. Reported twice, there is one event, with a series of 2.

    Follows TestEventSeriesWithEventSinkImplRace.
    """
    sink = FakeSeriesSink()
    with _broadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        recorder = broadcaster.new_recorder("test")
        recorder.event(ObjectReference(), "Normal", "reason", "", action="action")
        recorder.event(ObjectReference(), "Normal", "reason", "", action="action")
        sink.wait_for_calls(2)
    assert sink.verbs == ["create", "patch"]
    assert [event.series and event.series.count for event in sink.stored.values()] == [2]
    assert _counted(broadcaster) == SinkStatistics(written=2)


def test_a_series_is_kept_up_and_finished() -> None:
    """EV-24, EV-25. It is patched while it goes on, every half hour, and once after it has ended."""
    clock, sink = FakeClock(), FakeSeriesSink()
    with _broadcaster(clock) as broadcaster:
        broadcaster.start_recording_to_sink(sink)
        recorder = broadcaster.new_recorder("test")
        recorder.event(new_foo(), "Normal", "Synced", "ok")
        for round_ in range(_ROUNDS):
            recorder.event(new_foo(), "Normal", "Synced", "ok")
            _wait_until_counted(broadcaster, round_ + 2)
            clock.wait_for_deadline((round_ + 1) * FINISH_SECONDS)
            clock.advance(FINISH_SECONDS)
        clock.wait_for_deadline((_ROUNDS + 1) * FINISH_SECONDS)
        assert sink.verbs == ["create", "patch", "patch"]
        clock.advance(FINISH_SECONDS)
        clock.wait_for_deadline((_ROUNDS + 2) * FINISH_SECONDS)
    assert sink.verbs == ["create", "patch", "patch", "patch"]
    assert [event.series and event.series.count for event in sink.stored.values()] == [_ROUNDS + 1]


def test_a_second_sink_is_refused() -> None:
    """The first one goes on."""
    with _broadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(FakeSeriesSink())
        with pytest.raises(RuntimeError, match="broadcaster is already recording to a sink"):
            broadcaster.start_recording_to_sink(FakeSeriesSink())


def test_shutdown_ends_the_threads_and_recorders_only_log() -> None:
    """No thread is left, and an event after shutdown is logged and dropped."""
    with _broadcaster() as broadcaster:
        broadcaster.start_recording_to_sink(FakeSeriesSink())
        recorder = broadcaster.new_recorder("c")
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("events-")]
    with captured_logs() as logs:
        recorder.event(new_foo(), "Normal", "Synced", "late")
    assert [entry["err"] for entry in logs] == ["broadcaster is shut down"]
    assert _counted(broadcaster) == SinkStatistics()


def test_the_log_has_every_field() -> None:
    """The line names object, kind, type, reason, action and note."""
    with captured_logs() as logs, _broadcaster() as broadcaster:
        broadcaster.start_structured_logging(3)
        recorder = broadcaster.new_recorder("c")
        recorder.event(new_foo(), "Warning", "Taken", "it is taken", action="Create")
        recorder.event(ObjectReference(kind="Node", name="node-1"), "Normal", "Ready", "ok")
    foo, node = logs
    assert foo == {
        "event": "Event occurred",
        "log_level": "debug",
        "v": 3,
        "object": "default/example-foo",
        "kind": "Foo",
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "type": "Warning",
        "reason": "Taken",
        "action": "Create",
        "note": "it is taken",
    }
    assert node["object"] == "node-1"


def test_what_is_declared_is_what_is_asked_for() -> None:
    """Create and patch on events of events.k8s.io, and nothing of the core group's."""
    (role,) = roles([SERIES_EVENTS_ACCESS])
    assert role["rules"] == [
        {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}
    ]
