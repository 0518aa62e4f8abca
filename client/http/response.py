"""What a transport answers: a whole response, or one that is read while it arrives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Protocol


class Headers(Mapping[str, str]):
    """Header fields; names are compared without case. Of repeated fields the last is seen."""

    def __init__(self, items: Iterable[tuple[str, str]] = ()) -> None:
        self._fields = {name.lower(): value for name, value in items}

    def __getitem__(self, name: str) -> str:
        return self._fields[name.lower()]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __len__(self) -> int:
        return len(self._fields)

    def __repr__(self) -> str:
        return f"Headers({list(self._fields)})"


class Response(NamedTuple):
    """A whole answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Stream(Protocol):
    """An answer that is read while it arrives. One thread reads; any thread closes."""

    @property
    def status(self) -> int:
        """The HTTP status code."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The header fields, compared without case."""

    def read_block(self) -> bytes:
        """
        The next bytes as they came, b"" at the clean end.

        Raises: ConnectionBroken when the connection ends first, DeadlineExceeded after silence, StreamClosed
        when close() came first or meanwhile; other TransportErrors.
        Blocks: for at least one byte.
        """

    def read_all(self) -> bytes:
        """The rest of a short answer, such as an error's. Raises as read_block."""

    def close(self) -> None:
        """Give the connection up, from any thread, any number of times; a blocked reader raises at once."""
