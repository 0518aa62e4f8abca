"""Faults on real sockets: from the bytes of a scripted server to the errors and events of the client."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from handloop.client.config import ClientConfig
from handloop.client.errors import (
    ClientError,
)
from handloop.client.options import ListOptions
from handloop.client.resource_client import Client, ResourceClient
from handloop.client.transport import HTTPTransport
from handloop.controller.foo.types import Foo
from handloop.informers.listwatch import ListWatch
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.seams import Seams
from handloop.testing.eventually import eventually
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.servers.wire_server import (
    CHUNKED_HEAD,
    LAST_CHUNK,
    Peer,
    WireServer,
    chunk,
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


BOMB = gzip.compress(b"\n" * (80 << 20))
LISTED = (
    b'{"kind":"FooList","apiVersion":"samplecontroller.k8s.io/v1alpha1","metadata":{"resourceVersion":"1"}}'
)


class BombingServer:
    """An empty list, then events, all in gzip; the first list is a bomb, and the first watch ends in one."""

    def __init__(self) -> None:
        self.bombs: list[str] = []

    def __call__(self, peer: Peer) -> None:
        zipped = {"Content-Encoding": "gzip"}
        while True:
            query = parse_qs(urlsplit(peer.receive().target).query)
            what = "watch" if "watch" in query else "list"
            bomb = what not in self.bombs
            self.bombs += [what] if bomb else []
            if what == "list":
                peer.send(response(BOMB if bomb else gzip.compress(LISTED), headers=zipped))
                continue
            number = int(query["resourceVersion"][0]) + 1
            head = CHUNKED_HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
            peer.send(head + chunk(gzip.compress(line(number))) + (chunk(BOMB) if bomb else b""))
            peer.wait_for_hangup()


def test_a_bomb_ends_its_request_and_the_watch_goes_on() -> None:
    """One clear line for each; the list comes again, and the watch continues after its last event."""
    serving = BombingServer()
    with WireServer(serving) as server, captured_logs() as logged:
        foos, clock = client_of(server)
        source = ListWatch(foos, supports_watch_list=False)
        informer = SharedIndexInformer(source, Foo, seams=Seams(clock=clock))
        stop = threading.Event()
        running = Background(lambda: informer.run(stop))
        eventually(lambda: len(informer.indexer) == 2, "both events")
        stop.set()
        informer.stop()
        running.result()
    assert serving.bombs == ["list", "watch"]
    told = [entry for entry in logged if "refused a gzip bomb" in str(entry)]
    assert len(told) == 2, told


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
