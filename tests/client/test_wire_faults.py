"""Faults on real sockets: from the bytes of a scripted server to the errors and events of the client."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from handloop.client.config import ClientConfig
from handloop.client.decoding.watch_stream import EventType
from handloop.client.errors import (
    ClientError,
    ConnectionRefused,
    DecodeError,
    Expired,
    Forbidden,
    Gone,
    TooManyRequests,
    is_expired,
)
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client, ResourceClient
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.types import Foo
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.servers.wire_server import (
    CHUNKED_HEAD,
    LAST_CHUNK,
    Peer,
    Script,
    WireServer,
    always,
    answering,
    chunk,
    closing_after,
    response,
)


def client_of(server: WireServer) -> tuple[ResourceClient[Foo], FakeClock]:
    clock = FakeClock(moves_itself=True)
    client = Client(
        HTTPTransport(ClientConfig(host=server.url)), seams=Seams(clock=clock, random=lambda: 0.0)
    )
    return client.resource(Foo), clock


def line(number: int) -> bytes:
    metadata = {"name": f"ñ{number}", "resourceVersion": str(number)}
    return (
        json.dumps({"type": "ADDED", "object": {"metadata": metadata}}, ensure_ascii=False).encode() + b"\n"
    )


def status(code: int, reason: str, **headers: str) -> bytes:
    body = {
        "kind": "Status",
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": f"it is {reason}",
    }
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return response(json.dumps(body).encode(), status=code, headers=named)


EVENTS = 4
STREAM = b"".join(chunk(line(number)) for number in range(1, EVENTS + 1)) + LAST_CHUNK


class CuttingServer:
    """Serves the events after the asked resource version; the first answer of each round is cut at `cut`."""

    def __init__(self, *, reset: bool) -> None:
        self.cut: int | None = None
        self._reset = reset

    def __call__(self, peer: Peer) -> None:
        query = parse_qs(urlsplit(peer.receive().target).query)
        after = int(query["resourceVersion"][0])
        cut, self.cut = self.cut, None
        if cut is None:
            peer.send(
                CHUNKED_HEAD + b"".join(chunk(line(n)) for n in range(after + 1, EVENTS + 1)) + LAST_CHUNK
            )
            peer.wait_for_hangup()
            return
        peer.send(CHUNKED_HEAD + STREAM[:cut])
        if self._reset:
            peer.reset()
        else:
            peer.finish()
            peer.wait_for_hangup()


def follow(foos: ResourceClient[Foo], after: int) -> Iterator[int]:
    """The versions of one watch from a version on, until it ends or breaks."""
    try:
        stream = foos.watch(options=ListOptions(resource_version=str(after)))
    except ClientError:
        return
    try:
        while events := stream.read():
            for event in events:
                assert isinstance(event.object, Foo)
                yield int(event.object.metadata.resource_version)
    except ClientError:
        return
    finally:
        stream.close()


@pytest.mark.parametrize("reset", [True, False], ids=["RST", "FIN"])
def test_a_watch_cut_at_every_byte_resumes_without_loss_or_repetition(reset: bool) -> None:
    """At every offset of 4 events, resuming at the last whole one gives each exactly once."""
    serving = CuttingServer(reset=reset)
    with WireServer(serving) as server:
        foos, _ = client_of(server)
        for cut in range(len(STREAM) + 1):
            serving.cut = cut
            seen: list[int] = []
            for _ in range(3):
                seen += follow(foos, seen[-1] if seen else 0)
                if len(seen) == EVENTS:
                    break
            assert seen == list(range(1, EVENTS + 1))


def test_a_terminal_chunk_inside_a_line_is_no_clean_end() -> None:
    """A server that ends the encoding in the middle of an event has not ended the event."""
    data = CHUNKED_HEAD + chunk(line(1) + line(2)[:30]) + LAST_CHUNK
    with WireServer(answering(data)) as server:
        stream = client_of(server)[0].watch()
        assert [event.type for event in stream.read()] == [EventType.ADDED]
        with pytest.raises(DecodeError, match="ended inside an event"):
            stream.read()


@pytest.mark.parametrize("pages", [1, 2, 3])
def test_a_list_that_breaks_off_at_any_page(pages: int) -> None:
    """Page k is lost, so it is asked for again, and nothing of half a page is returned."""

    def page(number: int, last: bool) -> bytes:
        body: dict[str, Any] = {
            "kind": "FooList",
            "apiVersion": "samplecontroller.k8s.io/v1alpha1",
            "metadata": {"resourceVersion": "9", "continue": "" if last else f"page-{number + 1}"},
            "items": [{"metadata": {"name": f"n{number}", "resourceVersion": "1"}}],
        }
        return response(json.dumps(body).encode())

    def script(peer: Peer) -> None:
        for number in range(1, pages):
            peer.receive()
            peer.send(page(number, last=False))
        peer.receive()
        peer.send(page(pages, last=True)[:-10])
        peer.reset()

    with WireServer(script, always(page(pages, last=True))) as server:
        foos, clock = client_of(server)
        names: list[str] = []
        token = ""
        while True:
            found = foos.list(options=ListOptions(limit=1, continue_token=token))
            names += [item.metadata.name for item in found.items]
            if found.continue_token is None:
                break
            token = found.continue_token
        assert names == [f"n{number}" for number in range(1, pages + 1)]
        assert clock.slept == [1.0]


def test_refused_and_back_again() -> None:
    """While the server is down every attempt is refused at once; afterwards the same client works."""
    with WireServer(always(response())) as server:
        foos, _ = client_of(server)
        server.stop_listening()
        for _ in range(3):
            with pytest.raises(ConnectionRefused):
                foos.list()
            with pytest.raises(ConnectionRefused):
                foos.watch()


def test_403_names_what_may_not_be_done() -> None:
    """The errors of list and watch name verb, resource and namespace."""
    with WireServer(always(status(403, "Forbidden"))) as server:
        foos, _ = client_of(server)
        with pytest.raises(Forbidden, match=r"list foos\.samplecontroller\.k8s\.io ns: it is Forbidden"):
            foos.list("ns")
        with pytest.raises(Forbidden, match=r"watch foos\.samplecontroller\.k8s\.io ns"):
            foos.watch("ns")


@pytest.mark.parametrize(
    ("header", "slept"),
    [("2", [2.0]), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("garbage", None), ("1000000", [120.0])],
)
def test_429_on_a_list(header: str, slept: list[float] | None) -> None:
    """Whole seconds are waited for up to the cap; anything else is raised for the caller to back off."""
    empty = {
        "kind": "FooList",
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "metadata": {"resourceVersion": "9"},
        "items": [],
    }
    answers = (status(429, "TooManyRequests", Retry_After=header), response(json.dumps(empty).encode()))
    with WireServer(answering(*answers)) as server:
        foos, clock = client_of(server)
        if slept is None:
            with pytest.raises(TooManyRequests):
                foos.list()
            slept = []
        else:
            assert foos.list().items == []
        assert clock.slept == slept


def test_429_on_a_watch() -> None:
    """A refusal is raised with its wait, an ERROR event is delivered; neither is waited for here."""
    event = {"type": "ERROR", "object": {"kind": "Status", "code": 429, "reason": "TooManyRequests"}}
    scripts: tuple[Script, Script] = (
        closing_after(status(429, "TooManyRequests", Retry_After="5")),
        closing_after(CHUNKED_HEAD + chunk(json.dumps(event).encode() + b"\n") + LAST_CHUNK),
    )
    with WireServer(*scripts) as server:
        foos, clock = client_of(server)
        with pytest.raises(TooManyRequests) as caught:
            foos.watch()
        assert caught.value.retry_after_seconds == 5.0
        with closing(foos.watch()) as stream:
            (delivered,) = stream.read()
        assert isinstance(delivered.object, TooManyRequests)
        assert clock.slept == []


@pytest.mark.parametrize("code", [500, 502, 503, 504])
def test_5xx_everywhere(code: int) -> None:
    """An error of the server is raised from list, watch and write with its code."""
    with WireServer(closing_after(response(b"upstream connect error", status=code))) as server:
        foos, _ = client_of(server)
        calls = (foos.list, foos.watch, lambda: foos.patch("n", {}, namespace="ns"))
        for call in calls:
            with pytest.raises(ClientError, match="upstream connect error") as caught:
                call()
            assert getattr(caught.value, "code", None) == code


@pytest.mark.parametrize(("reason", "kind"), [("Expired", Expired), ("Gone", Gone)])
def test_410_in_every_form(reason: str, kind: type[Gone]) -> None:
    """On a continue token, as a status of a watch, and as an ERROR event in a watch."""
    event = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": reason}}
    scripts = (
        closing_after(status(410, reason)),
        closing_after(status(410, reason)),
        closing_after(CHUNKED_HEAD + chunk(line(1) + json.dumps(event).encode() + b"\n") + LAST_CHUNK),
    )
    with WireServer(*scripts) as server:
        foos, _ = client_of(server)
        with pytest.raises(kind) as caught:
            foos.list(options=ListOptions(continue_token="old"))
        assert is_expired(caught.value)
        with pytest.raises(kind):
            foos.watch(options=ListOptions(resource_version="1"))
        with closing(foos.watch(options=ListOptions(resource_version="1"))) as stream:
            added, error = stream.read()
        assert added.type is EventType.ADDED
        assert isinstance(error.object, kind)


def test_an_event_of_megabytes() -> None:
    """A huge object arrives whole through many reads."""
    padding = "x" * (3 << 20)
    body = {"metadata": {"name": "n", "resourceVersion": "1"}, "spec": {"deploymentName": padding}}
    data = json.dumps({"type": "ADDED", "object": body}).encode() + b"\n"
    with WireServer(closing_after(CHUNKED_HEAD + chunk(data) + LAST_CHUNK)) as server:
        stream = client_of(server)[0].watch()
        (event,) = stream.read()
        assert isinstance(event.object, Foo)
        assert len(event.object.spec.deployment_name) == 3 << 20
        assert stream.read() == []


def test_many_watches_at_once_end_together() -> None:
    """Closing every stream from one thread ends every reader."""

    def script(peer: Peer) -> None:
        peer.receive()
        peer.send(CHUNKED_HEAD + chunk(line(1)))
        peer.wait_for_hangup()

    with WireServer(script) as server:
        foos, _ = client_of(server)
        streams = [foos.watch() for _ in range(20)]
        begun = threading.Semaphore(0)
        ended = threading.Semaphore(0)

        def read(stream: Any) -> None:
            stream.read()
            begun.release()
            try:
                stream.read()
            except ClientError:
                ended.release()

        threads = [threading.Thread(target=read, args=(stream,), daemon=True) for stream in streams]
        for thread in threads:
            thread.start()
        for _ in streams:
            assert begun.acquire(timeout=20)
        for stream in streams:
            stream.close()
        for _ in streams:
            assert ended.acquire(timeout=20)
        for thread in threads:
            thread.join(20)
