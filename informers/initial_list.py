"""
The two ways to list all of a kind's objects: in pages, or as the first events of a watch.

Both are consistent: the list is the state at one resource version, and no part of it is used before it is
complete. Neither requests resourceVersion=0. A server may answer such a request from an arbitrarily old
cache, so that deleted objects would reappear after a restart (kubernetes#59848).
Follows: client-go tools/pager/pager.go and the temporary store of tools/cache/reflector.go @32ce75a7d.
Differs: objects are always transformed only once, when they arrive; in client-go, streamed objects
are transformed a second time when they enter the FIFO.
Decision: First list: streamed, or in pages at a consistent version; never `resourceVersion=0`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

import msgspec

from handloop.apis.meta import Object
from handloop.client.decoding.pages import ListPage, Undecodable
from handloop.client.decoding.watch_stream import Bookmark, EventType, WatchEvent
from handloop.client.errors import APIError, is_expired
from handloop.client.options import ListOptions
from handloop.informers.delta_fifo import Listed
from handloop.informers.keys import meta_namespace_key_func
from handloop.informers.listwatch import NOT_OLDER_THAN
from handloop.informers.quarantine import store_key
from handloop.seams.logs import get_logger, in_words

log = get_logger("informers")

T = TypeVar("T", bound=Object)

_ADDED: Final = EventType.ADDED
_MODIFIED: Final = EventType.MODIFIED
_DELETED: Final = EventType.DELETED


def unchanged(obj: T) -> T:
    """Return the whole object. This is the default transform."""
    return obj


def forgiving(transform: Callable[[T], T]) -> Callable[[T], T]:
    """
    Return a transform that never fails: if the given one fails, it returns the object unchanged.

    A result with another name is a failure, too. So is None, from a function that forgets a return.
    """

    def checked(obj: T) -> T:
        transformed = transform(obj)
        if meta_namespace_key_func(transformed) != meta_namespace_key_func(obj):
            raise ValueError("the transform changed the namespace or the name")
        return transformed

    def call(obj: T) -> T:
        try:
            return checked(obj)
        except BaseException as error:
            facts = {"key": meta_namespace_key_func(obj), "err": in_words(error, repr)}
            log.exception("Transform failed: the object is kept whole", kind=type(obj).__name__, **facts)
            return obj

    return call


class PagedList(Generic[T]):
    """
    A list that is read in pages, all of them at the first page's resource version.

    If the continue token expires before the last page, the whole list is requested again without pages. The
    pages read so far are discarded, because they belong to an older resource version.

    Args: resource_version is the minimum version of the list; "" requests the newest state. transform is
    applied to each object when it arrives, so that the untransformed objects are never all in memory.
    Threads: runs on the reflector's thread. Any thread can read items_so_far and pages, which may be one
    step behind.
    """

    def __init__(
        self,
        fetch: Callable[[ListOptions], ListPage[T]],
        *,
        resource_version: str,
        page_size: int,
        transform: Callable[[T], T] = unchanged,
    ) -> None:
        self._fetch = fetch
        self._transform = transform
        self._options = ListOptions(
            resource_version=resource_version or None,
            resource_version_match=NOT_OLDER_THAN if resource_version else "",
            limit=page_size,
        )
        self._token = ""
        self.items: Listed[T] = Listed()
        self.undecodable: list[Undecodable] = []
        self.resource_version = ""
        self.pages = 0

    @property
    def items_so_far(self) -> int:
        """How many objects have arrived so far."""
        return len(self.items)

    def fetch_page(self) -> bool:
        """
        Read the next page.

        Returns: True if that was the last page.
        Raises: any error from the list call, except for an expired continue token.
        """
        page = self._next_page()
        if self.pages == 0:
            self.resource_version = page.resource_version
        self.pages += 1
        for obj in page.items:
            self.items.take(meta_namespace_key_func(obj), self._transform(obj))
        self.undecodable += page.undecodable
        self._token = page.continue_token or ""
        return not self._token

    def _next_page(self) -> ListPage[T]:
        if not self._token:
            return self._fetch(self._options)
        try:
            return self._fetch(ListOptions(limit=self._options.limit, continue_token=self._token))
        except APIError as error:
            if not is_expired(error):
                raise
        self.items, self.undecodable, self.pages = Listed(), [], 0
        return self._fetch(msgspec.structs.replace(self._options, limit=0))


class StreamedList(Generic[T]):
    """
    A list that arrives as a watch's first events. A bookmark ends it.

    State: _objects maps store keys to the newest states; _undecodable maps store keys to the objects that do
    not fit their type. No key is in both.
    Threads: runs on the reflector's thread. Any thread can read items_so_far and pages, which may be one
    step behind.
    """

    pages: Final = 0

    def __init__(self, kind: type[T], transform: Callable[[T], T] = unchanged) -> None:
        self._kind = kind
        self._transform = transform
        self._objects: dict[str, T] = {}
        self._undecodable: dict[str, Undecodable] = {}
        self.resource_version = ""

    @property
    def items_so_far(self) -> int:
        """How many objects have arrived so far."""
        return len(self._objects)

    @property
    def items(self) -> Listed[T]:
        """The objects."""
        items: Listed[T] = Listed()
        for key, obj in self._objects.items():
            items.take(key, obj)
        return items

    @property
    def undecodable(self) -> list[Undecodable]:
        """The objects that did not fit their type."""
        return list(self._undecodable.values())

    def take(self, events: list[WatchEvent[T]]) -> list[WatchEvent[T]] | None:
        """
        Add a block of watch events to the list.

        Returns: None until the list is complete, and then the events that followed it.
        Raises: the APIError from an ERROR event.
        """
        kind, objects, transform = self._kind, self._objects, self._transform
        for position, (event_type, obj) in enumerate(events):
            if isinstance(obj, kind) and event_type is _ADDED and not self._undecodable:
                objects[meta_namespace_key_func(obj)] = transform(obj)
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
        """Apply an event other than a simple add. Objects of other kinds and unknown events are ignored."""
        if event_type not in (_ADDED, _MODIFIED, _DELETED):
            return
        if isinstance(obj, Undecodable):
            key = store_key(obj)
        elif isinstance(obj, self._kind):
            key = meta_namespace_key_func(obj)
        else:
            return
        self._objects.pop(key, None)
        self._undecodable.pop(key, None)
        if event_type is _DELETED:
            return
        if isinstance(obj, Undecodable):
            self._undecodable[key] = obj
        else:
            self._objects[key] = self._transform(obj)
