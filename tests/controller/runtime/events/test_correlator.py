from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.apis.core_v1 import Event
from handloop.apis.grammar.times import format_time
from handloop.controller.runtime.events.correlator import (
    AGGREGATE_PREFIX,
    Correlation,
    CorrelatorOptions,
    EventAggregator,
    EventCorrelator,
    EventSourceObjectSpamFilter,
    aggregate_key,
)
from handloop.testing.fake_clock import FakeClock
from support.doubles.event_sink import new_event


class _Stream:
    """Events that pass one correlator, each a given time after the one before."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.correlator = EventCorrelator(clock=self.clock)

    def send(self, event: Event, *, after_seconds: float = 0.0, store: bool = True) -> Correlation:
        self.clock.advance(after_seconds)
        at = format_time(self.clock.time())
        event = msgspec.structs.replace(event, first_timestamp=at, last_timestamp=at)
        correlation = self.correlator.correlate(event)
        if store and not correlation.skip:
            self.correlator.update_state(correlation.event)
        return correlation


def test_events_group_by_reason_and_differ_by_message() -> None:
    """Another message: same group; other reason: another. Follows TestEventAggregatorByReasonFunc."""
    group1, local1 = aggregate_key(new_event(message="end-of-world"))
    group2, local2 = aggregate_key(new_event(message="it was fun"))
    group3, _ = aggregate_key(new_event(reason="other", message="end-of-world"))
    assert group1 == group2
    assert local1 != local2
    assert group1 != group3


def test_the_second_identical_event_patches_the_first() -> None:
    """Name, first time and version are the first one's. Follows TestEventCorrelator."""
    stream = _Stream()
    first = stream.send(new_event()).event
    stored = msgspec.structs.replace(
        first, metadata=msgspec.structs.replace(first.metadata, resource_version="7")
    )
    stream.correlator.update_state(stored)
    second = msgspec.structs.replace(new_event(), metadata=msgspec.structs.replace(first.metadata, name="x"))
    correlation = stream.send(second, after_seconds=30)
    assert correlation.event.count == 2
    assert correlation.event.metadata == stored.metadata
    assert correlation.event.first_timestamp == first.first_timestamp
    assert correlation.patch == {
        "count": 2,
        "lastTimestamp": format_time(stream.clock.time()),
        "message": "message",
    }


def test_identical_events_count_and_never_aggregate() -> None:
    """The eleventh has count 11 under its own message. Follows TestEventCorrelator."""
    stream = _Stream()
    for _ in range(10):
        stream.send(new_event(), after_seconds=30)
    event = stream.send(new_event(), after_seconds=30).event
    assert (event.count, event.message) == (11, "message")


def test_what_the_spam_filter_skips_is_still_counted() -> None:
    """After the trickle lets one through again, its count has all that were skipped."""
    stream = _Stream()
    for _ in range(30):
        stream.send(new_event())
    correlation = stream.send(new_event(), after_seconds=300)
    assert (correlation.skip, correlation.event.count) == (False, 31)


@pytest.mark.parametrize("part", ["name", "uid", "namespace", "kind", "api_version", "component", "host"])
def test_events_about_different_objects_have_nothing_in_common(part: str) -> None:
    """
    30 unique events and one more: count 1, not skipped. Follows TestEventCorrelator.

    Each part of an object's identity keeps two objects apart by itself, and so does each part of the source.
    """
    stream = _Stream()
    for number in range(30):
        event = _about(part, f"{part}-{number}")
        stream.send(event)
        stream.send(msgspec.structs.replace(event, message=f"message {number}"))
    event = _about(part, "another")
    correlation = stream.send(event)
    assert (correlation.event.count, correlation.skip) == (1, False)
    correlation = stream.send(msgspec.structs.replace(event, message="its own"))
    assert (correlation.event.message, correlation.skip) == ("its own", False)


def _about(part: str, value: str) -> Event:
    """An event that differs from all others in one part of who reports about whom."""
    event = new_event()
    whole = "source" if part in ("component", "host") else "involved_object"
    return msgspec.structs.replace(
        event, **{whole: msgspec.structs.replace(getattr(event, whole), **{part: value})}
    )


def test_the_tenth_distinct_message_becomes_an_aggregate() -> None:
    """It is created, with count 1; the next one patches it. Follows TestEventCorrelator."""
    stream = _Stream()
    for number in range(9):
        stream.send(new_event(message=f"message {number}"))
    correlation = stream.send(new_event(message="message 9"), after_seconds=1)
    aggregate = correlation.event
    assert aggregate.message == AGGREGATE_PREFIX + "message 9"
    assert (aggregate.count, correlation.patch) == (1, None)
    assert aggregate.reporting_component == "component"
    assert aggregate.first_timestamp == format_time(stream.clock.time())
    assert aggregate.metadata.name.startswith("my-object.")
    correlation = stream.send(new_event(message="message 10"), after_seconds=1)
    assert (correlation.event.count, correlation.event.metadata.name) == (2, aggregate.metadata.name)
    assert correlation.patch is not None
    assert correlation.patch["message"] == AGGREGATE_PREFIX + "message 10"


