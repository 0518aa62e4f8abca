"""A viewer of the live page's stream, without a browser."""

from __future__ import annotations

import http.client
import json
import socket
from types import TracebackType
from typing import Any, NamedTuple, Self

SECONDS = 20.0


class Message(NamedTuple):
    """One message of the stream; data is decoded."""

    event: str
    id: str
    data: Any


class Viewer:
    """Reads `/debug/live/events`; a context that ends the connection."""

    def __init__(self, port: int, *, last_event_id: str = "") -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
        self._connection.request("GET", "/debug/live/events", headers=headers)
        self.answer = self._connection.getresponse()
        assert isinstance(self._connection.sock, socket.socket) or self.answer.status != 200

    def read(self) -> Message:
        """The next message. Raises: EOFError at the end of the stream."""
        fields: dict[str, str] = {}
        while line := self.answer.readline():
            text = line.decode().rstrip("\r\n")
            name, _, value = text.partition(": ")
            if text and name:
                fields[name] = value
            elif "data" in fields:
                return Message(fields.get("event", ""), fields.get("id", ""), json.loads(fields["data"]))
        raise EOFError

    def wait(self, event: str) -> Message:
        """The next message of a kind."""
        while (message := self.read()).event != event:
            pass
        return message

    def steps(self, number: int, key: str) -> list[dict[str, Any]]:
        """All steps up to and with the first of that number and key."""
        found: list[dict[str, Any]] = []
        while True:
            found += self.wait("steps").data
            if any((step["step"], step["key"]) == (number, key) for step in found):
                return found

    def close(self) -> None:
        """End the connection."""
        self.answer.close()
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
