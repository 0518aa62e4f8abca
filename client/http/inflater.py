"""
Inflates a gzip body piece by piece, and refuses a body that inflates out of proportion.

A body has one or more members. In a streamed list from kube-apiserver 1.37, each event is a member.
Decision: Compressed answers, within limits.
"""

from __future__ import annotations

import zlib
from typing import Final

from handloop.client.errors import BadAnswer, ConnectionBroken, DecompressionBomb

_PIECE_BYTES: Final = 1 << 20
# Lists of similar objects shrink by a factor of 10 to 30, and padding of one character by 650, so allow some.
_MOST_TIMES: Final = 100
_FREE_BYTES: Final = 64 << 20
_GZIP: Final = 16 + zlib.MAX_WBITS


class Inflater:
    """
    Turns deflated bytes into inflated pieces.

    A member may inflate to 64 MiB, or to 100 times its size if that is more. The reader limits the total of
    all members, as it does for a plain body.
    State: _input holds bytes that are not inflated yet; _taken and _given are the current member's size so
    far, deflated and inflated. Threads: only the reader.
    """

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._input = b""
        self._taken = self._given = 0

    def feed(self, data: bytes) -> None:
        """Add bytes that have arrived, after take() has returned b"" for the earlier ones."""
        self._input = data

    def take(self) -> bytes:
        """
        Return inflated input, at most 1 MiB at a time; b"" if more input is needed.

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
        """Check that the body ended cleanly. Raises: ConnectionBroken inside a member."""
        if self._taken and not self._member.eof:
            raise ConnectionBroken("the response was cut off inside its gzip")

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
                f"refused a gzip bomb: {self._taken} bytes inflate to more than {_MOST_TIMES} times as many; "
                "disable-compression asks for plain answers"
            )
        return piece
