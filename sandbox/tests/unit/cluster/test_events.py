from __future__ import annotations

import json
import random
from pathlib import Path

from handloop.testing.running_sandbox import running_sandbox
from handloop_sandbox.cluster.cluster_controller import View, Write
from handloop_sandbox.cluster.events import EVENTS, TTL_SECONDS, ComponentEventRecorder, EventExpiry
from handloop_sandbox.grammar.times import format_micro_time, format_time
from handloop_sandbox.requests.request import Request
from handloop_sandbox.storage.catalog import Catalog
from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.stored import Change, ChangeType, Object, Stored
from handloop_sandbox.storage.transaction import Transaction
from support.servers.api_server import APIServer, Endpoint
from support.servers.local_server import LocalServer

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
    """A repeated event is the same object with a higher count and a later lastTimestamp."""
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
    """Texts count separately again when there was none for ten minutes."""
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


_CORE = "/api/v1/namespaces/default/events"
_NEW = "/apis/events.k8s.io/v1/namespaces/default/events"
_ABOUT = {"kind": "Pod", "namespace": "default", "name": "p"}


def _pass(server: LocalServer, seconds: float) -> None:
    server.clock.now += seconds
    server.engine.tick()


def _names(server: LocalServer) -> list[str]:
    return [item["metadata"]["name"] for item in server.request("GET", _CORE).body["items"]]


def _created(server: LocalServer, name: str) -> None:
    body = {"metadata": {"name": name}, "involvedObject": _ABOUT, "reason": "R"}
    assert server.request("POST", _CORE, body).status == 201


def _change(kind: ChangeType, rv: int) -> Change:
    stored = Stored({"metadata": {"namespace": "n", "name": "e"}}, rv)
    return Change(kind, EVENTS, new=stored, old=None if kind is ChangeType.ADDED else stored)


def test_an_event_goes_an_hour_after_it_was_written(server: LocalServer) -> None:
    """Not before; events of both groups do."""
    _created(server, "a")
    new = {
        "metadata": {"name": "b"},
        "regarding": _ABOUT,
        "reason": "R",
        "action": "A",
        "type": "Normal",
        "eventTime": "2023-11-14T22:13:20.000000Z",
        "reportingController": "example.com/c",
        "reportingInstance": "c-0",
    }
    assert server.request("POST", _NEW, new).status == 201
    _pass(server, TTL_SECONDS - 1)
    assert _names(server) == ["a", "b"]
    _pass(server, 1)
    assert _names(server) == []


def test_every_write_gives_an_event_another_hour(server: LocalServer) -> None:
    """Also one under the name of an event that has been deleted."""
    for name in ("changed", "again", "gone"):
        _created(server, name)
    _pass(server, 1800)
    kind = "application/merge-patch+json"
    assert server.request("PATCH", f"{_CORE}/changed", {"count": 2}, content_type=kind).status == 200
    assert server.request("DELETE", f"{_CORE}/again").status == 200
    _created(server, "again")
    _pass(server, 1800)
    assert _names(server) == ["again", "changed"]
    _pass(server, 1800)
    assert _names(server) == []


def test_the_hour_begins_with_the_write(server: LocalServer) -> None:
    """Even if the clock is moved on before anything else happens."""
    body = json.dumps({"metadata": {"name": "a"}, "involvedObject": _ABOUT, "reason": "R"}).encode()
    server.engine.handle(Request("POST", _CORE, body=body))
    _pass(server, TTL_SECONDS)
    assert _names(server) == []


def test_watches_see_an_event_go(server: LocalServer) -> None:
    """As DELETED, with a version of its own."""
    _created(server, "a")
    watcher = server.watch(f"{_CORE}?watch=1")
    (added,) = server.events(watcher)
    _pass(server, TTL_SECONDS)
    (deleted,) = server.events(watcher)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in (added, deleted)]
    assert (deleted["type"], deleted["object"]["metadata"]["name"]) == ("DELETED", "a")
    assert versions[0] < versions[1]


def test_the_engine_wakes_when_the_next_one_is_due(server: LocalServer) -> None:
    """And not at all without events."""
    assert server.engine.next_wake() is None
    _created(server, "a")
    assert server.engine.next_wake() == server.clock.now + TTL_SECONDS
    _pass(server, TTL_SECONDS)
    assert server.engine.next_wake() is None


def test_a_clock_that_is_moved_on(tmp_path: Path) -> None:
    """A sandbox whose clock a test moves on drops its events, too."""
    with running_sandbox(tmp_path) as sandbox:
        event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "reason": "R"}
        sandbox.apply({**event, "involvedObject": _ABOUT})
        sandbox.clock.advance(TTL_SECONDS)
        with APIServer(Endpoint(sandbox.server.url, sandbox.server.token), real=False) as server:
            server.eventually(f"{_CORE}/e", lambda answer: answer.status == 404)


def test_an_event_has_one_lease() -> None:
    """However often it is written; none when it has gone."""
    expiry = EventExpiry()
    changes = [_change(ChangeType.ADDED, 101), *(_change(ChangeType.MODIFIED, rv) for rv in range(102, 200))]
    expiry.committed(changes, 0.0)
    assert len(expiry._leases) == 1
    expiry.committed([_change(ChangeType.DELETED, 200)], 1.0)
    assert not expiry._leases
