"""
Inflates a gzip body piece by piece. Refuses a body whose inflated size is out of proportion.

A body has one or more gzip members. In a streamed list from kube-apiserver 1.37, each event is a member.
Decision: Compressed responses, within limits.
"""

from __future__ import annotations

import zlib
from typing import Final

from handloop.client.errors import BadAnswer, ConnectionBroken, DecompressionBomb

_PIECE_BYTES: Final = 1 << 20
# Lists of similar objects shrink by a factor of 10 to 30, but padding with one character by 650. Therefore
# the ratio is checked only above _FREE_BYTES.
_MOST_TIMES: Final = 100
_FREE_BYTES: Final = 64 << 20
_GZIP: Final = 16 + zlib.MAX_WBITS


class Inflater:
    """
    Converts deflated bytes into inflated pieces.

    A gzip member can inflate to 64 MiB, or to 100 times its size if that is more. The reader limits the total
    of all members, as it does for a plain body.
    State: _input holds bytes that are not inflated yet. _taken and _given are the current member's deflated
    and inflated size so far. Threads: only the reader uses it.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._input = b""
        self._taken = self._given = 0

    def feed(self, data: bytes) -> None:
        """Add the next bytes. Call this only after take() has returned b"" for the previous ones."""
        self._input = data

    def take(self) -> bytes:
        """
        Return inflated input, at most 1 MiB at a time, or b"" if more input is needed.

        Raises: DecompressionBomb; BadAnswer for bytes that are not gzip.
        """
        pieces: list[bytes] = []
        left = _PIECE_BYTES
        while left and self._input:
            if self._member.eof:
                self._member = zlib.decompressobj(_GZIP)
                self._taken = self._given = 0
            pieces.append(self._inflate(left))
            left -= len(pieces[-1])
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def finish(self) -> None:
        """Check that the body ended cleanly. Raises: ConnectionBroken if it ended inside a gzip member."""
        if self._taken and not self._member.eof:
            raise ConnectionBroken("the response was cut off inside its gzip data")

    def _inflate(self, most: int) -> bytes:
        member, size = self._member, len(self._input)
        try:
            piece = member.decompress(self._input, most)
        except zlib.error as error:
            raise BadAnswer(f"the response is not valid gzip: {error}") from error
        self._input = member.unused_data if member.eof else member.unconsumed_tail
        self._taken += size - len(self._input)
        self._given += len(piece)
        if self._given > _FREE_BYTES and self._given > _MOST_TIMES * self._taken:
            raise DecompressionBomb(
                f"refused a gzip bomb: {self._taken} bytes inflate to more than {_MOST_TIMES} times their "
                "size; use disable-compression to request plain responses"
            )
        return piece
