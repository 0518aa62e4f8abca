"""
Gets one complete list: by a stream where the server offers it, else by pages.

A stream that the server refuses or cuts is replaced by pages until the next round. If the server no longer
has the resource version that the list must not be older than, or has not yet seen it, the list is asked for
at the newest state instead.
Follows: client-go tools/cache/reflector.go @32ce75a7d (list, watchList).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

import structlog

from handloop.apis.meta import Kind
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_events import WatchEvent
from handloop.client.errors import (
    ClientError,
    ConnectionRefused,
    TooManyRequests,
    is_expired,
    is_too_large_resource_version,
)
from handloop.client.options import ListOptions
from handloop.informers.consistency_detector import ConsistencyDetector
from handloop.informers.initial_list import PagedList, StreamedList
from handloop.informers.listwatch import ListerWatcher, OpenResponse
from handloop.informers.outage import Doing, Outage
from handloop.workqueue.clock import Clock
from handloop.workqueue.locks import new_lock

log = structlog.get_logger("informers")

TICK_SECONDS: Final = 10.0


class BookmarkTicker:
    """
    Says every tick_seconds that the bookmark is missing, unless events came meanwhile.

    State, under _lock, all as Clock.now() counts: _began_at, None while no list is streamed; _heard_at = the
        last event, None before the first; _due_at = the next look.
    Threads: the reflector's calls begin, heard and end; any other tick.
    """

    def __init__(self, name: str, *, tick_seconds: float = TICK_SECONDS, clock: Clock) -> None:
        self._name = name
        self._tick_seconds = tick_seconds
        self._clock = clock
        self._lock = new_lock("BookmarkTicker._lock", 96)
        self._began_at: float | None = None
        self._heard_at: float | None = None
        self._due_at = 0.0

    def begin(self) -> None:
        """A list is asked for, as a stream."""
        with self._lock:
            self._began_at, self._heard_at = self._clock.now(), None
            self._due_at = self._began_at + self._tick_seconds

    def heard(self) -> None:
        """Something came that was not the bookmark."""
        with self._lock:
            self._heard_at = self._clock.now()

    def end(self) -> None:
        """The list is complete, or given up."""
        with self._lock:
            self._began_at = None

    def tick(self) -> None:
        """Warn if it is time to; to be called at least as often."""
        warning = self._warning()
        if warning:
            log.warning("Event bookmark expired", reflector=self._name, err=warning)

    def _warning(self) -> str:
        with self._lock:
            now = self._clock.now()
            if self._began_at is None or now < self._due_at:
                return ""
            self._due_at = now + self._tick_seconds
            if self._heard_at is None:
                silent = now - self._began_at
                return f"awaiting the bookmark that ends the list, no events received for {silent:.0f}s"
            silent = now - self._heard_at
            if silent < self._tick_seconds:
                return ""
            return f"awaiting the bookmark that ends the list, received last event {silent:.0f}s ago"


T = TypeVar("T", bound=Kind)

VERY_SHORT_WATCH_SECONDS: Final = 1.0
# streams in a row that ended before their list was complete, until this round lists by pages
CUT_STREAMED_LISTS: Final = 3


class ListFailed(ClientError):  # noqa: N818 - what happened
    """A list was not had or not taken in; why is the exception's cause."""


class CompleteList(NamedTuple, Generic[T]):
    """
    All objects at one resource version.

    rest = the events that came after the list on its stream, which is still open; None for a list by pages.
    """

    items: list[T]
    undecodable: list[Undecodable]
    resource_version: str
    rest: list[WatchEvent[T]] | None


class StreamOptions(Protocol):
    """Makes the options of a watch."""

    def __call__(self, resource_version: str, *, send_initial_events: bool = False) -> ListOptions:
        """Options to watch from a resource version, or for a streaming list not older than it."""


