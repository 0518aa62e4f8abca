from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding import watch_stream
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_stream import (
    Bookmark,
    EventDecoder,
    EventType,
    WatchEvent,
    WatchStream,
    WrongKind,
)
from handloop.client.errors import (
    APIError,
    ClientError,
    ConnectionBroken,
    DeadlineExceeded,
    DecodeError,
    Expired,
    StreamClosed,
)
from handloop.client.resource_client import codec_of
from handloop.controller.foo.types import Foo
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background
from support.doubles.scripted_transport import ScriptedStream


def event(number: int, *, padding: str = "") -> bytes:
    obj = {
        "kind": "Foo",
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "metadata": {"name": f"n{number}", "namespace": "ns", "resourceVersion": str(number)},
        "spec": {"deploymentName": "dé" + padding, "replicas": 1},
    }
    return json.dumps({"type": "ADDED", "object": obj}, ensure_ascii=False).encode() + b"\n"


def watch(
    blocks: Iterable[bytes],
    *,
    end: Exception | None = None,
    clock: FakeClock | None = None,
) -> WatchStream[Foo]:
    stream = ScriptedStream(blocks, end=end)
    return WatchStream(stream, codec_of(Foo).events(), clock=clock or FakeClock())


def names_until_the_end(stream: WatchStream[Foo]) -> tuple[list[str], ClientError | None]:
    """Names of the objects, and what ended the stream (None = cleanly)."""
    names: list[str] = []
    while True:
        try:
            events = stream.read()
        except ClientError as error:
            return names, error
        if not events:
            return names, None
        for entry in events:
            assert isinstance(entry.object, Foo)
            names.append(entry.object.metadata.name)


def test_a_broken_connection_at_every_byte_loses_no_whole_event() -> None:
    """Whatever the offset, exactly the complete events are delivered, then the break is raised."""
    data = b"".join(event(number) for number in range(1, 21))
    ends = [index + 1 for index, byte in enumerate(data) if byte == 0x0A]
    for cut in range(len(data) + 1):
        names, error = names_until_the_end(watch([data[:cut]] if cut else [], end=ConnectionBroken("reset")))
        assert len(names) == sum(end <= cut for end in ends)
        assert isinstance(error, ConnectionBroken)


def test_a_clean_end_inside_an_event_is_an_error_at_every_byte() -> None:
    """A tail without a newline is an error, also when the transport calls the end clean."""
    data = event(1) + event(2)
    ends = (0, len(event(1)), len(data))
    for cut in range(len(data) + 1):
        names, error = names_until_the_end(watch([data[:cut]] if cut else []))
        assert len(names) == (cut >= ends[1]) + (cut >= ends[2])
        assert (error is None) is (cut in ends)
        assert error is None or isinstance(error, DecodeError)


def test_nothing_follows_an_error() -> None:
    """After a bad line every read raises its error, and the stream is closed."""
    scripted = ScriptedStream([event(1) + b"garbage\n" + event(2), event(3)])
    stream = WatchStream(scripted, codec_of(Foo).events(), clock=FakeClock())
    assert len(stream.read()) == 1
    for _ in range(2):
        with pytest.raises(DecodeError, match="garbage"):
            stream.read()
    assert scripted.closed.is_set()


def test_blocks_without_events_are_not_the_end() -> None:
    """A block of blank lines and unknown events is read past."""
    stream = watch([b"\n", b'{"type":"NOVEL","object":{}}\n', event(1)])
    assert len(stream.read()) == 1
    assert stream.unknown_events == 1


