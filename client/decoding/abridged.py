"""
Decodes most of a kind's objects only in part, because a cache of thousands rarely needs all their fields.

First every object is decoded into a smaller type, because skipping a field is much cheaper than decoding it.
The smaller object's fields show whether the whole object is needed. If so, it is decoded again. The result
for an object therefore depends only on its JSON, not on the page or block that contained it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.meta import Kind
from handloop.apis.without import Abridged
from handloop.client.decoding.pages import Page
from handloop.client.decoding.watch_stream import WireEvent, lines_of

K = TypeVar("K", bound=Kind)


class AbridgedDecoder(Generic[K]):
    """
    Decodes single objects, pages and blocks, first in part and then in full where necessary.

    Each method raises the errors of a msgspec decoder.
    Threads: usable from any thread.
    """

    def __init__(self, abridged: Abridged[K], hook: Callable[[type, Any], Any]) -> None:
        """Args: hook is the kind's dec_hook."""

        def decoder(of: Any) -> msgspec.json.Decoder[Any]:
            return decoder_of(of, hook)

        kind: Any = abridged.kind
        brief: Any = abridged.brief
        self._needs_whole = abridged.needs_whole
        self._item = decoder(brief).decode
        self._page = decoder(Page[brief]).decode
        self._block = decoder(WireEvent[brief]).decode_lines
        self._whole_item = decoder(kind).decode
        self._whole_event = decoder(WireEvent[kind]).decode
        self._texts = decoder(Page[msgspec.Raw]).decode

    def item(self, data: bytes) -> K:
        """Decode one object."""
        obj: K = self._item(data)
        return self._whole_item(data) if self._needs_whole(obj) else obj

    def page(self, body: bytes) -> Page[K]:
        """Decode a list page."""
        page: Page[K] = self._page(body)
        items = page.items or []
        if whole := [at for at, item in enumerate(items) if self._needs_whole(item)]:
            texts = self._texts(body).items
            for at in whole:
                items[at] = self._whole_item(texts[at])
        return page

    def block(self, lines: bytes) -> Sequence[WireEvent[K]]:
        """Decode whole lines of a watch."""
        events: list[WireEvent[K]] = self._block(lines)
        if whole := [at for at, event in enumerate(events) if self._needs_whole(event.object)]:
            texts = lines_of(lines)
            for at in whole:
                events[at] = self._whole_event(texts[at])
        return events
