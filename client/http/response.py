"""The answer of a transport: a whole response, or one that is read while it arrives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol


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
