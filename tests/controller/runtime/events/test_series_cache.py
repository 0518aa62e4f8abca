"""Counting what repeats."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event, EventSeries
from handloop.controller.runtime.events.series_broadcaster import FINISH_SECONDS, SeriesCache, series_key
from support.fake_clock import FakeClock
from support.series_builders import new_series_event


def test_one_event_is_no_series() -> None:
    """EV-22. What is seen once is written as it is."""
    cache = SeriesCache(clock=FakeClock())
    event = new_series_event()
    assert cache.observe(event) == event
    assert event.series is None
    assert cache.series() == []


def test_the_second_makes_a_series_of_the_first() -> None:
    """EV-22. Twice is the first event, with a count of 2 and the time. Follows TestEventSeriesf."""
    clock = FakeClock()
    cache = SeriesCache(clock=clock)
    cache.observe(new_series_event(name="first", note="first"))
    clock.advance(1.5)
    written = cache.observe(new_series_event(name="second", note="second"))
    series = EventSeries(count=2, last_observed_time="2023-11-14T22:13:21.500000Z")
    assert written == replace(new_series_event(name="first", note="first"), series=series)


def test_from_the_third_on_they_are_only_counted() -> None:
    """EV-22. The count and the time grow, and nothing is to be written."""
    clock = FakeClock()
    cache = SeriesCache(clock=clock)
    cache.observe(new_series_event())
    cache.observe(new_series_event())
    clock.advance(60)
    assert [cache.observe(new_series_event()) for _ in range(3)] == [None] * 3
    (event,) = cache.series()
    assert event.series == EventSeries(count=5, last_observed_time="2023-11-14T22:14:20.000000Z")


@pytest.mark.parametrize(
    "change",
    [
        {"action": "stopped"},
        {"reason": "Other"},
        {"type": "Warning"},
        {"reporting_controller": "other"},
        {"reporting_instance": "other"},
        {"regarding": ObjectReference(kind="Pod", name="other")},
        {"related": ObjectReference(kind="Node", name="node-1")},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_differs_in_anything_but_note_and_time_is_another_event(change: dict[str, object]) -> None:
    """EV-22. Another action, reason, type, reporter or object is a new event. Follows TestEventSeriesf."""
    cache = SeriesCache(clock=FakeClock())
    other: Event = replace(new_series_event(), **change)
    cache.observe(new_series_event())
    assert cache.observe(other) == other
    assert len(cache) == 2


def test_note_name_and_time_are_no_part_of_the_key() -> None:
    """EV-22. Two that differ in these only are the same event."""
    event = new_series_event()
    other = replace(new_series_event(name="other", note="other"), event_time="2024-01-01T00:00:00.000000Z")
    assert series_key(event) == series_key(other)


def test_what_was_silent_for_six_minutes_has_ended() -> None:
    """EV-24. Not what was seen exactly six minutes ago, or since."""
    clock = FakeClock()
    cache = SeriesCache(clock=clock)
    cache.observe(new_series_event(action="silent"))
    cache.observe(new_series_event(action="again"))
    clock.advance(1)
    cache.observe(new_series_event(action="again"))
    clock.advance(FINISH_SECONDS - 1)
    assert cache.ended() == []
    clock.advance(0.5)
    assert [ended.event.action for ended in cache.ended()] == ["silent"]


def test_what_is_seen_again_is_not_forgotten() -> None:
    """A series that comes back to life while its end is being written goes on counting."""
    clock = FakeClock()
    cache = SeriesCache(clock=clock)
    cache.observe(new_series_event())
    clock.advance(FINISH_SECONDS + 1)
    (ended,) = cache.ended()
    cache.observe(new_series_event())
    cache.forget(ended)
    assert len(cache) == 1
    clock.advance(FINISH_SECONDS + 1)
    (ended,) = cache.ended()
    cache.forget(ended)
    cache.forget(ended)
    assert len(cache) == 0


def test_the_cache_is_bounded() -> None:
    """The event that was not seen for longest makes room."""
    cache = SeriesCache(size=2, clock=FakeClock())
    for action in ("a", "b", "a", "c"):
        cache.observe(new_series_event(action=action))
    assert cache.observe(new_series_event(action="a")) is None
    assert cache.observe(new_series_event(action="b")) == new_series_event(action="b")
