"""
The v1 Events of the simulated components, and the expiry of all Events after an hour.

When a component records an Event again, the count of the existing Event increases. From the tenth different
message about an object for the same reason, further messages are combined into one Event.
Follows: client-go tools/record/events_cache.go; kube-apiserver --event-ttl. Differs: there is no spam filter;
a new-style Event is counted in `series` from its second occurrence.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Final, NamedTuple

from handloop_sandbox.cluster.cluster_controller import Step, View, Write
from handloop_sandbox.grammar.times import format_micro_time, format_time
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource
from handloop_sandbox.wire.status import Status

EVENTS = GroupResource("", "events")

_MAX_SIMILAR = 10
_SIMILAR_SECONDS = 600.0
_CACHE_SIZE = 4096
_COMBINED = "(combined from similar events): "


class _Topic(NamedTuple):
    uid: str
    type: str
    reason: str
    field_path: str


class _Similar:
    __slots__ = ("last_at", "messages")

    def __init__(self) -> None:
        self.messages: set[str] = set()
        self.last_at = 0.0


class ComponentEventRecorder:
    """
    Records Events for one component. host is the node of a component that runs on a node.

    If action is set, Events have the style of events.k8s.io, which the scheduler uses: they have an eventTime
    and a reportingInstance, but no count.
    State: _similar and _names are LRU caches of the same size as client-go's.
    """

    def __init__(self, component: str, *, host: str = "", action: str = "") -> None:
        self._component = component
        self._host = host
        self._action = action
        self._similar: OrderedDict[_Topic, _Similar] = OrderedDict()
        self._names: OrderedDict[tuple[_Topic, str], str] = OrderedDict()
        self._last_nanos = 0

    def event(
        self,
        view: View,
        about: Object,
        *,
        kind: str,
        reason: str,
        message: str,
        now: float,
        field_path: str = "",
        host: str = "",
    ) -> Write:
        """Return the write that records an Event about an object. kind is `Normal` or `Warning`."""
        topic = _Topic(about["metadata"]["uid"], kind, reason, field_path)
        message, key = self._aggregate(topic, message, now)
        namespace = about["metadata"].get("namespace") or "default"
        known = view.state.get(EVENTS, namespace, self._names.get(key, ""))
        if known is not None:
            return Write.of("update", EVENTS, self._again(known, message, now))
        fresh = self._fresh(about, topic, message, now, host or self._host)
        _remember(self._names, key, fresh["metadata"]["name"])
        return Write(verb="create", group_resource=EVENTS, namespace=namespace, object=fresh)

    def _aggregate(self, topic: _Topic, message: str, now: float) -> tuple[str, tuple[_Topic, str]]:
        similar = self._similar.get(topic)
        if similar is None or now - similar.last_at > _SIMILAR_SECONDS:
            similar = _Similar()
        _remember(self._similar, topic, similar)
        similar.last_at = now
        similar.messages.add(message)
        if len(similar.messages) < _MAX_SIMILAR:
            return message, (topic, message)
        similar.messages.discard(message)
        return _COMBINED + message, (topic, _COMBINED)

    def _fresh(self, about: Object, topic: _Topic, message: str, now: float, host: str) -> Object:
        metadata = about["metadata"]
        namespace = metadata.get("namespace") or "default"
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"{metadata['name']}.{self._nanos(now):x}", "namespace": namespace},
            "involvedObject": _reference(about, topic.field_path),
            "reason": topic.reason,
            "message": message,
            "type": topic.type,
            **(self._new_style(now, host) if self._action else self._old_style(message, now, host)),
        }

    def _old_style(self, message: str, now: float, host: str) -> dict[str, Any]:
        source = {"component": self._component}
        combined = message.startswith(_COMBINED)  # client-go recreates such an Event without its reporter
        return {
            "source": {**source, "host": host} if host else source,
            "count": 1,
            "firstTimestamp": format_time(now),
            "lastTimestamp": format_time(now),
            "eventTime": None,
            "reportingComponent": "" if combined else self._component,
            "reportingInstance": "" if combined else host,
        }

    def _new_style(self, now: float, host: str) -> dict[str, Any]:
        return {
            "source": {},
            "action": self._action,
            "firstTimestamp": None,
            "lastTimestamp": None,
            "eventTime": format_micro_time(now),
            "reportingComponent": self._component,
            "reportingInstance": f"{self._component}-{host}",
        }

    def _again(self, known: Object, message: str, now: float) -> Object:
        if not self._action:
            count = int(known.get("count") or 1) + 1
            return {**known, "message": message, "count": count, "lastTimestamp": format_time(now)}
        count = int((known.get("series") or {}).get("count") or 1) + 1
        series = {"count": count, "lastObservedTime": format_micro_time(now)}
        return {**known, "message": message, "series": series}

    def _nanos(self, now: float) -> int:
        self._last_nanos = max(int(now * 1e9), self._last_nanos + 1)  # names must differ
        return self._last_nanos


def _reference(about: Object, field_path: str) -> dict[str, Any]:
    metadata = about["metadata"]
    reference = {
        "kind": about["kind"],
        "namespace": metadata.get("namespace", ""),
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": about["apiVersion"],
        "resourceVersion": metadata.get("resourceVersion", ""),
        "fieldPath": field_path,
    }
    return {field: value for field, value in reference.items() if value}


def _remember(cache: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    cache[key] = value
    cache.move_to_end(key)
    if len(cache) > _CACHE_SIZE:
        cache.popitem(last=False)


TTL_SECONDS: Final = 3600.0


class EventExpiry:
    """
    Deletes Events an hour after their last write. In a cluster, etcd does so when a lease expires.

    Watches receive the deletions.
    State: _leases holds, by namespace and name, the time at which each Event expires, earliest first.
    """

    name = "kube-apiserver"
    interests: frozenset[GroupResource] | None = frozenset({EVENTS})

    def __init__(self) -> None:
        self._leases: dict[tuple[str, str], float] = {}

    def committed(self, changes: Sequence[Change], now: float) -> None:
        """Start the lease of each Event at the time of the write, because the next step may be later."""
        for change in changes:
            if change.group_resource == EVENTS:
                self._leases.pop((change.namespace, change.name), None)
                if change.type is not ChangeType.DELETED:
                    self._leases[change.namespace, change.name] = now + TTL_SECONDS

    def step(self, view: View, changes: Sequence[Change], now: float) -> Step:
        """Delete the Events whose leases have expired."""
        del changes  # committed() has already handled them
        due = [event for event, _ in takewhile(lambda lease: lease[1] <= now, self._leases.items())]
        for event in due:
            del self._leases[event]
        writes = [_end(view, *event) for event in due]
        return Step(writes, next(iter(self._leases.values()), None))

    def refused(self, write: Write, status: Status, now: float) -> None:
        """Do nothing: the Event has been written again, which has renewed its lease."""


def _end(view: View, namespace: str, name: str) -> Write:
    event = view.state.get(EVENTS, namespace, name)
    assert event is not None  # committed() removes the lease of a deleted Event
    metadata = event["metadata"]
    return Write(
        verb="delete",
        group_resource=EVENTS,
        namespace=namespace,
        name=name,
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
