"""The delivery of one event, and its repetitions."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from handloop.apis.core_v1 import Event
from handloop.client.errors import ConnectionBroken, ConnectionRefused, DecodeError
from handloop.controller.runtime.events.broadcaster import EventWriter
from handloop.controller.runtime.events.correlator import CorrelatorOptions, EventCorrelator
from handloop.controller.runtime.events.delivery import (
    EventFanout,
    EventWatcher,
    SinkStatistics,
)
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.checks.api_errors import api_error
from support.checks.captured_logs import captured_logs
from support.checks.threads import Gate
from support.doubles.event_sink import FakeEventSink, new_event

_DEADLINE_SECONDS = 20.0


def _event(number: int) -> Event:
    return new_event(message=str(number))


def _watcher(handle: Callable[[Event], None], *, length: int = 1000) -> EventWatcher[Event]:
    return EventWatcher("test", handle, length=length, seams=Seams(clock=FakeClock()))


class _Handler:
    """Notes the messages of events, once its gate is open."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.handled: list[str] = []

    def __call__(self, event: Event) -> None:
        self.gate()
        self.handled.append(event.message)


def test_a_full_queue_refuses_without_waiting() -> None:
    """One event is in hand and two fit in the queue: the fourth is refused at once."""
    handler = _Handler()
    watcher = _watcher(handler, length=2)
    assert watcher.offer(_event(0))
    handler.gate.wait_entered()
    assert [watcher.offer(_event(number)) for number in (1, 2, 3)] == [True, True, False]
    assert len(watcher) == 2
    handler.gate.open()
    watcher.close()
    assert watcher.join(_DEADLINE_SECONDS)
    assert handler.handled == ["0", "1", "2"]


def test_a_closed_watcher_hands_over_what_it_has_and_takes_no_more() -> None:
    """Closing refuses new events, not queued ones."""
    handler = _Handler()
    watcher = _watcher(handler)
    watcher.offer(_event(0))
    watcher.offer(_event(1))
    watcher.close()
    assert not watcher.offer(_event(2))
    handler.gate.open()
    assert watcher.join(_DEADLINE_SECONDS)
    assert handler.handled == ["0", "1"]


def test_discard_leaves_only_the_event_in_hand() -> None:
    """After discard the thread ends with the event it is busy with."""
    handler = _Handler()
    watcher = _watcher(handler)
    watcher.offer(_event(0))
    handler.gate.wait_entered()
    watcher.offer(_event(1))
    watcher.close()
    assert not watcher.join(0.0)
    watcher.discard()
    assert len(watcher) == 0
    handler.gate.open()
    assert watcher.join(_DEADLINE_SECONDS)
    assert handler.handled == ["0"]


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(3)], ids=repr)
def test_a_handler_that_raises_gets_the_next_event(error: BaseException) -> None:
    """An exception is logged and costs its event only, an exit too."""
    handled: list[str] = []

    def handle(event: Event) -> None:
        handled.append(event.message)
        raise error

    with captured_logs() as logs:
        watcher = _watcher(handle)
        watcher.offer(_event(0))
        watcher.offer(_event(1))
        watcher.close()
        assert watcher.join(_DEADLINE_SECONDS)
    assert handled == ["0", "1"]
    assert [entry["event"] for entry in logs] == ["Event watcher failed"] * 2


# -- the writer


class _WriterRig:
    """A writer on a sink whose calls fail on command."""

    def __init__(
        self,
        outcome: Callable[[int], Exception | None] = lambda _call: None,
        options: CorrelatorOptions = CorrelatorOptions(),  # noqa: B008 - immutable
    ) -> None:
        self.clock = FakeClock(moves_itself=True)
        self.sink = FakeEventSink(outcome)
        self.stop = threading.Event()
        correlator = EventCorrelator(options, clock=self.clock)
        self.writer = EventWriter(
            self.sink, correlator, self.stop, seams=Seams(clock=self.clock, random=lambda: 0.25)
        )

    def write(self, event: Event | None = None) -> None:
        self.writer.write(event or new_event())


@pytest.mark.parametrize(
    ("error", "attempts"),
    [
        (TypeError("cannot encode"), 1),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), 1),
        (api_error(403, "Forbidden"), 1),
        (api_error(404, "NotFound"), 1),
        (api_error(409, "AlreadyExists"), 1),
        (api_error(429, "TooManyRequests"), 1),
        (api_error(500, "InternalError"), 1),
        (api_error(503, "ServiceUnavailable"), 1),
        (DecodeError("not an event"), 12),
        (ConnectionRefused("connection refused"), 12),
        (ConnectionBroken("reset", outcome_unknown=True), 12),
        (RuntimeError("who knows"), 12),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_only_what_may_get_through_later_is_retried(error: Exception, attempts: int) -> None:
    """A refusal or an unsendable event is given up at once, anything else after 12 tries."""
    rig = _WriterRig(lambda _call: error)
    rig.write()
    assert len(rig.sink.calls) == attempts
    assert rig.writer.delivery.statistics() == SinkStatistics(abandoned=1)