def test_an_endless_line_is_cut_at_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line without an end does not fill the memory."""
    monkeypatch.setattr(watch_stream, "LINE_LIMIT", 1000)
    with pytest.raises(DecodeError, match="longer than the limit of 1000 bytes"):
        watch([b"x" * 600, b"x" * 600]).read()


def test_a_line_that_drips_is_cut_at_the_time_limit() -> None:
    """An event that never completes is a dead stream, however many bytes still come."""
    clock = FakeClock()

    def drip() -> Iterable[bytes]:
        while True:
            clock.advance(1.0)
            yield b"x"

    with pytest.raises(DeadlineExceeded, match="75 s"):
        watch(drip(), clock=clock).read()
    assert clock.now() <= 77


def test_a_slow_stream_of_whole_events_stays_up() -> None:
    """Each event has to arrive in time, not the stream."""
    clock = FakeClock()

    def slow() -> Iterable[bytes]:
        for number in range(10):
            clock.advance(70.0)
            data = event(number)
            yield data[:20]
            clock.advance(70.0)
            yield data[20:]

    assert len(names_until_the_end(watch(slow(), clock=clock))[0]) == 10


def test_a_huge_object_takes_linear_time() -> None:
    """Megabytes that come in half a million blocks are put together once; once a block would never end."""
    data = event(1, padding="x" * (32 << 20))
    blocks = (data[start : start + 64] for start in range(0, len(data), 64))
    assert len(names_until_the_end(watch(blocks))[0]) == 1


def test_close_ends_a_blocked_read() -> None:
    """close() from another thread ends a read that waits."""
    scripted = ScriptedStream([event(1)], holds=True)
    stream = WatchStream(scripted, codec_of(Foo).events())
    read_once = threading.Event()

    def read() -> list[str]:
        assert len(stream.read()) == 1
        read_once.set()
        with pytest.raises(StreamClosed):
            stream.read()
        return ["ended"]

    reader = Background(read)
    assert read_once.wait(20)
    stream.close()
    assert reader.result() == ["ended"]


# -- events


def foo(name: str = "a", rv: str = "5", **spec: Any) -> dict[str, Any]:
    return {
        "kind": "Foo",
        "apiVersion": "samplecontroller.k8s.io/v1alpha1",
        "metadata": {"name": name, "namespace": "ns", "resourceVersion": rv},
        "spec": spec,
    }


def line(kind: Any, obj: Any) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


GOOD = line("ADDED", foo("good", "1"))


@pytest.fixture
def decoder() -> EventDecoder[Foo]:
    return codec_of(Foo).events()


def test_an_object_without_kind_is_of_the_kind_that_is_watched() -> None:
    """Built-in kinds may come without kind and apiVersion."""
    decoder = codec_of(Deployment).events()
    (event,) = decoder.decode(line("ADDED", {"metadata": {"name": "d", "resourceVersion": "1"}})).events
    assert isinstance(event.object, Deployment)


def test_a_bookmark(decoder: EventDecoder[Foo]) -> None:
    """A bookmark is a version with annotations, never an object."""
    obj = foo()
    obj["metadata"] = {"resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"}}
    events = decoder.decode(GOOD + line("BOOKMARK", obj)).events
    assert events[1] == WatchEvent(EventType.BOOKMARK, Bookmark("9", {"k8s.io/initial-events-end": "true"}))


@pytest.mark.parametrize("reason", ["Expired", "Gone"])
def test_an_error_event_is_an_api_error(decoder: EventDecoder[Foo], reason: str) -> None:
    """410 as an ERROR event, in both spellings."""
    status = {"kind": "Status", "code": 410, "reason": reason, "message": "too old resource version: 1 (2)"}
    (event,) = decoder.decode(line("ERROR", status)).events
    assert event.type is EventType.ERROR
    assert isinstance(event.object, APIError)
    assert event.object.code == 410
    assert isinstance(event.object, Expired) is (reason == "Expired")
    assert str(event.object).startswith("watch foos.samplecontroller.k8s.io: too old resource version")


@pytest.mark.parametrize(
    "status", [{}, None, [], "x", 5, {"code": "410", "reason": 4}, {"kind": "Foo"}, foo()], ids=repr
)
def test_an_error_event_without_a_status_is_a_generic_error(decoder: EventDecoder[Foo], status: Any) -> None:
    """An ERROR event of any shape is an APIError with a message."""
    (event,) = decoder.decode(line("ERROR", status)).events
    assert type(event.object) is APIError
    assert "error event" in str(event.object)


def test_an_error_event_that_cannot_be_read_is_one_error(decoder: EventDecoder[Foo]) -> None:
    """A number of 5,000 digits in a Status is contained like any other bad line."""
    huge = line("ERROR", {"kind": "Status", "code": 12345}).replace(b"12345", b"9" * 5000)
    decoded = decoder.decode(GOOD + huge)
    assert len(decoded.events) == 1
    assert isinstance(decoded.error, DecodeError)


def test_an_object_that_does_not_fit(decoder: EventDecoder[Foo]) -> None:
    """One bad object is quarantined with its event type; its neighbours are delivered."""
    decoded = decoder.decode(GOOD + line("MODIFIED", foo("bad", "6", replicas="x")) + line("ADDED", foo("c")))
    kinds = [type(event.object) for event in decoded.events]
    assert kinds == [Foo, Undecodable, Foo]
    assert decoded.events[1].type is EventType.MODIFIED
    bad = decoded.events[1].object
    assert isinstance(bad, Undecodable)
    assert (bad.key_namespace, bad.key_name, bad.resource_version) == ("ns", "bad", "6")


@pytest.mark.parametrize(
    ("obj", "kind"),
    [
        ({**foo(), "kind": "Bar"}, ("samplecontroller.k8s.io/v1alpha1", "Bar")),
        ({**foo(), "apiVersion": "samplecontroller.k8s.io/v2"}, ("samplecontroller.k8s.io/v2", "Foo")),
        ({"kind": "Table", "apiVersion": "meta.k8s.io/v1", "rows": []}, ("meta.k8s.io/v1", "Table")),
        ({"kind": "Status", "apiVersion": "v1", "code": 410}, ("v1", "Status")),
    ],
    ids=["another kind", "another version", "a table", "a status"],
)
@pytest.mark.parametrize("event_type", ["ADDED", "MODIFIED", "DELETED"])
def test_another_kind_is_named(
    decoder: EventDecoder[Foo], obj: dict[str, Any], kind: tuple[str, str], event_type: str
) -> None:
    """The error of an object of another kind differs from that of one that does not fit."""
    (event,) = decoder.decode(line(event_type, obj)).events
    assert event == WatchEvent(EventType(event_type), WrongKind(*kind))


def test_a_bookmark_of_another_kind_is_named(decoder: EventDecoder[Foo]) -> None:
    """A bookmark belongs to the kind that is watched."""
    (event,) = decoder.decode(line("BOOKMARK", {"kind": "Bar", "metadata": {"resourceVersion": "3"}})).events
    assert event.object == WrongKind("", "Bar")


def test_unknown_event_types_are_left_out_and_counted(decoder: EventDecoder[Foo]) -> None:
    """A type from the future is counted and logged once, and its version is not taken."""
    with captured_logs() as logs:
        decoded = decoder.decode(GOOD + line("NOVEL", foo("x", "99")) + line("NOVEL", foo("y")) + GOOD)
    assert [event.type for event in decoded.events] == [EventType.ADDED, EventType.ADDED]
    assert decoder.unknown_events == 2
    assert [entry["event"] for entry in logs] == ["Unexpected watch event type"]


BAD_SHAPES: list[Any] = [
    None,
    [],
    "x",
    7,
    True,
    {},
    {"metadata": None},
    {"metadata": []},
    {"metadata": {}},
    {"metadata": {"name": "a"}},
    {"metadata": {"resourceVersion": "5"}},
    {"metadata": {"name": None, "resourceVersion": "5"}},
    {"metadata": {"name": "a", "resourceVersion": 5}},
    {"kind": "Foo", "metadata": {"name": ["a"], "resourceVersion": "5"}},
    {"metadata": {"labels": 5}},
    {"metadata": {"labels": {"a": None}, "annotations": ["x"]}},
]


@pytest.mark.parametrize("obj", BAD_SHAPES, ids=repr)
@pytest.mark.parametrize("event_type", ["ADDED", "MODIFIED", "DELETED"])
def test_an_object_without_name_or_version_is_one_error(
    decoder: EventDecoder[Foo], event_type: str, obj: Any
) -> None:
    """Every shape in every event gives the events before it, one DecodeError, and nothing after it."""
    decoded = decoder.decode(GOOD + line(event_type, obj) + GOOD)
    assert len(decoded.events) == 1
    assert isinstance(decoded.error, DecodeError)


@pytest.mark.parametrize(
    "obj",
    [
        None,
        [],
        "x",
        7,
        {},
        {"metadata": []},
        {"metadata": {"name": "a"}},
        {"metadata": {"resourceVersion": 5}},
    ],
    ids=repr,
)
def test_a_bookmark_without_a_version_is_one_error(decoder: EventDecoder[Foo], obj: Any) -> None:
    """A bookmark without a version ends the stream like any other bad line."""
    decoded = decoder.decode(GOOD + line("BOOKMARK", obj) + GOOD)
    assert len(decoded.events) == 1
    assert isinstance(decoded.error, DecodeError)


@pytest.mark.parametrize(
    "bad",
    [
        b"{",
        b"}",
        b"garbage",
        b"null",
        b"[]",
        b"7",
        b'{"object":{}}',
        b'{"type":"ADDED"}',
        b'{"type":7,"object":{}}',
        b'{"type":null,"object":{}}',
        GOOD[:-2],
        b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},"x":NaN}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"\\ud800","resourceVersion":"1"}}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"a","resourceVersion":"1"},"x":"\xff"}}',
        b'{"type":"ADDED","object":' + b"[" * 100_000,
    ],
    ids=lambda bad: repr(bad[-30:]),
)
def test_a_malformed_line_is_one_error(decoder: EventDecoder[Foo], bad: bytes) -> None:
    """A line that is not an event ends the stream with one short, escaped error."""
    decoded = decoder.decode(GOOD + bad + b"\n" + GOOD)
    assert len(decoded.events) == 1
    assert isinstance(decoded.error, DecodeError)
    assert str(decoded.error).isprintable()
    assert len(str(decoded.error)) < 600


def test_no_replacement_character_ever_appears(decoder: EventDecoder[Foo]) -> None:
    """Invalid bytes at any place of an event never reach an object."""
    good = line("ADDED", foo("name", "1", deploymentName="deployment"))
    for position in range(len(good) - 1):
        broken = good[:position] + b"\xff" + good[position + 1 :]
        decoded = decoder.decode(broken)
        assert decoded.events == []
        assert isinstance(decoded.error, DecodeError)


def test_deep_nesting_in_an_unknown_field_is_no_obstacle(decoder: EventDecoder[Foo]) -> None:
    """The fields we know are read, with any others beside them."""
    deep = line("ADDED", {**foo("deep"), "extra": "DEEP"}).replace(b'"DEEP"', b"[" * 9000 + b"]" * 9000)
    decoded = decoder.decode(GOOD + deep + GOOD)
    assert [type(event.object) for event in decoded.events] == [Foo, Foo, Foo]


def test_empty_lines_are_no_events(decoder: EventDecoder[Foo]) -> None:
    """Blank lines between events mean nothing, on the fast path and on the slow one."""
    assert len(decoder.decode(b"\n" + GOOD + b"\n \n").events) == 1
    assert len(decoder.decode(b"\n" + line("BOOKMARK", foo()) + b"\r\n\n").events) == 1


@given(st.binary(max_size=400), st.randoms(use_true_random=False))
def test_nothing_but_decode_errors(noise: bytes, rng: random.Random) -> None:
    """Any bytes, and any bit flip in an event, give events or one DecodeError."""
    decoder = codec_of(Foo).events()
    flipped = bytearray(GOOD)
    flipped[rng.randrange(len(flipped) - 1)] ^= 1 << rng.randrange(8)
    for block in (noise + b"\n", bytes(flipped)):
        decoded = decoder.decode(block)
        assert decoded.error is None or isinstance(decoded.error, DecodeError)


def test_both_paths_agree(decoder: EventDecoder[Foo]) -> None:
    """A block decoded at once and line by line gives the same events."""
    block = b"".join(line("MODIFIED", foo(f"n{i}", str(i + 1), replicas=i % 10 + 1)) for i in range(50))
    slow: EventDecoder[Foo] = EventDecoder(Foo.resource, codec_of(Foo).decode)
    assert decoder.decode(block).events == slow.decode(block).events
