from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket

import pytest

from handloop_sandbox.accepting import accept

_LOG = logging.getLogger("sandbox")
_ASKED = 5


class _Exhausted(socket.socket):
    """A listening socket that accepts nothing until it was asked too often."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.bind(("127.0.0.1", 0))
        self.code = code
        self.asked_in: list[int] = []
        self.round = 0

    def accept(self) -> tuple[socket.socket, object]:
        if len(self.asked_in) < _ASKED:
            self.asked_in.append(self.round)
            raise OSError(self.code, os.strerror(self.code))
        return super().accept()


class _Greeting(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        transport.write(b"hello")
        transport.close()


async def _greeted(listening: _Exhausted, clients: int) -> list[bytes]:
    """The answers to clients that connect at once."""
    loop = asyncio.get_running_loop()

    def count_round() -> None:
        listening.round += 1
        loop.call_soon(count_round)

    count_round()
    listener = await accept(_Greeting, _LOG, listening)
    there = [await asyncio.open_connection(*listening.getsockname()) for _ in range(clients)]
    told = [await reader.read() for reader, _ in there]
    for _, writer in there:
        writer.close()
    listener.close()
    return told


@pytest.mark.parametrize("code", [errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM])
def test_without_descriptors_it_waits_and_then_answers(
    code: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """However many want in, there is one try after each pause, and one line for all; then all get in."""
    monkeypatch.setattr("asyncio.constants.ACCEPT_RETRY_DELAY", 0.001)
    listening = _Exhausted(code)
    address, port = listening.getsockname()
    assert asyncio.run(_greeted(listening, 8)) == [b"hello"] * 8
    assert len(set(listening.asked_in)) == _ASKED, "two tries in one round of the loop"
    (record,) = caplog.records
    words = f"{address}:{port} cannot accept connections: {os.strerror(code)}. Close some of them,"
    assert record.getMessage() == f"{words} or raise the limit: ulimit -n 4096"


def test_another_mistake_is_reported_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    """With its traceback, by asyncio."""

    async def fail() -> None:
        loop = asyncio.get_running_loop()
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listener = await accept(_Greeting, _LOG, listening)
            loop.call_soon(int, "x")
            await asyncio.sleep(0)
            listener.close()

    asyncio.run(fail())
    assert [(record.name, record.exc_info is not None) for record in caplog.records] == [("asyncio", True)]
