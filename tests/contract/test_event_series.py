"""Our recorder of events.k8s.io/v1 on a server: what it writes is accepted, and seen by everybody else."""

from __future__ import annotations

import json
import threading
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from handloop.apis.core_v1 import ObjectReference
from handloop.apis.events_v1 import Event
from handloop.apis.meta import decode_hook
from handloop.client.errors import error_from_status
from handloop.client.errors.status import status_from_body
from handloop.client.resource_client import PatchType
from handloop.controller.runtime.events.recorder import SeriesRecorder
from handloop.controller.runtime.events.series_broadcaster import (
    FINISH_SECONDS,
    SeriesBroadcaster,
    SeriesCache,
    SeriesWriter,
)
from handloop.workqueue.seams import Seams
from support.api_server import STRATEGIC, Answer, APIServer
from support.fake_clock import FakeClock
from support.series_builders import new_series_event


class _ServerSink:
    """Implements EventSink with requests to the server under test."""

    def __init__(self, server: APIServer) -> None:
        self._server = server

    def create(self, obj: Event, *, namespace: str) -> Event:
        body = json.loads(msgspec.json.encode(obj))
        return _taken(self._server.create(Event.resource.path(namespace=namespace), body))

    def patch(self, name: str, patch: Any, *, namespace: str, patch_type: PatchType) -> Event:
        assert patch_type is PatchType.STRATEGIC
        path = Event.resource.path(namespace=namespace, name=name)
        return _taken(self._server.patch(path, patch, STRATEGIC))


def _taken(answer: Answer) -> Event:
    body = json.dumps(answer.body).encode()
    if answer.status >= 300:
        raise error_from_status(status_from_body(body, answer.status))
    return msgspec.json.decode(body, type=Event, dec_hook=decode_hook)


@pytest.fixture
def about(namespace: str) -> ObjectReference:
    """What the events are about; nobody looks whether it exists."""
    return ObjectReference(
        api_version="example.com/v1", kind="Widget", namespace=namespace, name="w", uid="u-1"
    )


def _report(server: APIServer, report: Any) -> None:
    """Let a recorder write to the server, and wait until it has."""
    broadcaster = SeriesBroadcaster()
    broadcaster.start_recording_to_sink(_ServerSink(server))
    recorder: SeriesRecorder = broadcaster.new_recorder("example.com/widgets", host="here")
    report(recorder)
    assert broadcaster.shutdown(20.0)


def test_a_series_is_one_event_in_both_groups(
    server: APIServer, namespace: str, about: ObjectReference
) -> None:
    """EV-23. Two equal reports are one event with a series of two, which core/v1 shows as well."""

    def report(recorder: SeriesRecorder) -> None:
        for note in ("first", "second"):
            recorder.event(about, "Normal", "Painted", note, action="Paint", related=about)

    _report(server, report)
    (event,) = server.get(Event.resource.path(namespace=namespace)).body["items"]
    assert (event["series"]["count"], event["note"], event["action"]) == (2, "first", "Paint")
    assert event["related"]["name"] == "w"
    (core,) = server.get(f"/api/v1/namespaces/{namespace}/events").body["items"]
    assert (core["involvedObject"]["name"], core["message"]) == ("w", "first")
    assert core["series"] == event["series"]
    assert (core["reportingComponent"], core["reportingInstance"]) == (
        "example.com/widgets",
        "example.com/widgets-here",
    )


def test_events_of_one_object_are_found_in_both_groups(
    server: APIServer, namespace: str, about: ObjectReference
) -> None:
    """EV-26. The field selector of either version finds the events about an object, and no others."""
    other = msgspec.structs.replace(about, name="other", uid="u-2")

    def report(recorder: SeriesRecorder) -> None:
        recorder.event(about, "Normal", "Painted", "ok")
        recorder.event(other, "Normal", "Painted", "ok")

    _report(server, report)
    for field, path in (
        ("involvedObject", f"/api/v1/namespaces/{namespace}/events"),
        ("regarding", Event.resource.path(namespace=namespace)),
    ):
        selector = f"{field}.apiVersion=example.com/v1,{field}.kind=Widget,{field}.name=w,{field}.uid=u-1"
        (name,) = server.get(f"{path}?fieldSelector={quote(selector)}").names
        assert name.startswith("w.")


def test_a_series_that_the_server_has_forgotten_comes_back(server: APIServer, namespace: str) -> None:
    """EV-24, EV-25. An event that expired is created anew by the refresh, and patched at its end."""
    clock = FakeClock(moves_itself=True)
    writer = SeriesWriter(
        _ServerSink(server),
        SeriesCache(clock=clock),
        threading.Event(),
        seams=Seams(clock=clock, random=lambda: 0.0),
    )
    event = new_series_event()
    regarding = msgspec.structs.replace(event.regarding, namespace=namespace)
    metadata = msgspec.structs.replace(event.metadata, namespace=namespace)
    event = msgspec.structs.replace(event, metadata=metadata, regarding=regarding)
    for _ in range(3):
        writer.write(event)
    path = Event.resource.path(namespace=namespace, name=event.metadata.name)
    assert server.get(path).body["series"]["count"] == 2
    assert server.delete(path).status == 200
    writer.refresh()
    assert server.get(path).body["series"]["count"] == 3
    writer.write(event)
    clock.advance(FINISH_SECONDS + 1)
    writer.finish()
    assert server.get(path).body["series"]["count"] == 4


def test_nothing_but_the_series_may_change(server: APIServer, namespace: str, about: ObjectReference) -> None:
    """A note that is patched is 422: what differs in more than its note is another event."""
    _report(server, lambda recorder: recorder.event(about, "Normal", "Painted", "ok"))
    collection = Event.resource.path(namespace=namespace)
    (name,) = server.get(collection).names
    refused = server.patch(f"{collection}/{name}", {"note": "other"})
    assert [field for _, field, _ in refused.causes] == ["message"]
