"""The responses that a transport returns: whole responses, and streams that are read while they arrive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping
from typing import NamedTuple, Protocol


class Headers(MutableMapping[str, str]):
    """Header fields with case-insensitive names. Several values for one name are joined by commas."""

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        self._fields: dict[str, tuple[str, str]] = {}
        self.update(fields or {})

    def add(self, name: str, value: str) -> None:
        """Add a field."""
        before = self._fields.get(name.lower())
        self._fields[name.lower()] = (name, value) if before is None else (before[0], f"{before[1]}, {value}")

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()][1]

    def __setitem__(self, name: str, value: str) -> None:
        self._fields[name.lower()] = name, value

    def __delitem__(self, name: str) -> None:
        del self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self._fields.values())

    def __len__(self) -> int:
        return len(self._fields)


class Response(NamedTuple):
    """A whole response."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """A response that is read while it arrives. One thread reads it; any thread can close it."""

    @property
    def status(self) -> int:
        """The HTTP status code."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields, with case-insensitive names."""

    def read_block(self) -> bytes:
        """
        Return the next bytes as they arrived, or b"" at the clean end.

        Raises: ConnectionBroken if the connection ends first, DeadlineExceeded if no data arrives for too
        long, StreamClosed if close() was called before or during the read; other TransportErrors.
        Blocks: until at least one byte arrives.
        """

    def read_all(self) -> bytes:
        """Return the rest of a short response, such as an error. Raises: the same errors as read_block."""

    def close(self) -> None:
        """Close the connection. Any thread can call this, even repeatedly. A blocked reader then raises."""
