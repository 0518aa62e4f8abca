from __future__ import annotations

import json
from pathlib import Path

from handloop.sandbox.event_expiry import TTL_SECONDS, EventExpiry
from handloop.sandbox.fixture import running_sandbox
from handloop.sandbox.requests.conversion import EVENTS
from handloop.sandbox.requests.request import Request
from handloop.sandbox.storage.stored import Change, ChangeType, Stored
from support.api_server import APIServer, Endpoint
from support.local_server import LocalServer

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


def test_an_event_goes_an_hour_after_it_was_written() -> None:
    """Not before; events of both groups do."""
    server = LocalServer()
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


def test_every_write_gives_an_event_another_hour() -> None:
    """Also one under the name of an event that has been deleted."""
    server = LocalServer()
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


def test_the_hour_begins_with_the_write() -> None:
    """Even if the clock is moved on before anything else happens."""
    server = LocalServer()
    body = json.dumps({"metadata": {"name": "a"}, "involvedObject": _ABOUT, "reason": "R"}).encode()
    server.engine.handle(Request("POST", _CORE, body=body))
    _pass(server, TTL_SECONDS)
    assert _names(server) == []


def test_watches_see_an_event_go() -> None:
    """As DELETED, with a version of its own."""
    server = LocalServer()
    _created(server, "a")
    watcher = server.watch(f"{_CORE}?watch=1")
    (added,) = server.events(watcher)
    _pass(server, TTL_SECONDS)
    (deleted,) = server.events(watcher)
    versions = [int(event["object"]["metadata"]["resourceVersion"]) for event in (added, deleted)]
    assert (deleted["type"], deleted["object"]["metadata"]["name"]) == ("DELETED", "a")
    assert versions[0] < versions[1]


def test_the_engine_wakes_when_the_next_one_is_due() -> None:
    """And not at all without events."""
    server = LocalServer()
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
        server = APIServer(Endpoint(sandbox.server.url, sandbox.server.token), real=False)
        server.eventually(f"{_CORE}/e", lambda answer: answer.status == 404)


def test_an_event_has_one_lease() -> None:
    """However often it is written; none when it has gone."""
    expiry = EventExpiry()
    changes = [_change(ChangeType.ADDED, 101), *(_change(ChangeType.MODIFIED, rv) for rv in range(102, 200))]
    expiry.committed(changes, 0.0)
    assert len(expiry._leases) == 1
    expiry.committed([_change(ChangeType.DELETED, 200)], 1.0)
    assert not expiry._leases
