from __future__ import annotations

import gc
import json
import threading
from collections.abc import Callable

import pytest

from handloop_sandbox.clock import SettableClock
from handloop_sandbox.engine import ADMIN, Engine
from handloop_sandbox.transport import Fields, InProcessTransport, SilenceError, StreamClosedError
from support.servers.local_server import ManualClock

_PATH = "/api/v1/namespaces/default/configmaps"


def _transport() -> tuple[InProcessTransport, ManualClock]:
    clock = ManualClock()
    engine = Engine(clock=clock, seed=1)
    return InProcessTransport(engine, clock=clock), clock


def _create(transport: InProcessTransport, name: str) -> None:
    body = json.dumps({"metadata": {"name": name}}).encode()
    assert transport.request("POST", _PATH, body=body).status == 201


def test_requests_are_answered_at_once() -> None:
    """A request has status, headers and body; the query may be in the path or beside it."""
    transport, _ = _transport()
    _create(transport, "a")
    beside = transport.request("GET", _PATH, query={"fieldSelector": "metadata.name=a"})
    inside = transport.request("GET", f"{_PATH}?fieldSelector=metadata.name%3Da")
    assert beside.body == inside.body
    assert beside.headers["content-TYPE"] == "application/json"
    assert len(json.loads(beside.body)["items"]) == 1


def test_the_token_is_sent_along() -> None:
    """A transport with a token authenticates; a header given by hand is kept."""
    clock = ManualClock()
    engine = Engine(clock=clock, users={"t": ADMIN})
    transport = InProcessTransport(engine, clock=clock, token="t")
    assert transport.request("GET", _PATH).status == 200
    assert transport.request("GET", _PATH, headers={"Authorization": "Bearer x"}).status == 401
    assert InProcessTransport(engine, clock=clock).request("GET", _PATH).status == 403


def test_an_unused_transport_is_forgotten() -> None:
    """Whether it was closed, or only dropped; a stream keeps its own."""
    clock = ManualClock()
    engine = Engine(clock=clock, seed=1)
    transports = [InProcessTransport(engine, clock=clock) for _ in range(100)]
    assert len(engine._listeners) == 100
    transports[0].close()
    assert transports[0].request("GET", _PATH).status == 200
    assert len(engine._listeners) == 99
    stream = transports[1].stream("GET", _PATH, query={"watch": "true"})
    transports.clear()
    gc.collect()
    assert len(engine._listeners) == 1
    stream.close()


def test_streams_bring_what_happens() -> None:
    """A stream gives the lines there are, then waits for more."""
    transport, _ = _transport()
    _create(transport, "a")
    stream = transport.stream("GET", _PATH, query={"watch": "true"})
    assert stream.status == 200
    assert json.loads(stream.read_block())["type"] == "ADDED"
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(stream.read_block()), name="reader")
    reader.start()
    _create(transport, "b")
    reader.join(20)
    assert json.loads(got[0])["object"]["metadata"]["name"] == "b"
    stream.close()


def test_a_stream_ends_with_its_time() -> None:
    """After timeoutSeconds a read gives nothing more, forever."""
    transport, clock = _transport()
    stream = transport.stream("GET", f"{_PATH}?watch=1&timeoutSeconds=5")
    clock.now += 5
    assert stream.read_all() == b""
    assert stream.read_block() == b""


def test_closing_wakes_the_reader() -> None:
    """close() from another thread raises in the one that reads, as does reading afterwards."""
    transport, _ = _transport()
    stream = transport.stream("GET", f"{_PATH}?watch=1")
    raised: list[BaseException] = []

    def read() -> None:
        try:
            stream.read_block()
        except StreamClosedError as error:
            raised.append(error)

    reader = threading.Thread(target=read, name="reader")
    reader.start()
    stream.close()
    reader.join(20)
    assert len(raised) == 1
    with pytest.raises(StreamClosedError):
        stream.read_block()
    stream.close()


