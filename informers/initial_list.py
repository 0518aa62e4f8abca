"""
The two ways to get all objects of a kind: page by page, or as the beginning of a watch.

Both are consistent: all of the list is the state at one resource version, and nothing of it is used until it
is complete. Neither asks for resourceVersion=0, which a server may answer from an arbitrarily old cache, so
that after a restart deleted objects come back (kubernetes#59848).
Follows: client-go tools/pager/pager.go and the temporary store of tools/cache/reflector.go @32ce75a7d.
Differs: objects pass the transformer as they arrive, of pages as of streams, and once; upstream's streams
pass it a second time when they enter the FIFO.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from handloop.apis.meta import Object
from handloop.client.decoding.pages import ListPage, Undecodable
from handloop.client.decoding.watch_events import Bookmark, EventType, WatchEvent
from handloop.client.errors import APIError, is_expired
from handloop.client.options import ListOptions
from handloop.informers.delta_fifo import Transformed
from handloop.informers.keys import meta_namespace_key_func
from handloop.informers.quarantine import store_key

T = TypeVar("T", bound=Object)

NOT_OLDER_THAN: Final = "NotOlderThan"

_ADDED: Final = EventType.ADDED
_MODIFIED: Final = EventType.MODIFIED
_DELETED: Final = EventType.DELETED


class PagedList(Generic[T]):
    """
    A list by pages, all at the resource version of the first.

    When the continue token expires on the way, what was read is dropped and the whole list is asked for at
    once: pages of two lists are never mixed.

    Args: resource_version = the list must not be older than that; "" = the newest state. transform
    makes what is kept of an object as it arrives, so that a list is never in memory with all it came with.
    Threads: the reflector's; items_so_far and pages may be read from any, one step behind.
    """

    def __init__(
        self,
        fetch: Callable[[ListOptions], ListPage[T]],
        *,
        resource_version: str,
        page_size: int,
        transform: Callable[[T], T] | None = None,
    ) -> None:
        self._fetch = fetch
        self._transform = transform
        self._options = ListOptions(
            resource_version=resource_version or None,
            resource_version_match=NOT_OLDER_THAN if resource_version else "",
            limit=page_size,
        )
        self._token = ""
        self.items: list[T] = [] if transform is None else Transformed()
        self.undecodable: list[Undecodable] = []
        self.resource_version = ""
        self.pages = 0

    @property
    def items_so_far(self) -> int:
        """How many objects have arrived."""
        return len(self.items)

    def fetch_page(self) -> bool:
        """
        Read the next page.

        Returns: True when that was the last one.
        Raises: whatever the list call raises, but for an expired continue token.
        """
        page = self._next_page()
        if self.pages == 0:
            self.resource_version = page.resource_version
        self.pages += 1
        self._collect(page.items)
        self.undecodable += page.undecodable
        self._token = page.continue_token or ""
        return not self._token

    def _collect(self, objects: list[T]) -> None:
        if self._transform is None or not isinstance(self.items, Transformed):
            self.items += objects
            return
        for obj in objects:
            self.items.take(meta_namespace_key_func(obj), self._transform(obj))

    def _next_page(self) -> ListPage[T]:
        if not self._token:
            return self._fetch(self._options)
        try:
            return self._fetch(ListOptions(limit=self._options.limit, continue_token=self._token))
        except APIError as error:
            if not is_expired(error):
                raise
        self.items = [] if self._transform is None else Transformed()
        self.undecodable, self.pages = [], 0
        return self._fetch(msgspec.structs.replace(self._options, limit=0))


class StreamedList(Generic[T]):
    """
    A list that arrives as the first events of a watch, until a bookmark ends it.

    State: _objects = store key -> newest state; undecodable objects by the same keys, in one or the other.
    Threads: as PagedList.
    """

    pages: Final = 0

    def __init__(self, kind: type[T], transform: Callable[[T], T] | None = None) -> None:
        self._kind = kind
        self._transform = transform
        self._objects: dict[str, T] = {}
        self._undecodable: dict[str, Undecodable] = {}
        self.resource_version = ""

    @property
    def items_so_far(self) -> int:
        """How many objects have arrived."""
        return len(self._objects)

    @property
    def items(self) -> list[T]:
        """The objects."""
        if self._transform is None:
            return list(self._objects.values())
        items: Transformed[T] = Transformed()
        for key, obj in self._objects.items():
            items.take(key, obj)
        return items

    @property
    def undecodable(self) -> list[Undecodable]:
        """The objects that did not fit their type."""
        return list(self._undecodable.values())

    def take(self, events: list[WatchEvent[T]]) -> list[WatchEvent[T]] | None:
        """
        Take in a block of events.

        Returns: None while the list is not complete; then the events that came after its end.
        Raises: the APIError of an ERROR event.
        """
        kind, objects = self._kind, self._objects
        for position, (event_type, obj) in enumerate(events):
            if isinstance(obj, kind) and event_type is _ADDED and not self._undecodable:
                objects[meta_namespace_key_func(obj)] = self._kept(obj)
            elif isinstance(obj, Bookmark):
                if obj.ends_initial_events:
                    self.resource_version = obj.resource_version
                    return events[position + 1 :]
            elif isinstance(obj, APIError):
                raise obj
            else:
                self._take_one(event_type, obj)
        return None

    def _take_one(self, event_type: EventType, obj: object) -> None:
        """Apply an event that is not simply an add; other kinds and unknown events change nothing."""
        fits = isinstance(obj, self._kind)
        if event_type not in (_ADDED, _MODIFIED, _DELETED):
            return
        if isinstance(obj, Undecodable):
            key = store_key(obj)
        elif fits:
            key = meta_namespace_key_func(obj)  # type: ignore[arg-type] # isinstance of a type variable's type
        else:
            return
        self._objects.pop(key, None)
        self._undecodable.pop(key, None)
        if event_type is _DELETED:
            return
        if isinstance(obj, Undecodable):
            self._undecodable[key] = obj
        else:
            self._objects[key] = self._kept(obj)  # type: ignore[arg-type] # the same

    def _kept(self, obj: T) -> T:
        return obj if self._transform is None else self._transform(obj)
