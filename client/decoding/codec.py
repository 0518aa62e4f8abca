"""Between objects and JSON, for one kind: typed views decode into their type, others keep their bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from handloop.apis.meta import Kind, Object, decode_hook
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured
from handloop.client.decoding.event_decoder import EventDecoder, WireEvent
from handloop.client.decoding.json_text import MALFORMED, prune, require_utf8, shown
from handloop.client.decoding.page_decoder import Page, PageDecoder
from handloop.client.errors import DecodeError

T = TypeVar("T", bound=Object)
K = TypeVar("K", bound=Kind)


class Codec(Protocol[T]):
    """What a resource client must know of a kind's objects."""

    @property
    def resource(self) -> Resource:
        """The kind and where it lives."""

    def encode(self, obj: T) -> bytes:
        """The object's JSON."""

    def decode(self, body: bytes) -> T:
        """
        One object.

        Raises: DecodeError.
        """

    def pages(self) -> PageDecoder[T]:
        """A decoder of list pages, for any thread."""

    def events(self) -> EventDecoder[T]:
        """A decoder of watch events, for one watch."""


class TypedCodec(Generic[K]):
    """For a typed view. Threads: any; decoders of msgspec keep no state."""

    def __init__(self, kind: type[K]) -> None:
        self.resource = kind.resource
        self._item = msgspec.json.Decoder(kind, dec_hook=decode_hook)
        self._events = msgspec.json.Decoder(WireEvent[kind], dec_hook=decode_hook)  # type: ignore[valid-type]
        page = msgspec.json.Decoder(Page[kind], dec_hook=decode_hook)  # type: ignore[valid-type]
        self._pages: PageDecoder[K] = PageDecoder(self.resource, self._decode_item, page.decode)

    def encode(self, obj: K) -> bytes:
        """The object's JSON."""
        return msgspec.json.encode(obj)

    def decode(self, body: bytes) -> K:
        """One object; see Codec."""
        require_utf8(body)
        try:
            return self._decode_item(body)
        except MALFORMED as error:
            raise DecodeError(f"not a {self.resource.kind} ({error}): {shown(body)}") from error

    def pages(self) -> PageDecoder[K]:
        """A decoder of list pages; see Codec."""
        return self._pages

    def events(self) -> EventDecoder[K]:
        """A decoder of watch events; see Codec."""
        return EventDecoder(self.resource, self._decode_item, self._decode_block)

    def _decode_item(self, body: bytes) -> K:
        try:
            return self._item.decode(body)
        except RecursionError:
            return self._item.decode(prune(body))

    def _decode_block(self, lines: bytes) -> Sequence[WireEvent[K]]:
        return self._events.decode_lines(lines)


class UnstructuredCodec:
    """For a kind nobody typed: every object keeps its own bytes."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self._pages: PageDecoder[Unstructured] = PageDecoder(resource, self._decode_item)

    def encode(self, obj: Unstructured) -> bytes:
        """The object's JSON."""
        return obj.raw

    def decode(self, body: bytes) -> Unstructured:
        """One object; see Codec."""
        require_utf8(body)
        try:
            return self._decode_item(body)
        except MALFORMED as error:
            raise DecodeError(f"not a {self.resource.kind} ({error}): {shown(body)}") from error

    def pages(self) -> PageDecoder[Unstructured]:
        """A decoder of list pages; see Codec."""
        return self._pages

    def events(self) -> EventDecoder[Unstructured]:
        """A decoder of watch events; see Codec."""
        return EventDecoder(self.resource, self._decode_item)

    def _decode_item(self, body: bytes) -> Unstructured:
        obj = Unstructured(body)
        if obj.kind not in ("", self.resource.kind) or obj.api_version not in ("", self.resource.api_version):
            raise ValueError(f"is a {obj.api_version} {obj.kind}")
        return obj