def test_silence_has_a_limit() -> None:
    """A stream that brings nothing for too long raises what the caller chose."""
    transport, clock = _transport()
    stream = transport.stream("GET", f"{_PATH}?watch=1", read_timeout_seconds=0.0)
    clock.now += 1
    with pytest.raises(SilenceError, match="no data for 0 s"):
        stream.read_block()

    class _MineError(Exception):
        pass

    engine = Engine(clock=clock)
    other = InProcessTransport(engine, clock=clock, closed=_MineError, silent=_MineError)
    quiet = other.stream("GET", f"{_PATH}?watch=1", read_timeout_seconds=0.0)
    with pytest.raises(_MineError):
        quiet.read_block()


def test_a_refused_watch_is_a_short_answer() -> None:
    """A watch that is refused is read like any body; a watch by request is cut off at once."""
    transport, _ = _transport()
    refused = transport.stream("GET", f"{_PATH}?watch=1&resourceVersion=abc")
    assert refused.status == 500
    assert json.loads(refused.read_all())["code"] == 500
    assert refused.read_block() == b""
    _create(transport, "a")
    assert transport.request("GET", f"{_PATH}?watch=1").body.count(b"\n") == 1


def test_fields_know_no_case() -> None:
    """Header names are compared without case."""
    fields = Fields([("Content-Type", "x"), ("Warning", "a"), ("warning", "b")])
    assert fields["CONTENT-TYPE"] == "x"
    assert dict(fields) == {"content-type": "x", "warning": "b"}
    assert len(fields) == 2


class _LostError(Exception):
    """What a client of its own raises for broken connections."""


def test_a_lost_answer_raises_what_the_caller_chose() -> None:
    """The write happened."""
    clock = ManualClock()
    engine = Engine(clock=clock, seed=1)
    transport = InProcessTransport(engine, clock=clock, broken=_LostError)
    engine.faults.lose_answer(count=1)
    body = json.dumps({"metadata": {"name": "a"}}).encode()
    with pytest.raises(_LostError):
        transport.request("POST", _PATH, body=body)
    assert transport.request("GET", f"{_PATH}/a").status == 200


def test_a_cut_stream_gives_its_lines_and_then_raises() -> None:
    """Nothing that was sent before is lost."""
    clock = ManualClock()
    engine = Engine(clock=clock, seed=1)
    transport = InProcessTransport(engine, clock=clock, broken=_LostError)
    _create(transport, "a")
    engine.faults.drop_watches("cut", after_events=1)
    stream = transport.stream("GET", f"{_PATH}?watch=1")
    assert stream.read_block().count(b"\n") == 1
    with pytest.raises(_LostError):
        stream.read_block()


def test_waiting_is_by_the_clock() -> None:
    """Latency, a withheld answer and a silent stream last as long by the clock, at most as asked."""
    clock = SettableClock(frozen=True)
    engine = Engine(clock=clock, seed=1)
    transport = InProcessTransport(engine, clock=clock)
    clock.listen(engine.tell_listeners)
    engine.faults.latency(10, verbs=["get"])
    engine.faults.silence(verbs=["create", "watch"])
    body = json.dumps({"metadata": {"name": "a"}}).encode()
    calls: dict[str, Callable[[], object]] = {
        "late": lambda: transport.request("GET", "/version").status,
        "too late": lambda: transport.request("GET", "/version", timeout_seconds=5),
        "never": lambda: transport.request("POST", _PATH, body=body, timeout_seconds=5),
        "silent": lambda: transport.stream("GET", f"{_PATH}?watch=1", read_timeout_seconds=5).read_block(),
    }
    results: dict[str, object] = {}

    def run(name: str) -> None:
        try:
            results[name] = calls[name]()
        except SilenceError as error:
            results[name] = type(error)

    threads = [threading.Thread(target=run, args=(name,), name=name) for name in calls]
    for thread in threads:
        thread.start()
    for _ in range(100):
        clock.advance(1)
        for thread in threads:
            thread.join(0.05)
        if len(results) == len(calls):
            break
    assert results == {"late": 200, "too late": SilenceError, "never": SilenceError, "silent": SilenceError}
