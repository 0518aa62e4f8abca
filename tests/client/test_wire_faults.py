"""Faults on real sockets: from the bytes of a scripted server to the errors and events of the client."""

from __future__ import annotations

import gc
import gzip
import json
import threading
from collections.abc import Callable
from contextlib import closing
from urllib.parse import parse_qs, urlsplit

import pytest

from handloop.client.config import ClientConfig
from handloop.client.errors import TransportError
from handloop.client.http.exchange import Answer
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


def cut_off(peer: Peer) -> None:
    """Answer with half a body."""
    peer.receive()
    peer.send(CHUNKED_HEAD + chunk(b"half") + b"5\r\n")


def fails(transport: HTTPTransport, *, stream: bool) -> bool:
    try:
        if not stream:
            transport.request("POST", "/x", body=b"{}")
        with closing(transport.stream("GET", "/x")) as answer:
            while answer.read_block():
                pass
    except TransportError:
        return True
    return False


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("script", [lambda _peer: None, cut_off, None], ids=["hung up", "cut off", "refused"])
def test_a_failed_request_leaves_nothing_to_the_garbage_collector(
    script: Callable[[Peer], None] | None, stream: bool
) -> None:
    """No error and no answer waits in a cycle: in an outage memory would grow until a full collection."""
    with WireServer(script or cut_off) as server:
        transport = HTTPTransport(ClientConfig(host=server.url if script else "http://127.0.0.1:1"))
        gc.collect()
        gc.disable()
        try:
            assert fails(transport, stream=stream)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            assert [one for one in gc.garbage if isinstance(one, TransportError | OSError | Answer)] == []
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            gc.enable()
        transport.close()
