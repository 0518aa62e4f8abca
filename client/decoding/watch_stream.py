"""
Reads a watch, by turning raw blocks into whole events.

This module splits the bytes into lines, because only the raw bytes show whether a stream ended or was cut
off. If the last line of a stream has no newline, it is not decoded and is an error, even if the transport
ended cleanly. All lines of a block are decoded in one pass, straight into typed objects. That pass fails if a
line is an ERROR event, has an unknown event type, or contains an object of another kind or one that does not
fit its type. In that case the block is decoded again, line by line. If the sieve's metadata_first is true, an
earlier pass decodes only the metadata that the sieve needs, and drops the lines of foreign objects.
Decision: Whole blocks, not single objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.meta import Object
from handloop.apis.resource import Resource
from handloop.client.decoding.envelope import read_envelope
from handloop.client.decoding.json_text import MALFORMED, pruning, read, require_utf8, shown
from handloop.client.decoding.pages import Undecodable, undecodable
from handloop.client.decoding.sieve import Foreign, Named, Sieve, foreign
from handloop.client.errors import APIError, ClientError, DeadlineExceeded, DecodeError, error_from_status
from handloop.client.errors.status import status_from_json
from handloop.client.http.response import Stream
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.logs import get_logger

log = get_logger("client")

T = TypeVar("T", bound=Object)
I = TypeVar("I")  # noqa: E741 - an item: the object itself, or its JSON

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


class EventType(StrEnum):
    """The type of a watch event. The values are those on the wire."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"
    BOOKMARK = "BOOKMARK"
    ERROR = "ERROR"


class Bookmark(NamedTuple):
    """A point in the history, without an object. The server has sent all changes up to resource_version."""

    resource_version: str
    annotations: Mapping[str, str]

    @property
    def ends_initial_events(self) -> bool:
        """Return whether this bookmark completes a streaming list."""
        return self.annotations.get(INITIAL_EVENTS_END) == "true"


class WrongKind(NamedTuple):
    """An object of a kind that was not requested."""

    api_version: str
    kind: str


class WatchEvent(NamedTuple, Generic[I]):
    """
    One event.

    object is usually an I, the kind's own type. It is a Bookmark for BOOKMARK, an APIError for ERROR, an
    Undecodable for an object that does not fit its type, a WrongKind for an object of another kind, and a
    Foreign for an object that a sieve has dropped.
    """

    type: EventType
    object: I | Bookmark | APIError | Undecodable | WrongKind | Foreign


class WireEvent(msgspec.Struct, Generic[I], frozen=True, gc=False):
    """An event on the wire."""

    type: EventType
    object: I


class _RawEvent(msgspec.Struct, frozen=True, gc=False):
    type: str
    object: msgspec.Raw


class Decoded(NamedTuple, Generic[T]):
    """The events before the first bad line, and the error of that line."""

    events: list[WatchEvent[T]]
    error: DecodeError | None = None


