"""
Decodes list pages in one pass, or item by item if that fails.

A page is decoded as a whole into typed objects, which keep none of its bytes alive. Only if an object does
not fit is the page decoded a second time, to find that object.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.meta import Object
from handloop.apis.resource import Resource
from handloop.client.decoding.envelope import read_envelope
from handloop.client.decoding.json_text import MALFORMED, pruning, read, require_utf8, shown
from handloop.client.decoding.sieve import Sieve, foreign
from handloop.client.errors import DecodeError

T = TypeVar("T", bound=Object)
I = TypeVar("I")  # noqa: E741 - an item: the object itself, or its JSON

RAW_LIMIT = 65_536


class Undecodable(NamedTuple):
    """
    An object that does not fit its type, for example because it was stored under an older schema.

    raw is a copy of at most 64 kB of its JSON, which does not keep the page alive.
    """

    key_namespace: str
    key_name: str
    resource_version: str
    raw: bytes
    error: str
    uid: str = ""

    def __repr__(self) -> str:
        """Leave out the object's JSON, which may contain a Secret's values."""
        return f"<Undecodable {self.key_namespace}/{self.key_name}: {self.error}>"


def undecodable(raw: bytes, error: Exception) -> Undecodable:
    """
    Return the entry for an object that does not fit its type.

    Raises: DecodeError if the object has no name or resource version, and so cannot be reported.
    """
    envelope = read_envelope(raw)
    if not envelope.name or not envelope.resource_version:
        raise DecodeError(f"an object without metadata.name or resourceVersion: {shown(raw)}")
    return Undecodable(
        key_namespace=envelope.namespace,
        key_name=envelope.name,
        resource_version=envelope.resource_version,
        raw=bytes(raw[:RAW_LIMIT]),
        error=str(error),
        uid=envelope.uid,
    )


@dataclass(frozen=True, slots=True)
class ListPage(Generic[I]):
    """
    One page of a list.

    resource_version is the list's version, from which a watch can continue. continue_token is None on the
    last page. remaining_item_count is None if the server sends none (on the last page, or with selectors).
    narrowed is true if the server reports that it applied the shard selector (metadata.shardInfo). If
    narrowed is false, the server may still have applied the selector.
    """

    items: list[I]
    resource_version: str
    continue_token: str | None = None
    remaining_item_count: int | None = None
    undecodable: tuple[Undecodable, ...] = ()
    narrowed: bool = False


class _ListMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    resource_version: str = ""
    continue_token: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None
    shard_info: Any = None


class Page(msgspec.Struct, Generic[I], frozen=True, gc=False, rename="camel"):
    """A list on the wire."""

    kind: str = ""
    api_version: str = ""
    metadata: _ListMeta | None = None
    items: list[I] | None = None


class PageDecoder(Generic[T]):
    """
    Decodes the lists of one kind.

    Args: whole decodes a whole page; if it is None, each item is decoded separately. item decodes one
    object's JSON.
    """

    def __init__(
        self,
        resource: Resource,
        item: Callable[[bytes], T],
        whole: Callable[[bytes], Page[T]] | None = None,
    ) -> None:
        self._resource = resource
        self._item = item
        self._whole = whole
        self._raw = pruning(decoder_of(Page[msgspec.Raw]).decode)

    def decode(self, body: bytes, sieve: Sieve | None = None) -> ListPage[T]:
        """
        Decode one page.

        Raises: DecodeError if the body is not a list of this kind.
        """
        require_utf8(body)
        if self._whole is not None and not (sieve is not None and sieve.metadata_first):
            try:
                page = self._whole(body)
            except MALFORMED:
                return self._decode_items(body, sieve)
            items = page.items or []
            if all(item.metadata.name for item in items):
                return self._finish(page, items, ())
        return self._decode_items(body, sieve)

    def _decode_items(self, body: bytes, sieve: Sieve | None) -> ListPage[T]:
        page = read(self._raw, body, f"not a list of {self._resource}")
        items: list[T] = []
        bad: list[Undecodable] = []
        for raw in page.items or ():
            text = bytes(raw)
            if foreign(text, sieve) is not None:
                continue
            try:
                item = self._item(text)
            except MALFORMED as error:
                bad.append(undecodable(text, error))
                continue
            if not item.metadata.name:
                raise DecodeError(f"a list item without metadata.name: {shown(text)}")
            items.append(item)
        return self._finish(page, items, tuple(bad))

    def _finish(self, page: Page[Any], items: list[T], bad: tuple[Undecodable, ...]) -> ListPage[T]:
        if not page.kind.endswith("List") or page.api_version != self._resource.api_version:
            what = f"{page.api_version} {page.kind}".strip() or "something without a kind"
            raise DecodeError(f"expected a list of {self._resource}, got {what}")
        if page.metadata is None:
            raise DecodeError(f"a list of {self._resource} without metadata")
        return ListPage(
            items=items,
            resource_version=page.metadata.resource_version,
            continue_token=page.metadata.continue_token or None,
            remaining_item_count=page.metadata.remaining_item_count,
            undecodable=bad,
            narrowed=page.metadata.shard_info is not None,
        )