def test_events_about_different_containers_do_not_merge() -> None:
    """Another field path is another event. Follows TestEventCorrelator."""
    stream = _Stream()
    stream.send(new_event(field_path="spec.containers{one}"))
    assert stream.send(new_event(field_path="spec.containers{two}")).event.count == 1


@pytest.mark.parametrize(("gap_seconds", "aggregated"), [(600.0, True), (600.5, False)])
def test_a_silent_group_starts_anew(gap_seconds: float, aggregated: bool) -> None:
    """After more than 600 s, strictly, the group is forgotten. Follows TestEventCorrelator."""
    stream = _Stream()
    for number in range(9):
        stream.send(new_event(message=f"message {number}"))
    event = stream.send(new_event(message="late"), after_seconds=gap_seconds).event
    assert event.message.startswith(AGGREGATE_PREFIX) is aggregated
    assert event.count == 1


def test_the_window_rolls_with_the_last_event() -> None:
    """Nine messages 500 s apart are one group: the window counts from the last event, not the first."""
    stream = _Stream()
    for number in range(9):
        stream.send(new_event(message=f"message {number}"), after_seconds=500)
    event = stream.send(new_event(message="message 9"), after_seconds=500).event
    assert event.message.startswith(AGGREGATE_PREFIX)


def test_a_full_group_forgets_its_oldest_message() -> None:
    """The newest nine are known: one of them again is no further message, an older one is."""
    aggregator = EventAggregator(clock=FakeClock())
    for number in range(12):
        aggregator.aggregate(new_event(message=f"message {number}"))
    group, _ = aggregate_key(new_event())
    keys = [aggregator.aggregate(new_event(message=f"message {number}"))[1] for number in (3, 11, 2)]
    assert [key == group for key in keys] == [False, False, True]


@pytest.mark.parametrize(
    ("options", "second", "skipped"),
    [
        (CorrelatorOptions(burst=1), new_event(reason="other"), True),
        (CorrelatorOptions(burst=1), new_event(message="other"), True),
        (CorrelatorOptions(burst=1), new_event(event_type="Warning"), False),
        (CorrelatorOptions(burst=1), new_event(object_name="other"), False),
    ],
    ids=["other-reason", "other-message", "other-type", "other-object"],
)
def test_the_spam_key_decides_who_shares_a_burst(
    options: CorrelatorOptions, second: Event, skipped: bool
) -> None:
    """With burst 1, what shares the first event's key is skipped. Follows TestEventSpamFilter."""
    spam_filter = EventSourceObjectSpamFilter(options, clock=FakeClock())
    assert not spam_filter.filter(new_event())
    assert spam_filter.filter(second) is skipped


def test_the_filter_refills_one_token_in_five_minutes() -> None:
    """After the burst, one event passes per 300 s."""
    clock = FakeClock()
    spam_filter = EventSourceObjectSpamFilter(clock=clock)
    assert [spam_filter.filter(new_event()) for _ in range(26)] == [False] * 25 + [True]
    clock.advance(299)
    assert spam_filter.filter(new_event())
    clock.advance(1)
    assert not spam_filter.filter(new_event())
    assert spam_filter.filter(new_event())


def test_a_full_cache_forgets_the_oldest_key() -> None:
    """With room for one key an event that comes back after another one is new again."""
    correlator = EventCorrelator(CorrelatorOptions(cache_size=1), clock=FakeClock())
    correlator.correlate(new_event())
    correlator.correlate(new_event(object_name="other"))
    assert correlator.correlate(new_event()).event.count == 1


_events = st.lists(
    st.builds(
        new_event,
        reason=st.sampled_from(["A", "B"]),
        message=st.sampled_from([f"message {number}" for number in range(14)]),
        object_name=st.sampled_from(["one", "two"]),
    ),
    max_size=60,
)


@given(_events)
def test_patches_always_belong_to_an_event_created_before(events: list[Event]) -> None:
    """A create carries count 1; a patch carries count 2 or more and the name of an event that was created."""
    stream = _Stream()
    created: set[str] = set()
    for event in events:
        correlation = stream.send(event, after_seconds=400)
        name = correlation.event.metadata.name
        if correlation.patch is None:
            assert correlation.event.count == 1
            created.add(name)
        else:
            assert correlation.patch["count"] == correlation.event.count >= 2
            assert name in created