def test_the_first_sleep_is_random_and_the_others_ten_seconds() -> None:
    """12 tries are 11 sleeps: a random part of 10 s, then 10 s each; the log has each, and the limit."""
    rig = _WriterRig(lambda _call: ConnectionRefused("refused"))
    with captured_logs() as logs:
        rig.write()
    assert rig.clock.slept == [2.5] + [10.0] * 10
    assert [entry["event"] for entry in logs] == [
        *["Unable to write event (may retry after sleeping)"] * 12,
        "Unable to write event (retry limit exceeded!)",
    ]


def test_the_answer_is_handed_on() -> None:
    """The server's answer to a written event goes to the correlator."""
    rig = _WriterRig()
    rig.write()
    assert rig.writer._correlator.correlate(new_event()).event.metadata.resource_version == "1"


def test_an_event_that_appears_while_it_is_created_is_patched() -> None:
    """The patch finds nothing, the create finds it there: the next try patches it."""
    rig = _WriterRig({1: api_error(404, "NotFound", name="a"), 2: api_error(409, "AlreadyExists")}.get)
    rig.write()
    rig.write()
    created, first, again, second = rig.sink.calls
    assert (created.patch, again.patch) == (None, None)
    assert first.patch is not None
    assert second.patch == first.patch
    assert rig.writer.delivery.statistics() == SinkStatistics(written=2)


def test_an_expired_event_is_created_anew() -> None:
    """Patch answers 404: created under its name with its count and no resource version."""
    rig = _WriterRig(lambda call: api_error(404, "NotFound", name="a") if call == 1 else None)
    rig.write()
    rig.write()
    first, patch, second = rig.sink.calls
    assert (first.patch, patch.patch is None, second.patch) == (None, False, None)
    assert patch.name == second.name == first.name
    assert second.event is not None
    assert second.event.count == 2
    assert second.event.metadata.resource_version == ""
    assert rig.writer.delivery.statistics().written == 2


def test_after_shutdown_there_is_one_try_and_no_sleep() -> None:
    """With stop set exactly one attempt is made. Follows TestWriteEventError (cancelled)."""
    rig = _WriterRig(lambda _call: ConnectionRefused("refused"))
    rig.stop.set()
    with captured_logs() as logs:
        rig.write()
    assert len(rig.sink.calls) == 1
    assert rig.clock.slept == []
    assert logs[-1]["event"] == "Unable to write event (broadcaster is shut down)"
    assert rig.writer.delivery.statistics() == SinkStatistics(abandoned=1)


def test_skipped_events_are_not_written() -> None:
    """What the spam filter holds back makes no request."""
    rig = _WriterRig(options=CorrelatorOptions(burst=1))
    rig.write()
    rig.write()
    assert len(rig.sink.calls) == 1
    assert rig.writer.delivery.statistics() == SinkStatistics(written=1, skipped=1)


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (api_error(403, "Forbidden"), "error"),
        (api_error(403, "Forbidden", cause="NamespaceTerminating"), "debug"),
        (api_error(409, "AlreadyExists"), "debug"),
    ],
    ids=["forbidden", "namespace-terminating", "already-exists"],
)
def test_expected_refusals_are_quiet(error: Exception, level: str) -> None:
    """An event that exists already, or a namespace on its way out, is logged at level 5 only."""
    rig = _WriterRig(lambda _call: error)
    with captured_logs() as logs:
        rig.write()
    (entry,) = logs
    assert (entry["event"], entry["log_level"]) == ("Server rejected event (will not retry!)", level)
    assert entry.get("v") == (5 if level == "debug" else None)


# -- fan-out


def test_after_shutdown_nothing_is_taken() -> None:
    """The publisher gets an error; a watcher that starts then sees nothing and leaves no thread."""
    fanout: EventFanout[str] = EventFanout(seams=Seams(clock=FakeClock()))
    assert fanout.shutdown(_DEADLINE_SECONDS) == 0
    assert fanout.publish("late") == "broadcaster is shut down"
    seen: list[str] = []
    assert fanout.start_event_watcher("late", seen.append).join(_DEADLINE_SECONDS)
    assert seen == []