class EventDecoder(Generic[T]):
    """
    Decodes the events of one kind.

    Args: item decodes one object's JSON. block decodes whole lines at once; if it is None, each line is
    decoded separately. sieve drops foreign objects; None drops no objects.
    State: unknown_events counts the events of unknown types, which are left out.
    Threads: used only by the thread that reads the watch.
    """

    def __init__(
        self,
        resource: Resource,
        item: Callable[[bytes], T],
        block: Callable[[bytes], Sequence[WireEvent[T]]] | None = None,
        *,
        sieve: Sieve | None = None,
    ) -> None:
        self._resource = resource
        self._item = item
        self._block = block
        self._sieve = sieve
        self._raw = pruning(decoder_of(_RawEvent).decode)
        self.unknown_events = 0

    def decode(self, lines: bytes) -> Decoded[T]:
        """Return the events in a block of lines that each end with a newline. Empty lines are allowed."""
        if self._sieve is not None and self._sieve.metadata_first:
            return self._decode_wanted(lines, self._sieve)
        return self._decode_block(lines)

    def _decode_wanted(self, lines: bytes, sieve: Sieve) -> Decoded[T]:
        """Return the events about wanted objects, and a Foreign if the last object is not wanted."""
        try:
            require_utf8(lines)
            named = _named(lines)
            texts = lines_of(lines)
            wanted = [text for text, event in zip(texts, named, strict=True) if _is_wanted(event, sieve)]
        except (*MALFORMED, DecodeError):
            return self._decode_lines(lines)
        decoded: Decoded[T] = self._decode_block(b"\n".join(wanted)) if wanted else Decoded([])
        if decoded.error is None and texts and (not wanted or wanted[-1] is not texts[-1]):
            last = named[-1]
            decoded.events.append(WatchEvent(last.type, Foreign(last.object.metadata.resource_version)))
        return decoded

    def _decode_block(self, lines: bytes) -> Decoded[T]:
        if self._block is None:
            return self._decode_lines(lines)
        try:
            require_utf8(lines)
            decoded = self._block(lines)
        except (*MALFORMED, DecodeError):
            return self._decode_lines(lines)
        # In the usual case, every object in a block has a name and a version. Then no line is checked on its
        # own, which saves a call per event.
        events = [
            WatchEvent(event.type, event.object)
            for event in decoded
            if event.type is not _BOOKMARK and event.type is not _ERROR
            if (metadata := event.object.metadata).name and metadata.resource_version
        ]
        return Decoded(events) if len(events) == len(decoded) else self._decode_lines(lines)

    def _decode_lines(self, lines: bytes) -> Decoded[T]:
        events: list[WatchEvent[T]] = []
        for line in lines_of(lines):
            try:
                event = self._decode_line(line)
            except DecodeError as error:
                return Decoded(events, error)
            if event is not None:
                events.append(event)
        return Decoded(events)

    def _decode_line(self, line: bytes) -> WatchEvent[T] | None:
        require_utf8(line)
        event = read(self._raw, line, "malformed event")
        kind, raw = event.type, bytes(event.object)
        if kind not in _TYPES:
            self._skip(kind)
            return None
        if kind == _ERROR:
            return WatchEvent(_ERROR, self._error(raw))
        if kind == _BOOKMARK:
            return WatchEvent(_BOOKMARK, self._bookmark(raw))
        return WatchEvent(EventType(kind), self._object(raw))

    def _skip(self, kind: str) -> None:
        if not self.unknown_events:
            log.warning("Unexpected watch event type", type=kind[:40], resource=str(self._resource))
        self.unknown_events += 1

    def _object(self, raw: bytes) -> T | Undecodable | WrongKind | Foreign:
        if (dropped := foreign(raw, self._sieve)) is not None:
            return dropped
        try:
            item = self._item(raw)
        except MALFORMED as error:
            return self._misfit(raw, error)
        if not item.metadata.name or not item.metadata.resource_version:
            raise DecodeError(f"an object without metadata.name or resourceVersion: {shown(raw)}")
        return item

    def _misfit(self, raw: bytes, error: Exception) -> Undecodable | WrongKind:
        envelope = read_envelope(raw)
        resource = self._resource
        ours = envelope.kind in ("", resource.kind) and envelope.api_version in ("", resource.api_version)
        return undecodable(raw, error) if ours else WrongKind(envelope.api_version, envelope.kind)

    def _bookmark(self, raw: bytes) -> Bookmark | WrongKind:
        envelope = read_envelope(raw)
        if envelope.kind not in ("", self._resource.kind):
            return WrongKind(envelope.api_version, envelope.kind)
        if not envelope.resource_version:
            raise DecodeError(f"a bookmark without resourceVersion: {shown(raw)}")
        return Bookmark(envelope.resource_version, envelope.annotations)

    def _error(self, raw: bytes) -> APIError:
        status = status_from_json(read(msgspec.json.decode, raw, "malformed error event"))
        if not status.message:
            status = msgspec.structs.replace(status, message=f"error event: {shown(raw)}")
        return error_from_status(status, verb="watch", resource=self._resource.group_resource)


def lines_of(block: bytes) -> list[bytes]:
    """Return the non-empty lines of a block, one for each event."""
    return [line for line in block.split(b"\n") if line and not line.isspace()]


_TYPES: Final = frozenset(EventType)
_BOOKMARK: Final = EventType.BOOKMARK
_ERROR: Final = EventType.ERROR
_named = decoder_of(WireEvent[Named]).decode_lines


def _is_wanted(event: WireEvent[Named], sieve: Sieve) -> bool:
    """Return whether an event is about a wanted object, or is not about an object."""
    if event.type is _BOOKMARK or event.type is _ERROR:
        return True
    names = event.object.metadata
    return sieve.keeps(names.namespace, names.uid)


LINE_LIMIT: Final = 64 << 20
_LINE_SECONDS: Final = 75.0


class WatchStream(Generic[T]):
    """
    Returns the events of one open watch, in order.

    State: _tail holds the parts of an unfinished line, and _tail_at is when its first bytes arrived. _failed
    is the error that the next read raises. Only the reading thread uses these fields; close() uses only the
    stream.
    """

    def __init__(
        self,
        stream: Stream,
        decoder: EventDecoder[T],
        *,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._stream = stream
        self._decoder = decoder
        self._clock = clock
        self._tail: list[bytes] = []
        self._tail_bytes = 0
        self._tail_at = 0.0
        self._failed: ClientError | None = None

    @property
    def unknown_events(self) -> int:
        """Return how many events of unknown types were left out."""
        return self._decoder.unknown_events

    def read(self) -> list[WatchEvent[T]]:
        """
        Return the next events, at least one; [] if the server ended the stream cleanly.

        Raises: TransportError; DecodeError for a line that is not an event, or that is incomplete when the
        stream ends. The events before the error have already been returned. The events after it are lost, and
        the stream is closed.
        Blocks: until events arrive. close() ends the wait with StreamClosed.
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
        """End the watch. Any thread can call this, any number of times."""
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
        if self._tail_bytes > LINE_LIMIT:
            raise DecodeError(f"an event is longer than the limit of {LINE_LIMIT} bytes")
        if now - self._tail_at > _LINE_SECONDS:
            raise DeadlineExceeded(f"an event took more than {_LINE_SECONDS:g} s to arrive")

    def _require_no_tail(self) -> None:
        if self._tail:
            raise DecodeError(f"the stream ended inside an event, after {self._tail_bytes} bytes of it")
