from __future__ import annotations

import random

from handloop.apis.time import format_micro_time, format_time
from handloop.sandbox.cluster.cluster_controller import View, Write
from handloop.sandbox.cluster.event_recorder import EVENTS, ComponentEventRecorder
from handloop.sandbox.storage.catalog import Catalog
from handloop.sandbox.storage.store import Store
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.storage.transaction import Transaction

_NOW = 1_700_000_000.25
_POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "n", "uid": "u", "resourceVersion": "7"},
}


class _Log:
    """Stores what the recorder writes."""

    def __init__(self, recorder: ComponentEventRecorder) -> None:
        self.store = Store()
        self._recorder = recorder

    def tell(self, message: str, *, now: float = _NOW, reason: str = "Why", about: Object = _POD) -> Write:
        view = View(self.store, Catalog([]), random.Random(1))
        write = self._recorder.event(
            view,
            about,
            kind="Normal",
            reason=reason,
            message=message,
            now=now,
            field_path="spec.containers{c}",
        )
        transaction = Transaction(self.store)
        assert write.object is not None
        transaction.put(EVENTS, write.object)
        self.store.commit(transaction.changes)
        return write

    def events(self) -> list[Object]:
        return self.store.list(EVENTS)


def test_event_has_the_shape_of_client_gos() -> None:
    """An event carries the object's reference, component, times, and a name with the nanoseconds."""
    write = _Log(ComponentEventRecorder("kubelet", host="node-1")).tell("text")
    assert write.verb == "create"
    assert write.object == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"p.{int(_NOW * 1e9):x}", "namespace": "n"},
        "involvedObject": {
            "kind": "Pod",
            "namespace": "n",
            "name": "p",
            "uid": "u",
            "apiVersion": "v1",
            "resourceVersion": "7",
            "fieldPath": "spec.containers{c}",
        },
        "reason": "Why",
        "message": "text",
        "type": "Normal",
        "source": {"component": "kubelet", "host": "node-1"},
        "count": 1,
        "firstTimestamp": format_time(_NOW),
        "lastTimestamp": format_time(_NOW),
        "eventTime": None,
        "reportingComponent": "kubelet",
        "reportingInstance": "node-1",
    }


def test_same_event_raises_the_count() -> None:
    """An event told again is the same object with a higher count and a later lastTimestamp."""
    log = _Log(ComponentEventRecorder("kubelet"))
    log.tell("text")
    assert log.tell("text", now=_NOW + 60).verb == "update"
    (event,) = log.events()
    assert (event["count"], event["firstTimestamp"]) == (2, format_time(_NOW))
    assert event["lastTimestamp"] == format_time(_NOW + 60)


def test_deleted_event_is_made_anew() -> None:
    """When the first event has gone, the next one starts from 1."""
    log = _Log(ComponentEventRecorder("kubelet"))
    log.tell("text")
    log.store = Store()
    assert log.tell("text", now=_NOW + 60).verb == "create"
    assert log.events()[0]["count"] == 1


def test_events_of_one_instant_have_different_names() -> None:
    """Two events at the same time do not collide."""
    log = _Log(ComponentEventRecorder("kubelet"))
    log.tell("one")
    log.tell("two")
    assert len(log.events()) == 2


def test_many_similar_events_are_combined() -> None:
    """From the tenth different text of one reason on, events share one. Follows TestEventCorrelator."""
    log = _Log(ComponentEventRecorder("kubelet"))
    for index in range(15):
        log.tell(f"text {index}")
    log.tell("other reason", reason="Other")
    messages = [event["message"] for event in log.events()]
    assert len(messages) == 11
    combined = [event for event in log.events() if event["message"].startswith("(combined")]
    assert [(event["message"], event["count"]) for event in combined] == [
        ("(combined from similar events): text 14", 6)
    ]
    assert combined[0]["reportingComponent"] == ""
    assert combined[0]["source"] == {"component": "kubelet"}


def test_combining_ends_after_ten_quiet_minutes() -> None:
    """Texts are told apart again when there was none for ten minutes."""
    log = _Log(ComponentEventRecorder("kubelet"))
    for index in range(12):
        log.tell(f"text {index}")
    log.tell("late", now=_NOW + 601)
    assert "late" in [event["message"] for event in log.events()]


def test_new_style_counts_in_a_series() -> None:
    """The scheduler's events have eventTime and an instance; repetition is a series."""
    log = _Log(ComponentEventRecorder("default-scheduler", host="h", action="Binding"))
    first = log.tell("text").object
    assert first is not None
    assert first["eventTime"] == format_micro_time(_NOW)
    assert (first["action"], first["reportingInstance"]) == ("Binding", "default-scheduler-h")
    assert (first["source"], first["firstTimestamp"], first["lastTimestamp"]) == ({}, None, None)
    assert "count" not in first
    log.tell("text", now=_NOW + 1)
    log.tell("text", now=_NOW + 2)
    assert log.events()[0]["series"] == {"count": 3, "lastObservedTime": format_micro_time(_NOW + 2)}


def test_events_about_cluster_wide_objects_go_to_default() -> None:
    """An object without a namespace has its events in the namespace default."""
    node: Object = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n1", "uid": "x"}}
    write = _Log(ComponentEventRecorder("kubelet")).tell("text", about=node)
    assert write.namespace == "default"
    assert write.object is not None
    assert "namespace" not in write.object["involvedObject"]
