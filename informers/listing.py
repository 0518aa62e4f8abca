"""
Reads one complete list, as a stream if the server supports that, and otherwise in pages.

If the server refuses the stream, or ends it very soon or several times before the list is complete, the
current round reads its lists in pages. Each request names a minimum resource version. If the server no longer
has that version, or does not have it yet, the newest state is requested instead. A list that is older than
the last one is rejected until it is certain that the server's history was rewound (kubernetes#107457).
Follows: client-go tools/cache/reflector.go @32ce75a7d (list, watchList).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, TypeVar

from handloop.apis.meta import Kind
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_stream import WatchEvent
from handloop.client.errors import (
    ClientError,
    ConnectionRefused,
    TooManyRequests,
    is_expired,
    is_too_large_resource_version,
)
from handloop.client.options import ListOptions
from handloop.informers.delta_fifo import Listed
from handloop.informers.history_guard import ResourceVersionFloor, Verdict
from handloop.informers.initial_list import PagedList, StreamedList, unchanged
from handloop.informers.listwatch import ListerWatcher, OpenResponse
from handloop.informers.outage import Doing, Outage
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.logs import get_logger

log = get_logger("informers")

T = TypeVar("T", bound=Kind)

DEFAULT_PAGE_SIZE: Final = 500
VERY_SHORT_WATCH_SECONDS: Final = 1.0
# After this many streams that ended before their list was complete, a round lists in pages.
CUT_STREAMED_LISTS: Final = 3


class ListFailed(ClientError):  # noqa: N818 - it is named after what happened
    """A list could not be read or processed. The exception's cause is the reason."""


class StaleList(ClientError):  # noqa: N818 - it says what it is
    """The server answered with a state that is older than one it has already sent."""


class CompleteList(NamedTuple, Generic[T]):
    """
    All objects at one resource version.

    rest contains the events that followed the list on its stream, which is still open. It is None for a
    paged list.
    """

    items: Listed[T]
    undecodable: list[Undecodable]
    resource_version: str
    rest: list[WatchEvent[T]] | None


