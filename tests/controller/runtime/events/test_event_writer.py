from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from handloop.apis.core_v1 import Event
from handloop.client.errors import ConnectionBroken, ConnectionRefused, DecodeError
from handloop.controller.runtime.events.broadcaster import EventWriter
from handloop.controller.runtime.events.correlator import CorrelatorOptions, EventCorrelator
from handloop.controller.runtime.events.delivery import SinkStatistics
from handloop.workqueue.seams import Seams
from support.api_errors import api_error
from support.captured_logs import captured_logs
from support.event_builders import new_event
from support.fake_clock import FakeClock
from support.fake_event_sink import FakeEventSink


class _Rig:
    """A writer on a sink whose calls fail as told."""

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
    """EV-13. A refusal or an unsendable event is given up at once, anything else after 12 tries."""
    rig = _Rig(lambda _call: error)
    rig.write()
    assert len(rig.sink.calls) == attempts
    assert rig.writer.delivery.statistics() == SinkStatistics(abandoned=1)


def test_one_failure_costs_one_more_try() -> None:
    """EV-13. Fails once, then succeeds: two attempts. Follows TestWriteEventError."""
    rig = _Rig(lambda call: ConnectionRefused("refused") if call == 0 else None)
    rig.write()
    assert len(rig.sink.calls) == 2
    assert rig.writer.delivery.statistics() == SinkStatistics(written=1)


def test_the_first_sleep_is_random_and_the_others_ten_seconds() -> None:
    """12 tries are 11 sleeps: a random part of 10 s, then 10 s each."""
    rig = _Rig(lambda _call: ConnectionRefused("refused"))
    rig.write()
    assert rig.clock.slept == [2.5] + [10.0] * 10


def test_an_expired_event_is_created_anew() -> None:
    """EV-14. Patch answers 404: created under its name with its count and no resource version."""
    rig = _Rig(lambda call: api_error(404, "NotFound") if call == 1 else None)
    rig.write()
    rig.write()
    first, patch, second = rig.sink.calls
    assert (first.patch, patch.patch is None, second.patch) == (None, False, None)
    assert patch.name == second.name == first.name
    assert second.event is not None
    assert second.event.count == 2
    assert second.event.metadata.resource_version == ""
    assert rig.writer.delivery.statistics().written == 2


def test_the_third_time_patches_what_was_created_anew() -> None:
    """EV-14. After the re-creation the next occurrence is a patch again, with the next count."""
    rig = _Rig(lambda call: api_error(404, "NotFound") if call == 1 else None)
    for _ in range(3):
        rig.write()
    assert rig.sink.calls[-1].patch is not None
    assert rig.sink.calls[-1].patch["count"] == 3


def test_a_404_on_create_is_a_refusal() -> None:
    """A namespace that is gone answers 404 to a create: given up."""
    rig = _Rig(lambda _call: api_error(404, "NotFound"))
    rig.write()
    assert len(rig.sink.calls) == 1


def test_after_shutdown_there_is_one_try_and_no_sleep() -> None:
    """EV-15. With stop set exactly one attempt is made. Follows TestWriteEventError (cancelled)."""
    rig = _Rig(lambda _call: ConnectionRefused("refused"))
    rig.stop.set()
    with captured_logs() as logs:
        rig.write()
    assert len(rig.sink.calls) == 1
    assert rig.clock.slept == []
    assert logs[-1]["event"] == "Unable to write event (broadcaster is shut down)"
    assert rig.writer.delivery.statistics() == SinkStatistics(abandoned=1)


def test_skipped_events_are_not_written() -> None:
    """What the spam filter holds back makes no request."""
    rig = _Rig(options=CorrelatorOptions(burst=1))
    rig.write()
    rig.write()
    assert len(rig.sink.calls) == 1
    assert rig.writer.delivery.statistics() == SinkStatistics(written=1, skipped=1)


def test_the_last_try_says_so() -> None:
    """After twelve tries the log says that the limit is reached."""
    rig = _Rig(lambda _call: ConnectionRefused("refused"))
    with captured_logs() as logs:
        rig.write()
    assert [entry["event"] for entry in logs] == [
        *["Unable to write event (may retry after sleeping)"] * 12,
        "Unable to write event (retry limit exceeded!)",
    ]


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (api_error(403, "Forbidden"), "error"),
        (api_error(403, "Forbidden", cause="NamespaceTerminating"), "debug"),
        (api_error(409, "AlreadyExists"), "debug"),
    ],
    ids=["forbidden", "namespace-terminating", "already-exists"],
)
def test_refusals_that_are_nobodys_fault_are_quiet(error: Exception, level: str) -> None:
    """An event that exists already, or a namespace on its way out, is logged at level 5 only."""
    rig = _Rig(lambda _call: error)
    with captured_logs() as logs:
        rig.write()
    (entry,) = logs
    assert (entry["event"], entry["log_level"]) == ("Server rejected event (will not retry!)", level)
    assert entry.get("v") == (5 if level == "debug" else None)
