from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterable
from time import process_time

import pytest

from handloop.client.decoding.watch_stream import EventType, WatchStream
from handloop.client.errors import (
    ClientError,
    ConnectionBroken,
    DeadlineExceeded,
    DecodeError,
    StreamClosed,
)
from handloop.client.resource_client import codec_of
from handloop.controller.foo.types import Foo
from support.fake_clock import FakeClock
from support.scripted_transport import ScriptedStream
from support.threads import Background


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
    line_limit: int = 1 << 20,
) -> WatchStream[Foo]:
    stream = ScriptedStream(blocks, end=end)
    return WatchStream(stream, codec_of(Foo).events(), clock=clock or FakeClock(), line_limit=line_limit)


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


def test_events_arrive_in_blocks_and_then_the_end() -> None:
    """A block of two events is one read; the server's clean end is []."""
    stream = watch([event(1) + event(2), event(3)])
    assert [entry.type for entry in stream.read()] == [EventType.ADDED, EventType.ADDED]
    assert len(stream.read()) == 1
    assert stream.read() == []
    assert stream.read() == []


def test_every_cut_gives_the_same_events() -> None:
    """T11: cut anywhere, also inside a multi-byte character, the events are the same."""
    data = event(1) + event(2) + event(3)
    for cut in range(1, len(data)):
        names, error = names_until_the_end(watch([data[:cut], data[cut:]]))
        assert (names, error) == (["n1", "n2", "n3"], None)


def test_random_cuts_give_the_same_events() -> None:
    """T11: many cuts at once make no difference either."""
    rng = random.Random(11)
    data = b"".join(event(number) for number in range(4))
    for _ in range(2000):
        cuts = sorted(rng.sample(range(1, len(data)), rng.randint(1, 20)))
        blocks = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert names_until_the_end(watch(blocks)) == (["n0", "n1", "n2", "n3"], None)


def test_a_broken_connection_at_every_byte_loses_no_whole_event() -> None:
    """T04: whatever the offset, exactly the complete events are delivered, then the break is raised."""
    data = b"".join(event(number) for number in range(1, 21))
    ends = [index + 1 for index, byte in enumerate(data) if byte == 0x0A]
    for cut in range(len(data) + 1):
        names, error = names_until_the_end(watch([data[:cut]] if cut else [], end=ConnectionBroken("reset")))
        assert len(names) == sum(end <= cut for end in ends)
        assert isinstance(error, ConnectionBroken)


def test_a_clean_end_inside_an_event_is_an_error_at_every_byte() -> None:
    """T05, T06: a tail without a newline is an error, also when the transport calls the end clean."""
    data = event(1) + event(2)
    ends = (0, len(event(1)), len(data))
    for cut in range(len(data) + 1):
        names, error = names_until_the_end(watch([data[:cut]] if cut else []))
        assert len(names) == (cut >= ends[1]) + (cut >= ends[2])
        assert (error is None) is (cut in ends)
        assert error is None or isinstance(error, DecodeError)


def test_nothing_follows_an_error() -> None:
    """T13: after a bad line every read raises its error, and the stream is closed."""
    scripted = ScriptedStream([event(1) + b"garbage\n" + event(2), event(3)])
    stream = WatchStream(scripted, codec_of(Foo).events(), clock=FakeClock())
    assert len(stream.read()) == 1
    for _ in range(2):
        with pytest.raises(DecodeError, match="garbage"):
            stream.read()
    assert scripted.closed.is_set()


def test_a_bad_line_alone_is_raised_at_once() -> None:
    """T13: a block that begins with a bad line delivers nothing."""
    with pytest.raises(DecodeError):
        watch([b"garbage\n" + event(1)]).read()


def test_blocks_without_events_are_not_the_end() -> None:
    """T34: a block of blank lines and unknown events is read past."""
    stream = watch([b"\n", b'{"type":"NOVEL","object":{}}\n', event(1)])
    assert len(stream.read()) == 1
    assert stream.unknown_events == 1


def test_an_endless_line_is_cut_at_the_size_limit() -> None:
    """T10: a line without an end does not fill the memory."""
    with pytest.raises(DecodeError, match="more than 1000 bytes"):
        watch([b"x" * 600, b"x" * 600], line_limit=1000).read()


def test_a_line_that_drips_is_cut_at_the_time_limit() -> None:
    """T10: an event that never completes is a dead stream, however many bytes still come."""
    clock = FakeClock()

    def drip() -> Iterable[bytes]:
        while True:
            clock.advance(1.0)
            yield b"x"

    with pytest.raises(DeadlineExceeded, match="75 s"):
        watch(drip(), clock=clock).read()
    assert clock.now() <= 77


def test_a_slow_stream_of_whole_events_stays_up() -> None:
    """T10: what counts is that each event arrives in time, not the stream."""
    clock = FakeClock()

    def slow() -> Iterable[bytes]:
        for number in range(10):
            clock.advance(70.0)
            data = event(number)
            yield data[:20]
            clock.advance(70.0)
            yield data[20:]

    assert len(names_until_the_end(watch(slow(), clock=clock))[0]) == 10


def _seconds_to_read(size: int) -> float:
    data = event(1, padding="x" * size)
    blocks = [data[start : start + 16_384] for start in range(0, len(data), 16_384)]
    begun = process_time()
    assert len(names_until_the_end(watch(blocks, line_limit=64 << 20))[0]) == 1
    return process_time() - begun


def test_a_huge_object_takes_linear_time() -> None:
    """T37: an event of megabytes works; 16 times the size takes about 16 times as long, and not 256 times."""
    small = min(_seconds_to_read(1 << 20) for _ in range(3))
    large = min(_seconds_to_read(16 << 20) for _ in range(3))
    assert large < small * 64


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
