"""Between objects and JSON, for one kind: typed views decode into their type, others keep their bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from handloop.apis.meta import Kind, Object, decode_hook, encode_hook
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured
from handloop.client.decoding.json_text import null_as_absent, pruning, read, require_utf8
from handloop.client.decoding.pages import Page, PageDecoder
from handloop.client.decoding.watch_stream import EventDecoder, WireEvent

T = TypeVar("T", bound=Object)
K = TypeVar("K", bound=Kind)


class Codec(Generic[T]):
    """
    How a resource client encodes and decodes the objects of a kind.

    Args: encode makes an object's JSON, item reads it. page reads a whole list page at once, block whole
    lines of a watch; without them each object is read by itself.
    Threads: any; decoders of msgspec keep no state. A decoder of events is for one watch.
    """

    def __init__(
        self,
        resource: Resource,
        encode: Callable[[T], bytes],
        item: Callable[[bytes], T],
        page: Callable[[bytes], Page[T]] | None = None,
        block: Callable[[bytes], Sequence[WireEvent[T]]] | None = None,
    ) -> None:
        self.resource = resource
        self.encode = encode
        self.pages: PageDecoder[T] = PageDecoder(resource, item, page)
        self._item = item
        self._block = block

    def decode(self, body: bytes) -> T:
        """
        One object.

        Raises: DecodeError.
        """
        require_utf8(body)
        return read(self._item, body, f"not a {self.resource.kind}")

    def events(self) -> EventDecoder[T]:
        """A decoder of watch events, for one watch."""
        return EventDecoder(self.resource, self._item, self._block)


def codec_of(kind: type[K]) -> Codec[K]:
    """For a typed view; for an Unstructured every object keeps its own bytes."""
    if issubclass(kind, Unstructured):
        untyped: Codec[Any] = Codec(kind.resource, lambda obj: obj.raw, kind.from_json)
        return untyped
    item = msgspec.json.Decoder(kind, dec_hook=decode_hook)
    page = msgspec.json.Decoder(Page[kind], dec_hook=decode_hook)  # type: ignore[valid-type]
    block = msgspec.json.Decoder(WireEvent[kind], dec_hook=decode_hook)  # type: ignore[valid-type]
    encode = msgspec.json.Encoder(enc_hook=encode_hook).encode
    return Codec(kind.resource, encode, pruning(null_as_absent(item.decode)), page.decode, block.decode_lines)
