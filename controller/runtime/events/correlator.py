"""
Merge repeated and similar Events, in three stages: aggregate, count, filter.

    aggregate   the 10th distinct message about the same thing within 600 s, and each later one, becomes
                "(combined from similar events): ..."
    count       a repeated Event increments the earlier one's count, with a patch instead of a new object
    filter      a token bucket per source, object and type: burst 25, then one per 5 minutes. It runs last,
                so skipped Events are still counted

Each stage remembers its last 4096 keys. Keys are tuples of strings.
Threads: these classes have no locks. Only the thread that writes to a sink uses its correlator.
Follows: client-go tools/record/events_cache.go, differs: an aggregate keeps the reporting controller; when a
set of messages is full, the oldest message is dropped, not an arbitrary one.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from cachetools import LRUCache
from msgspec.structs import replace

from handloop.apis.core_v1 import Event
from handloop.apis.grammar.times import format_time
from handloop.apis.meta import ObjectMeta
from handloop.controller.runtime.events.recorder import event_name
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.workqueue.rate_limiters import TokenBucket

AGGREGATE_PREFIX: Final = "(combined from similar events): "

EventKey = tuple[str, ...]


def _source_and_object(event: Event) -> EventKey:
    """Return an Event's source and object, without the field path."""
    involved = event.involved_object
    return (
        event.source.component,
        event.source.host,
        involved.kind,
        involved.namespace,
        involved.name,
        involved.uid,
        involved.api_version,
    )


def event_key(event: Event) -> EventKey:
    """Return an Event's key. Events that differ only in their time have the same key."""
    own = (event.involved_object.field_path, event.type, event.reason, event.message)
    return (*_source_and_object(event), *own)


def aggregate_key(event: Event) -> tuple[EventKey, str]:
    """Return the key of an Event's group, which does not depend on the message, and the Event's message."""
    own = (event.type, event.reason, event.reporting_component, event.reporting_instance)
    return (*_source_and_object(event), *own), event.message


def spam_key(event: Event) -> EventKey:
    """Return the key of an Event's token bucket: its source, object and type, without reason and message."""
    return (*_source_and_object(event), event.type)


class CorrelatorOptions(NamedTuple):
    """The limits of one correlator: client-go's defaults."""

    cache_size: int = 4096
    max_events: int = 10
    max_interval_seconds: float = 600.0
    burst: int = 25
    qps: float = 1 / 300


DEFAULT_OPTIONS: Final = CorrelatorOptions()


class _Group(NamedTuple):
    """
    The distinct messages of a group, oldest first.

    Between calls, a group has at most max_events - 1 messages. last_at is a value returned by Clock.now().
    """

    messages: dict[str, None]
    last_at: float


class EventAggregator:
    """Replaces many different messages about one object by one Event that combines them."""

    def __init__(self, options: CorrelatorOptions = DEFAULT_OPTIONS, *, clock: Clock = REAL_CLOCK) -> None:
        self._options = options
        self._clock = clock
        self._groups: LRUCache[EventKey, _Group] = LRUCache(options.cache_size)

    def aggregate(self, event: Event) -> tuple[Event, EventKey]:
        """
        Return the Event to write, and the key under which it is counted.

        If a group receives no Event for more than max_interval_seconds, its earlier messages no longer count.
        """
        group_key, message = aggregate_key(event)
        messages = self._messages(group_key)
        messages[message] = None
        self._groups[group_key] = _Group(messages, self._clock.now())
        if len(messages) < self._options.max_events:
            return event, event_key(event)
        del messages[next(iter(messages))]
        return self._combine(event), group_key

    def _messages(self, group_key: EventKey) -> dict[str, None]:
        group: _Group | None = self._groups.get(group_key)
        if group is None or self._clock.now() - group.last_at > self._options.max_interval_seconds:
            return {}
        return group.messages

    def _combine(self, event: Event) -> Event:
        unix = self._clock.time()
        at = format_time(unix)
        name = event_name(event.involved_object.name, int(unix * 1e9))
        return replace(
            event,
            metadata=ObjectMeta(name=name, namespace=event.metadata.namespace),
            message=AGGREGATE_PREFIX + event.message,
            first_timestamp=at,
            last_timestamp=at,
            count=1,
        )


class EventLogger:
    """
    Counts Events. A repeated Event gets the earlier one's name and becomes a patch of it.

    State: _seen, key -> the Event that was written, or is about to be written.
    """

    def __init__(self, options: CorrelatorOptions = DEFAULT_OPTIONS) -> None:
        self._seen: LRUCache[EventKey, Event] = LRUCache(options.cache_size)

    def observe(self, event: Event, key: EventKey) -> tuple[Event, dict[str, Any] | None]:
        """
        Count an Event.

        Returns: the Event to write, and the patch for an Event that is already stored, or None for a new one.
        """
        seen: Event | None = self._seen.get(key)
        patch: dict[str, Any] | None = None
        if seen is not None:
            event = _continue(event, seen)
            patch = {"count": event.count, "lastTimestamp": event.last_timestamp, "message": event.message}
        self._seen[key] = event
        return event, patch

    def update_state(self, written: Event) -> None:
        """Store the server's response, because the object may have a different name or count now."""
        self._seen[event_key(written)] = written


def _continue(event: Event, seen: Event) -> Event:
    before = seen.metadata
    metadata = replace(event.metadata, name=before.name, resource_version=before.resource_version)
    return replace(event, metadata=metadata, first_timestamp=seen.first_timestamp, count=seen.count + 1)


class EventSourceObjectSpamFilter:
    """Lets a burst of Events about an object pass, and after that only a few."""

    def __init__(self, options: CorrelatorOptions = DEFAULT_OPTIONS, *, clock: Clock = REAL_CLOCK) -> None:
        self._options = options
        self._clock = clock
        self._buckets: LRUCache[EventKey, TokenBucket] = LRUCache(options.cache_size)

    def filter(self, event: Event) -> bool:
        """Return whether to skip the Event."""
        key = spam_key(event)
        bucket: TokenBucket | None = self._buckets.get(key)
        if bucket is None:
            bucket = TokenBucket(self._options.qps, self._options.burst, clock=self._clock)
            self._buckets[key] = bucket
        return not bucket.try_accept()


class Correlation(NamedTuple):
    """
    What to do with an Event.

    If skip is set, the Event is not written. Otherwise it is patched, or created if patch is None.
    """

    event: Event
    patch: dict[str, Any] | None
    skip: bool


class EventCorrelator:
    """The three stages, in order."""

    def __init__(self, options: CorrelatorOptions = DEFAULT_OPTIONS, *, clock: Clock = REAL_CLOCK) -> None:
        self._aggregator = EventAggregator(options, clock=clock)
        self._logger = EventLogger(options)
        self._filter = EventSourceObjectSpamFilter(options, clock=clock)

    def correlate(self, event: Event) -> Correlation:
        """Decide what to do with an Event. The Event is counted even if it is skipped."""
        aggregate, key = self._aggregator.aggregate(event)
        observed, patch = self._logger.observe(aggregate, key)
        return Correlation(observed, patch, self._filter.filter(observed))

    def update_state(self, written: Event) -> None:
        """Remember the server's response to the write."""
        self._logger.update_state(written)
