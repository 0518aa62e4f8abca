"""Writing series: as they begin, from time to time, and at their end."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from handloop.apis.events_v1 import Event, EventSeries
from handloop.client.errors import ConnectionRefused
from handloop.controller.runtime.events.delivery import SinkStatistics
from handloop.controller.runtime.events.series_broadcaster import SeriesCache, SeriesWriter, series_patch
from handloop.workqueue.seams import Seams
from support.api_errors import api_error
from support.captured_logs import captured_logs
from support.fake_clock import FakeClock
from support.fake_series_sink import FakeSeriesSink, SeriesCall
from support.series_builders import new_series_event

_NINE_MINUTES = 540.0


class _Rig:
    """A writer on a sink whose calls fail as told."""

    def __init__(self, outcome: Callable[[int], Exception | None] = lambda _call: None) -> None:
        self.clock = FakeClock(moves_itself=True)
        self.sink = FakeSeriesSink(outcome)
        self.cache = SeriesCache(clock=self.clock)
        self.writer = SeriesWriter(
            self.sink, self.cache, threading.Event(), seams=Seams(clock=self.clock, random=lambda: 0.25)
        )

    def write(self, *events: Event) -> None:
        for event in events or [new_series_event()]:
            self.writer.write(event)

    @property
    def stored(self) -> list[Event]:
        return list(self.sink.stored.values())


def test_an_event_is_created_and_its_series_patched() -> None:
    """EV-22. One object, whose series counts 2; a patch of it alone. Follows TestRecordEventToSink."""
    rig = _Rig()
    rig.write(new_series_event(name="first"), new_series_event(name="second"), new_series_event(name="third"))
    series = {"count": 2, "lastObservedTime": "2023-11-14T22:13:20.000000Z"}
    assert rig.sink.calls == [
        SeriesCall("create", "first", None),
        SeriesCall("patch", "first", {"series": series}),
    ]
    assert [event.series and event.series.count for event in rig.stored] == [2]
    assert rig.writer.delivery.statistics() == SinkStatistics(written=2, skipped=1)


def test_a_series_that_is_written_alone_is_created() -> None:
    """EV-22. The first event never got through: the patch finds nothing, and the series is created."""
    rig = _Rig(lambda call: ConnectionRefused("refused") if call < 12 else None)
    with captured_logs():
        rig.write()
    rig.write()
    assert rig.sink.verbs[12:] == ["patch", "create"]
    assert [event.series and event.series.count for event in rig.stored] == [2]


def test_a_series_that_is_written_first_stays() -> None:
    """EV-22. A first event that comes after its series is refused: one object, series 2."""
    rig = _Rig()
    rig.cache.observe(new_series_event())
    rig.write()
    late = SeriesWriter(
        rig.sink, SeriesCache(clock=rig.clock), threading.Event(), seams=Seams(clock=rig.clock)
    )
    with captured_logs() as logs:
        late.write(new_series_event())
    assert rig.sink.verbs == ["patch", "create", "create"]
    assert [event.series and event.series.count for event in rig.stored] == [2]
    assert [(entry["event"], entry["v"]) for entry in logs] == [
        ("Server rejected event (will not retry!)", 5)
    ]


def test_finish_writes_the_last_count_and_forgets() -> None:
    """
    EV-24. A series last seen 9 minutes ago is patched once and removed; a fresh event stays, unwritten.

    Follows TestFinishSeries.
    """
    rig = _Rig()
    rig.write(*[new_series_event()] * 10)
    rig.clock.advance(_NINE_MINUTES)
    rig.write(new_series_event(name="fresh", controller="other"))
    before = len(rig.sink.calls)
    rig.writer.finish()
    (call,) = rig.sink.calls[before:]
    assert (call.verb, call.patch) == (
        "patch",
        {"series": {"count": 10, "lastObservedTime": "2023-11-14T22:13:20.000000Z"}},
    )
    assert len(rig.cache) == 1
    rig.writer.finish()
    assert len(rig.sink.calls) == before + 1


def test_finish_forgets_events_that_stayed_alone() -> None:
    """EV-24. Nothing is written for them."""
    rig = _Rig()
    rig.write()
    rig.clock.advance(_NINE_MINUTES)
    rig.writer.finish()
    assert rig.sink.verbs == ["create"]
    assert len(rig.cache) == 0


@pytest.mark.parametrize(
    ("error", "left"),
    [(ConnectionRefused("refused"), 1), (api_error(403, "Forbidden"), 0)],
    ids=["not-reached", "refused"],
)
def test_finish_keeps_what_may_get_through_later(error: Exception, left: int) -> None:
    """EV-24. An end that did not reach the server is written the next time; a refused one never."""
    rig = _Rig(lambda call: error if call == 2 else None)
    rig.write(new_series_event(), new_series_event())
    rig.clock.advance(_NINE_MINUTES)
    with captured_logs():
        rig.writer.finish()
    assert len(rig.cache) == left
    rig.writer.finish()
    assert len(rig.cache) == 0
    assert len(rig.sink.calls) == 3 + left


@pytest.mark.parametrize(
    "error", [None, TypeError("cannot encode"), ConnectionRefused("refused")], ids=["ok", "bad", "refused"]
)
def test_refresh_patches_each_series_once(error: Exception | None) -> None:
    """
    EV-25. One patch per series, and the cache stays, also on error.

    Follows TestRefreshExistingEventSeries.
    """
    rig = _Rig(lambda call: error if call == 3 else None)
    rig.write(new_series_event(), new_series_event(), new_series_event(name="single", action="single"))
    rig.clock.advance(_NINE_MINUTES)
    with captured_logs():
        rig.writer.refresh()
    assert rig.sink.verbs == ["create", "patch", "create", "patch"]
    assert len(rig.cache) == 2
    assert [event.series and event.series.count for event in rig.cache.series()] == [2]


def test_an_expired_series_is_created_anew_by_the_refresh() -> None:
    """A server that has forgotten the event gets it back, with its count."""
    rig = _Rig()
    rig.write(*[new_series_event()] * 7)
    rig.sink.stored.clear()
    rig.writer.refresh()
    assert [event.series and event.series.count for event in rig.stored] == [7]


def test_what_is_no_series_has_no_patch() -> None:
    """None says: create it."""
    assert series_patch(new_series_event()) is None
    series = EventSeries(count=3, last_observed_time="2023-11-14T22:13:20.000000Z")
    assert series_patch(Event(series=series)) == {
        "series": {"count": 3, "lastObservedTime": "2023-11-14T22:13:20.000000Z"}
    }
