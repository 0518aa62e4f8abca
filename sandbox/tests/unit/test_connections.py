from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from handloop_sandbox import connections
from handloop_sandbox.connections import Connections, HeldRequests, WatchPump, break_connection
from handloop_sandbox.faults.watch_output import WatchOutput
from handloop_sandbox.watch_answer import one_chunk
from support.servers.local_server import LocalServer

_MAPS = "/api/v1/namespaces/default/configmaps"


class _Transport(asyncio.Transport):
    """Writes into memory."""

    def __init__(self, connection: socket.socket | None = None) -> None:
        super().__init__({"socket": connection})
        self.written = b""
        self.buffered = 0
        self.ends: list[str] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def is_closing(self) -> bool:
        return bool(self.ends)

    def close(self) -> None:
        self.ends.append("closed")

    def abort(self) -> None:
        self.ends.append("aborted")


def _watch(server: LocalServer) -> WatchOutput:
    return server.watch(f"{_MAPS}?watch=1")


def _pump(transport: _Transport, watch: WatchOutput) -> WatchPump:
    return WatchPump(watch, transport, one_chunk)


def test_lines_are_written_together() -> None:
    """However many there are; none is nothing to write."""
    transport = _Transport()
    pump = _pump(transport, _watch(LocalServer()))
    pump.send([b"a\n", b"b\n"])
    pump.send([])
    assert transport.written == b"4\r\na\nb\n\r\n"
    assert not pump.over


def test_the_end_of_the_watch_is_the_end_of_the_stream() -> None:
    """With its last lines; a client that has gone ends it, too."""
    transport, watch = _Transport(), _watch(LocalServer())
    pump = _pump(transport, watch)
    watch.close()
    pump.send([b"a\n"])
    assert (pump.over, transport.ends, transport.written) == (True, [], b"2\r\na\n\r\n")
    gone = _Transport()
    gone.close()
    pump = _pump(gone, _watch(LocalServer()))
    pump.send([b"a\n"])
    assert (pump.over, gone.written) == (True, b"")


@pytest.mark.parametrize(("broken", "end"), [("cut", "closed"), ("reset", "aborted")])
def test_a_broken_watch_breaks_the_connection(server: LocalServer, broken: str, end: str) -> None:
    """After earlier bytes."""
    watch = _watch(server)
    server.request("POST", "/sandbox/faults", {"fault": "drop-watch", "how": broken})
    transport = _Transport()
    pump = _pump(transport, watch)
    pump.send(server.engine.take(watch))
    assert (pump.over, transport.ends) == (True, [end])


def test_a_full_client_is_given_no_more() -> None:
    """Until it has read, the watch is paused."""
    transport, watch = _Transport(), _watch(LocalServer())
    transport.buffered = 1 << 20
    pump = _pump(transport, watch)
    pump.send([b"a\n"])
    assert watch.paused
    assert pump.halted.is_set()
    assert not pump.over


def test_a_reset_is_seen_by_the_peer() -> None:
    """The other side gets RST, not an end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        served, _ = listener.accept()
        transport = _Transport(served)
        break_connection(transport, reset=True)
        served.close()
        with client, pytest.raises(ConnectionResetError):
            client.recv(1)
    assert transport.ends == ["aborted"]


class _Reader:
    """One whose client reads a byte with every look."""

    def __init__(self, unread: float) -> None:
        self.aborted = False
        self._unread = unread

    def get_write_buffer_size(self) -> float:
        self._unread -= self._unread > 0
        return self._unread

    def abort(self) -> None:
        self.aborted = True


class _Connection:
    def __init__(self, unread: float = 0) -> None:
        self.transport: _Reader | None = _Reader(unread)


class _Server:
    def __init__(self, *connections: _Connection) -> None:
        self.connections = connections


def _part(*there: _Connection, exchanges: tuple[_Connection, ...] = ()) -> list[bool]:
    """Which are broken."""
    server: Any = _Server(*there)
    asked: Any = exchanges
    held = Connections()
    held.exchanges = asked
    asyncio.run(held.part(server))
    return [one.transport is not None and one.transport.aborted for one in there]


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_PAUSE_SECONDS", 0)


def test_who_has_all_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections without a request, and those that are gone, end by themselves; a reader has the time."""
    monkeypatch.setattr(connections, "GRACE_SECONDS", 20)
    gone = _Connection()
    gone.transport = None
    assert _part(_Connection(), gone, _Connection(unread=5)) == [False, False, False]


def test_who_is_stuck_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the grace: those that do not read, and those with a request that does not end."""
    monkeypatch.setattr(connections, "GRACE_SECONDS", 0)
    asking = _Connection()
    broken = _part(_Connection(), _Connection(unread=float("inf")), asking, exchanges=(asking,))
    assert broken == [False, True, True]


def test_a_held_request_goes_when_its_time_has_come() -> None:
    """One that waits for a time goes then, one that waits in silence when the server stops."""

    async def hold() -> list[object]:
        held = HeldRequests()
        waiting = [asyncio.ensure_future(held.wait_until(at)) for at in (5.0, 9.0)]
        silent = asyncio.ensure_future(held.wait_in_silence())
        await asyncio.sleep(0)
        seen: list[object] = [len(held), held.wake(4.0), held.wake(5.0)]
        await waiting[0]
        seen += [waiting[1].done(), silent.done()]
        held.release()
        await asyncio.gather(waiting[1], silent)
        return [*seen, held.wake(5.0), len(held)]

    assert asyncio.run(hold()) == [3, 5.0, 9.0, False, False, None, 0]
