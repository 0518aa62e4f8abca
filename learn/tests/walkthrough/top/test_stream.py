"""The stream of a page, which comes and goes."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from handloop.seams.step_trace import TRACE
from handloop_learn.top.stream import Message, NoProgramError, Stream, events
from support.builders.live_page import new_server, serving
from support.servers.wire_server import WireServer, closing_after


def messages(url: str) -> Iterator[Message]:
    """Those of a stream that does not wait between two tries."""
    return Stream(lambda: url, pause=lambda _: None).messages()


def next_of(told: Iterator[Message], event: str) -> Message:
    return next(one for one in told if one.event == event)


def test_a_program_that_goes_away_and_comes_back() -> None:
    """Each change is reported; a new process sends a snapshot."""
    with serving(new_server()) as first:
        port = first.port
        told = messages(f"http://127.0.0.1:{port}")
        assert next(told) == Message("connected", f"http://127.0.0.1:{port}")
        assert next(told).data["state"]["ready"] is False
        TRACE.tell(12, "foo", "default/a", again=False)
        assert next_of(told, "steps").data[0]["key"] == "default/a"
    assert next_of(told, "end").data == {"reason": "the program was stopped"}
    ended = "the program ended (the program was stopped): "
    assert next_of(told, "lost").data == f"{ended}waiting for it to start again"
    refused = f"nothing answers at 127.0.0.1:{port}: connection refused; trying again every second"
    assert next(told).data == ended + refused
    with serving(new_server(port=port)):
        assert next_of(told, "connected")
        assert next(told).event == "snapshot"


def test_a_server_that_is_not_there_is_an_error_of_one_sentence() -> None:
    """With the address: there is nothing to wait for."""
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NoProgramError) as caught:
        next(messages(f"http://127.0.0.1:{port}"))
    assert str(caught.value) == f"nothing answers at 127.0.0.1:{port}: connection refused"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "serves something other than a live page"),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 3\r\n\r\n64\n", " answered 503: 64"),
        (b"nonsense\r\n\r\n", "the connection broke"),
    ],
)
def test_something_else_at_the_address_is_reported(answer: bytes, says: str) -> None:
    """A page of another kind, a refusal with its reason, and a peer that does not speak HTTP."""
    with WireServer(closing_after(answer)) as server, pytest.raises(NoProgramError, match=says):
        next(messages(server.url))


def test_the_events_of_a_stream() -> None:
    """Comments and a tail that was cut off are no events; data of several lines is joined."""
    lines = (
        ": heartbeat\r\n\r\nevent: steps\r\nid: r-1\r\ndata: [1,\r\ndata: 2]\r\n\r\n"
        "event: state\ndata:{}\n\nretry: 1000\n\nevent: state\ndata: {"
    )
    found = list(events(lines.encode().splitlines(keepends=True)))
    assert found == [("steps", "r-1", "[1,\n2]"), ("state", "", "{}")]
    assert json.loads(found[0][2]) == [1, 2]
