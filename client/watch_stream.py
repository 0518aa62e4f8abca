"""
A watch: raw blocks in, whole events out.

The bytes are split into lines here: only whoever sees them raw can tell an end from a cut. So a line that
has no newline when the stream ends is an error, whatever the transport says, and nothing is taken from it.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from handloop.apis.meta import Object
from handloop.client.decoding.watch_events import Decoded, EventDecoder, WatchEvent
from handloop.client.errors import ClientError, DeadlineExceeded, DecodeError
from handloop.client.http.response import Stream
from handloop.workqueue.seams import REAL_CLOCK, Clock

T = TypeVar("T", bound=Object)

_LINE_LIMIT: Final = 64 << 20
_LINE_SECONDS: Final = 75.0


class WatchStream(Generic[T]):
    """
    The events of one open watch, in order.

    State: _tail, the parts of a line that has begun, since _tail_at; _failed, what the next read raises. All
    belong to the reading thread; close() touches only the stream.
    """

    def __init__(
        self,
        stream: Stream,
        decoder: EventDecoder[T],
        *,
        clock: Clock = REAL_CLOCK,
        line_limit: int = _LINE_LIMIT,
    ) -> None:
        """Args: a line may have line_limit bytes."""
        self._stream = stream
        self._decoder = decoder
        self._clock = clock
        self._line_limit = line_limit
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._tail_at = 0.0
        self._failed: ClientError | None = None

    @property
    def unknown_events(self) -> int:
        """How many events of a type we do not know were left out."""
        return self._decoder.unknown_events

    def read(self) -> list[WatchEvent[T]]:
        """
        The next events, at least one; [] when the server ended the stream as it should.

        Raises: TransportError; DecodeError for a line that is not an event, also one cut off by the end. What
        came before it has been returned, nothing after it will be; the stream is closed.
        Blocks: until events arrive; close() ends it with StreamClosed.
        """
        try:
            while True:
                if self._failed is not None:
                    raise self._failed
                block = self._stream.read_block()
                if not block:
                    self._require_no_tail()
                    return []
                if events := self._take(block):
                    return events
        except ClientError as error:
            self._failed = error
            self.close()
            raise

    def close(self) -> None:
        """End the watch, from any thread, any number of times."""
        self._stream.close()

    def _take(self, block: bytes) -> list[WatchEvent[T]]:
        end = block.rfind(b"\n") + 1
        if not end:
            self._keep(block)
            return []
        lines = block[:end]
        if self._tail:
            lines = b"".join([*self._tail, lines])
            self._tail, self._tail_bytes = [], 0
        if end < len(block):
            self._keep(block[end:])
        decoded: Decoded[T] = self._decoder.decode(lines)
        self._failed = decoded.error
        return decoded.events

    def _keep(self, part: bytes) -> None:
        now = self._clock.now()
        if not self._tail:
            self._tail_at = now
        self._tail.append(part)
        self._tail_bytes += len(part)
        if self._tail_bytes > self._line_limit:
            raise DecodeError(f"an event of more than {self._line_limit} bytes without an end")
        if now - self._tail_at > _LINE_SECONDS:
            raise DeadlineExceeded(f"an event took more than {_LINE_SECONDS:g} s to arrive")

    def _require_no_tail(self) -> None:
        if self._tail:
            raise DecodeError(f"the stream ended inside an event, after {self._tail_bytes} bytes of it")