class Listing(Generic[T]):
    """
    The list of one round.

    State: _current = the list that is being read, None between lists; _streaming = whether this round tries
           streams; _cut = streams of this round that ended early; refused_rv = whether the server refused our
           resource version.
    Threads: the reflector's; listed and page may be read from any, one step behind.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher[T],
        kind: type[T],
        response: OpenResponse[T],
        stream_options: StreamOptions,
        outage: Outage,
        *,
        name: str,
        page_size: int,
        use_watch_list: bool,
        on_too_large: Callable[[], None],
        ticker: BookmarkTicker,
        detector: ConsistencyDetector[T] | None = None,
        transform: Callable[[T], T] | None = None,
        stopped: threading.Event,
    ) -> None:
        """Args: detector None = what is streamed is believed."""
        self._lister_watcher = lister_watcher
        self._kind = kind
        self._response = response
        self._stream_options = stream_options
        self._outage = outage
        self._name = name
        self._page_size = page_size
        self._use_watch_list = use_watch_list
        self._on_too_large = on_too_large
        self._ticker = ticker
        self._detector = detector
        self._transform = transform
        self._stopped = stopped
        self._current: PagedList[T] | StreamedList[T] | None = None
        self._streaming = False
        self._cut = 0
        self.refused_rv = False

    @property
    def listed(self) -> int:
        """Objects of the list that is being read."""
        current = self._current
        return 0 if current is None else current.items_so_far

    @property
    def page(self) -> int:
        """Pages of the list that is being read; 0 while it is streamed."""
        current = self._current
        return 0 if current is None else current.pages

    def begin_round(self) -> None:
        """Forget what was tried in the last round."""
        self._streaming = self._use_watch_list and self._lister_watcher.supports_watch_list
        self._cut = 0

    def begin(self, not_older_than: str) -> bool:
        """
        Start a list.

        Args: "" = the newest state.
        Returns: False when it has to be tried again, in another way or after the pause that was made.
        """
        rv = "" if self.refused_rv else not_older_than
        if self._streaming:
            return self._open_stream(rv)
        self._current = PagedList(
            self._lister_watcher.list,
            resource_version=rv,
            page_size=self._page_size,
            transform=self._transform,
        )
        return True

    def advance(self) -> CompleteList[T] | None:
        """
        Read one page or one block of events.

        Returns: None while the list is not complete; then `in_progress` says whether it goes on or begins
                 anew.
        Raises: ListFailed; DataInconsistent if there is a detector.
        """
        if isinstance(self._current, StreamedList):
            return self._read_stream(self._current)
        assert self._current is not None
        return self._read_page(self._current)

    def newest_resource_version(self) -> str:
        """
        The server's, learned from a list of one object.

        Raises: what list() raises.
        """
        return self._lister_watcher.list(ListOptions(limit=1)).resource_version

    @property
    def in_progress(self) -> bool:
        """Whether a list has begun and is neither complete nor given up."""
        return self._current is not None

    def abandon(self) -> None:
        """Drop what was read."""
        self._current = None
        self._ticker.end()

    def _read_page(self, pages: PagedList[T]) -> CompleteList[T] | None:
        try:
            complete = pages.fetch_page()
        except Exception as error:
            self._current = None
            if self._forget_rv(error):
                return None
            raise ListFailed(f"failed to list {type_description(self._kind)}: {error}") from error
        if not complete:
            return None
        self._current = None
        return CompleteList(pages.items, pages.undecodable, pages.resource_version, None)

    def _open_stream(self, rv: str) -> bool:
        self._ticker.begin()
        try:
            self._response.open(self._stream_options(rv, send_initial_events=True))
        except Exception as error:  # noqa: BLE001 - decided by kind in one place
            self._stream_failed(error)
            return False
        self._current = StreamedList(self._kind, self._transform)
        return True

    def _read_stream(self, stream: StreamedList[T]) -> CompleteList[T] | None:
        try:
            events = self._response.read()
            rest = stream.take(events)
        except Exception as error:  # noqa: BLE001 - decided by kind in one place
            self._stream_failed(error)
            return None
        if rest is not None:
            return self._stream_complete(stream, rest)
        if events:
            self._ticker.heard()
        else:
            self._stream_cut()
        return None

    def _stream_complete(self, stream: StreamedList[T], rest: list[WatchEvent[T]]) -> CompleteList[T]:
        self._current = None
        self._ticker.end()
        if self._detector is not None:
            self._detector.check(stream.items, stream.resource_version)
        return CompleteList(stream.items, stream.undecodable, stream.resource_version, rest)

    def _stream_cut(self) -> None:
        """The server ended the stream before its list was complete: what came is no list."""
        self._give_up_stream()
        self._cut += 1
        if self._response.seconds_open() < VERY_SHORT_WATCH_SECONDS or self._cut >= CUT_STREAMED_LISTS:
            self._list_by_pages("the stream ended before the list was complete")

    def _stream_failed(self, error: Exception) -> None:
        self._give_up_stream()
        if self._stopped.is_set() or self._forget_rv(error):
            return
        if isinstance(error, ConnectionRefused | TooManyRequests):
            self._outage.wait(Doing.LIST, error)
        else:
            self._list_by_pages(str(error))

    def _give_up_stream(self) -> None:
        self._current = None
        self._ticker.end()
        self._response.close()

    def _list_by_pages(self, why: str) -> None:
        log.debug("Listing by pages instead of a stream", v=2, reflector=self._name, err=why)
        self._streaming = False

    def _forget_rv(self, error: Exception) -> bool:
        """If our resource version is of no use to the server: ask for its newest state instead, at once."""
        too_large = is_too_large_resource_version(error)
        if self.refused_rv or not (too_large or is_expired(error)):
            return False
        if too_large:
            self._on_too_large()
        self.refused_rv = True
        return True


def type_description(kind: type | None) -> str:
    """How messages name a kind: `deployments.apps/v1`, its type if it has no resource, or `<unspecified>`."""
    if kind is None:
        return "<unspecified>"
    resource = getattr(kind, "resource", None)
    return kind.__name__ if resource is None else str(resource)
