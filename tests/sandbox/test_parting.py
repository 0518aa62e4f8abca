from __future__ import annotations

import asyncio
from typing import Any

import pytest

from handloop.sandbox import parting
from handloop.sandbox.parting import part


class _Transport:
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
        self.transport: _Transport | None = _Transport(unread)


class _Server:
    def __init__(self, *connections: _Connection) -> None:
        self.connections = connections


def _part(*connections: _Connection, exchanges: tuple[_Connection, ...] = ()) -> list[bool]:
    """Which are broken."""
    server: Any = _Server(*connections)
    asked: Any = exchanges
    asyncio.run(part(server, asked))
    return [one.transport is not None and one.transport.aborted for one in connections]


@pytest.fixture(autouse=True)
def _short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parting, "_PAUSE_SECONDS", 0)


def test_who_has_all_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections without a request, and those that are gone, end by themselves; who reads has the time."""
    monkeypatch.setattr(parting, "GRACE_SECONDS", 20)
    gone = _Connection()
    gone.transport = None
    assert _part(_Connection(), gone, _Connection(unread=5)) == [False, False, False]


def test_who_is_stuck_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """After the grace: those that do not read, and those with a request that does not end."""
    monkeypatch.setattr(parting, "GRACE_SECONDS", 0)
    asking = _Connection()
    broken = _part(_Connection(), _Connection(unread=float("inf")), asking, exchanges=(asking,))
    assert broken == [False, True, True]