class Listing(Generic[T]):
    """
    Reads the list in each of a reflector's rounds.

    State:
        _current      the list that is being read, or None.
        streaming     whether this round tries streams.
        _cut          how many of this round's streams ended before their list was complete.
        _refused_rv   whether the server refused our resource version; if so, the next list requests the
                      newest state.
        _seen         the newest resource version that was published before this list.
        _wanted       stands for the last call of want_newest, which assigns a new object.
        _wanted_and_begun     the value that _wanted had when the last list was started.
        _wanted_and_listed    the value that _wanted had when the last published list was started.
    Threads: runs on the reflector's thread. Any thread can call want_newest, and read listed and page, which
    may be one step behind.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher[T],
        kind: type[T],
        response: OpenResponse[T],
        outage: Outage,
        *,
        page_size: int = DEFAULT_PAGE_SIZE,
        transform: Callable[[T], T] = unchanged,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._lister_watcher = lister_watcher
        self._kind = kind
        self._response = response
        self._outage = outage
        self._page_size = page_size
        self._transform = transform
        self._stopped = outage.pause.stopped
        self._floor = ResourceVersionFloor(clock)
        self._current: PagedList[T] | StreamedList[T] | None = None
        self.streaming = False
        self._cut = 0
        self._refused_rv = False
        self._wanted = self._wanted_and_begun = self._wanted_and_listed = object()
        self._seen = ""

    @property
    def listed(self) -> int:
        """Return how many objects of the current list have been read so far."""
        current = self._current
        return 0 if current is None else current.items_so_far

    @property
    def page(self) -> int:
        """Return how many pages of the current list have been read; 0 while it is streamed."""
        current = self._current
        return 0 if current is None else current.pages

    @property
    def in_progress(self) -> bool:
        """Return whether a list was started and is neither complete nor abandoned."""
        return self._current is not None

    def begin_round(self) -> None:
        """Start a round. If the source supports streams, the round tries them again."""
        self.streaming = self._lister_watcher.supports_watch_list
        self._cut = 0

    def want_newest(self) -> None:
        """
        Make the next list include everything written before this call. Any thread can call this.

        The list requests the newest state, which even an API server with an old watch cache must return.
        """
        self._wanted = object()

    @property
    def wants_newest(self) -> bool:
        """Return whether the list that want_newest requested has not been published yet."""
        return self._wanted is not self._wanted_and_listed

    def begin(self, seen: str) -> bool:
        """
        Start a list.

        Args: seen is the minimum resource version of the list, or "" for none.
        Returns: whether the list was started. If not, call begin again; begin has waited if necessary.
        """
        self._seen, self._wanted_and_begun = seen, self._wanted
        rv = "" if self.wants_newest or self._refused_rv else seen
        if self.streaming:
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

        Returns: the list if it is complete, and otherwise None. If the list failed and must be started again,
        the result is None and `in_progress` is False.
        Raises: ListFailed if a page could not be read; StaleList if the list is older than an earlier one.
        """
        assert self._current is not None
        if isinstance(self._current, StreamedList):
            complete = self._read_stream(self._current)
        else:
            complete = self._read_page(self._current)
        if complete is not None and not self._stopped.is_set():
            self._judge(complete.resource_version)
        return complete

    def published(self) -> None:
        """Record that the complete list is in the FIFO."""
        self._refused_rv = False
        self._wanted_and_listed = self._wanted_and_begun

    def newest_resource_version(self) -> str:
        """
        Return the server's newest resource version, from a list of one object.

        Raises: any error from the source's list().
        """
        return self._lister_watcher.list(ListOptions(limit=1)).resource_version

    def abandon(self) -> None:
        """Drop the list that is being read."""
        self._current = None

    def _judge(self, rv: str) -> None:
        verdict = self._floor.judge(rv, self._seen)
        if verdict is Verdict.WAIT:
            self._refused_rv = True
            raise StaleList(f"the list is at resource version {rv}, but {self._seen} was seen before")
        if verdict is Verdict.TAKE_REWOUND:
            log.error(
                "Cluster history rewound", reflector=self._outage.name, resourceVersion=rv, seen=self._seen
            )

    def _read_page(self, pages: PagedList[T]) -> CompleteList[T] | None:
        try:
            complete = pages.fetch_page()
        except Exception as error:
            self._current = None
            if self._forget_rv(error):
                return None
            raise ListFailed(f"failed to list {self._kind.resource}: {error}") from error
        if not complete:
            return None
        self._current = None
        return CompleteList(pages.items, pages.undecodable, pages.resource_version, None)

    def _open_stream(self, rv: str) -> bool:
        try:
            self._response.open(rv, send_initial_events=True)
        except Exception as error:  # noqa: BLE001 - one place decides by its type
            self._stream_failed(error)
            return False
        self._current = StreamedList(self._kind, self._transform)
        return True

    def _read_stream(self, stream: StreamedList[T]) -> CompleteList[T] | None:
        try:
            events = self._response.read()
            rest = stream.take(events)
        except Exception as error:  # noqa: BLE001 - one place decides by its type
            self._stream_failed(error)
            return None
        if rest is not None:
            return self._stream_complete(stream, rest)
        if not events:
            self._stream_cut()
        return None

    def _stream_complete(self, stream: StreamedList[T], rest: list[WatchEvent[T]]) -> CompleteList[T]:
        self._current = None
        return CompleteList(stream.items, stream.undecodable, stream.resource_version, rest)

    def _stream_cut(self) -> None:
        """Discard the objects of a stream that ended before its list was complete."""
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
        self._response.close()

    def _list_by_pages(self, why: str) -> None:
        log.debug("Listing by pages instead of a stream", v=2, reflector=self._outage.name, err=why)
        self.streaming = False

    def _forget_rv(self, error: Exception) -> bool:
        """
        Return whether the server refused our resource version.

        If so, the next list requests the newest state.
        """
        too_large = is_too_large_resource_version(error)
        if self._refused_rv or not (too_large or is_expired(error)):
            return False
        if too_large:
            self._floor.server_denies()
        self._refused_rv = True
        return True
