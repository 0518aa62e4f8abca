"""
Mirrors one kind from a server into a FIFO: list, then watch, for ever.

One *round* lists and then watches until a new list is needed; `run` repeats rounds with back-off. Within a round:

    EMPTY     nothing in hand                        -> LISTING
    LISTING   pages or initial events are arriving   -> LISTING, LISTED or, by a stream, WATCHING
    LISTED    all of it is in the FIFO, no stream    -> WATCHING
    WATCHING  a stream is open                       -> WATCHING; LISTED when it ends

What an error does, in a list: the round ends with it. When a watch is opened, or on its stream: no connection, a cut
stream, 429 and 5xx wait and go on from LISTED at the last resource version, without a new list; 410 and anything else
the server says end the round. Streams that again and again bring nothing but an error end the round as well, so that
one unreadable event cannot hold up the cache for ever.

The *last sync resource version* is where the next watch goes on. It is set only after what it stands for is in the
FIFO. All of this runs on the thread `reflector-<resource>`; others may stop it and read statistics.

Follows: client-go tools/cache/reflector.go @32ce75a7d. Differs: the first list is consistent, never at "0", and
always by pages of 500; a cut stream or a very short watch is no reason to list again; a list from the past is not
published before the server has confirmed it (kubernetes#107457); resyncs are the informer loop's.
"""

from __future__ import annotations

import random as _random
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Final, Generic, Protocol, TypeVar

import msgspec
import structlog

from apis.meta import Kind
from client.errors import (
    APIError,
    ClientError,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
    TooManyRequests,
    TransportError,
    is_expired,
    is_too_large_resource_version,
)
from client.options import ListOptions
from client.pages import Undecodable
from client.watch_events import Bookmark, EventType, WatchEvent
from informers.delta_fifo import DeltaType
from informers.failure_log import Doing, FailureLog
from informers.initial_list import NOT_OLDER_THAN, PagedList, StreamedList
from informers.keys import DeletedFinalStateUnknown, deletion_handling_meta_namespace_key_func
from informers.listwatch import ListerWatcher, Watch
from informers.metrics import InformerMetrics
from informers.quarantine import Quarantine, store_key
from informers.resource_versions import ResourceVersionFloor, Verdict, is_older
from informers.retry_with_deadline import RetryWithDeadline
from workqueue.backoff import ExponentialBackoff
from workqueue.clock import REAL_CLOCK, Clock
from workqueue.locks import new_lock

log = structlog.get_logger("informers")

T = TypeVar("T", bound=Kind)

DEFAULT_PAGE_SIZE: Final = 500
MIN_WATCH_TIMEOUT_SECONDS: Final = 300.0
VERY_SHORT_WATCH_SECONDS: Final = 1.0
# client-go's numbers; arbitrary
BACKOFF_INITIAL_SECONDS: Final = 0.8
BACKOFF_MAX_SECONDS: Final = 30.0
BACKOFF_RESET_SECONDS: Final = 120.0
# how much of a server's Retry-After is believed
_RETRY_AFTER_MAX_SECONDS: Final = 120.0
# streams in a row that brought nothing before a new list: unreadable or very short; and silent ones, where the
# server is known to send bookmarks (it sends one a minute, so two silent streams are several missed)
_FRUITLESS_WATCHES: Final = 5
_SILENT_WATCHES: Final = 2
# streaming lists in a row that ended early before this round lists by pages
_CUT_STREAMED_LISTS: Final = 3

_DELTA_TYPES: Final = {
    EventType.ADDED: DeltaType.ADDED,
    EventType.MODIFIED: DeltaType.UPDATED,
    EventType.DELETED: DeltaType.DELETED,
}


class State(StrEnum):
    """Where a round is; see the head of this file."""

    EMPTY = "EMPTY"
    LISTING = "LISTING"
    LISTED = "LISTED"
    WATCHING = "WATCHING"


class RelistReason(StrEnum):
    """Why a list was made after the first."""

    EXPIRED = "expired"  # 410
    TOO_LARGE = "too-large"  # the server has not seen our resource version
    REWOUND = "rewound"  # a bookmark from the past
    ERROR = "error"  # anything else that the server said
    UNREADABLE = "unreadable"  # streams that could not be read, or that ended at once
    SILENT = "silent"  # streams on which even bookmarks failed to appear


class ReflectorError(ClientError):
    """Root of what a reflector itself finds wrong."""


class ListFailed(ReflectorError):  # noqa: N818 - what happened
    """A list was not had, or not taken in; the cause is the exception's."""


class StaleList(ReflectorError):  # noqa: N818 - what it is
    """The server answered with a past that we have seen the future of."""


class VeryShortWatch(ReflectorError):  # noqa: N818 - client-go's noun
    """A watch ended at once and brought nothing."""


class ReflectorStore(Protocol[T]):
    """Where a reflector puts what it reads: a DeltaFIFO."""

    def enqueue_batch(self, entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]]) -> None:
        """Take a block of changes. Raises: ExceptionGroup for those it could not take."""

    def replace(self, objects: list[T], resource_version: str) -> None:
        """Take a complete list."""


class Backoff(Protocol):
    """Growing delays."""

    def next(self) -> float:
        """Seconds to wait before the next try."""


WatchErrorHandler = Callable[[Exception], None]
"""Told of every error that ends a round, in place of the log line."""


class ReflectorStatistics(msgspec.Struct, frozen=True):
    """
    A reflector at one moment.

    listed and page = objects and pages of the list that is being read, page 0 while it is streamed;
    relists by RelistReason; watches = streams opened; retry_at and last_event_at as Clock.now() counts, None = never.
    """

    state: State
    listed: int
    page: int
    relists: dict[str, int]
    watches: int
    last_sync_resource_version: str
    last_event_at: float | None
    last_error: str
    retry_at: float | None


class Reflector(Generic[T]):
    """
    The list-watch loop of one kind.

    State: _response: the open stream, at most one; _last_rv. Both guarded by _response_lock (15).
           All else is written by the reflector thread only; a reader may be one step behind.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher[T],
        kind: type[T],
        store: ReflectorStore[T],
        *,
        name: str = "",
        namespace: str = "",
        page_size: int = DEFAULT_PAGE_SIZE,
        min_watch_timeout_seconds: float = 0,
        internal_error_retry_seconds: float = 0,
        use_watch_list: bool = True,
        backoff: Backoff | None = None,
        watch_error_handler: WatchErrorHandler | None = None,
        quarantine: Quarantine | None = None,
        metrics: InformerMetrics | None = None,
        clock: Clock = REAL_CLOCK,
        random: Callable[[], float] = _random.random,
    ) -> None:
        """
        Make a reflector.

        Args: min_watch_timeout_seconds: a watch asks the server to end it after one to two times that long; less than
              five minutes counts as five. internal_error_retry_seconds: see RetryWithDeadline.
        """
        resource = kind.resource
        self.name = name or resource.group_resource
        self._lister_watcher = lister_watcher
        self._kind = kind
        self._store = store
        self._page_size = page_size
        self._watch_timeout_seconds = max(min_watch_timeout_seconds, MIN_WATCH_TIMEOUT_SECONDS)
        self._use_watch_list = use_watch_list
        self._clock = clock
        self._random = random
        self._backoff = backoff or ExponentialBackoff(
            BACKOFF_INITIAL_SECONDS, BACKOFF_MAX_SECONDS, BACKOFF_RESET_SECONDS, clock=clock, random=random
        )
        self._watch_error_handler = watch_error_handler
        self._metrics = metrics or InformerMetrics(self.name)
        self._quarantine = quarantine or Quarantine(kind=resource.kind, gauge=self._metrics.quarantined)
        self._failures = FailureLog(name=self.name, resource=resource, namespace=namespace, clock=clock)
        self._retry_window = RetryWithDeadline(internal_error_retry_seconds, clock=clock)
        self._floor = ResourceVersionFloor(clock)

        self._stop = threading.Event()
        self._response_lock = new_lock("Reflector._response_lock", 15)
        self._response: Watch[T] | None = None
        self._last_rv = ""

        self._state = State.EMPTY
        self._list: PagedList[T] | StreamedList[T] | None = None
        self._stream_list = False
        self._cut_streamed_lists = 0
        self._rv_unavailable = False
        self._published = False
        self._round_error: Exception | None = None
        self._relist_reason = RelistReason.ERROR
        self._watch_opened_at = 0.0
        self._watch_events = 0
        self._hold_rv = False
        self._fruitless = 0
        self._bookmarks_seen = False

        self._relists: dict[str, int] = {}
        self._watches = 0
        self._last_event_at: float | None = None
        self._last_error = ""
        self._retry_at: float | None = None

    # -- any thread ------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """End run and the open stream; does not wait. A list that is being read is abandoned."""
        self._stop.set()
        with self._response_lock:
            response = self._response
        if response is not None:
            response.close()

    def last_sync_resource_version(self) -> str:
        """The resource version up to which everything is in the FIFO, "" before the first list."""
        with self._response_lock:
            return self._last_rv

    def statistics(self) -> ReflectorStatistics:
        """A snapshot."""
        listing = self._list
        return ReflectorStatistics(
            state=self._state,
            listed=0 if listing is None else listing.items_so_far,
            page=0 if listing is None else listing.pages,
            relists=dict(self._relists),
            watches=self._watches,
            last_sync_resource_version=self.last_sync_resource_version(),
            last_event_at=self._last_event_at,
            last_error=self._last_error,
            retry_at=self._retry_at,
        )

    # -- the loop --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """
        Repeat rounds.

        Blocks: until stop().
        """
        while not self._stop.is_set():
            try:
                self.list_and_watch()
            except Exception as error:  # noqa: BLE001 - whatever ends a round, there is a next one
                self._after_failed_round(error)
            else:
                self._after_ended_round()

    def list_and_watch(self) -> None:
        """
        One round: list, publish, watch until a new list is needed.

        Blocks: until then, or until stop().
        Raises: what kept it from listing or from opening a watch. What ends an open stream is not raised.
        """
        self._stream_list = self._use_watch_list and self._lister_watcher.supports_watch_list
        self._cut_streamed_lists = 0
        self._round_error = None
        self._state = State.EMPTY
        state: State | None = State.EMPTY
        try:
            while state is not None and not self._stop.is_set():
                self._state = state
                state = self._step(state)
        finally:
            self._close_response()
            self._list = None
            self._state = State.EMPTY

    def _step(self, state: State) -> State | None:
        """Do one thing; the next state, None when the round is over."""
        match state:
            case State.EMPTY:
                return self._begin_list()
            case State.LISTING:
                return self._continue_list()
            case State.LISTED:
                return self._open_watch()
            case State.WATCHING:
                return self._read_watch()

    def _after_failed_round(self, error: Exception) -> None:
        if self._stop.is_set():
            return
        self._relist_reason = RelistReason.EXPIRED if is_expired(error) else RelistReason.ERROR
        delay = self._delay(error)
        self._note(error, delay)
        if self._watch_error_handler is not None:
            self._watch_error_handler(error)
        else:
            doing = Doing.LIST if isinstance(error, ListFailed | StaleList) else Doing.OPEN
            self._failures.failed(doing, error, retry_in_seconds=delay)
        self._sleep(delay)

    def _after_ended_round(self) -> None:
        error, delay = self._round_error, self._delay(self._round_error)
        if error is not None and not self._stop.is_set():
            self._note(error, delay)
            self._failures.failed(Doing.READ, error, retry_in_seconds=delay)
        self._sleep(delay)

    def _back_off(self, doing: Doing, error: Exception) -> None:
        """Wait within a round."""
        delay = self._delay(error)
        self._note(error, delay)
        self._failures.failed(doing, error, retry_in_seconds=delay)
        self._sleep(delay)

    def _delay(self, error: Exception | None) -> float:
        """The next back-off, or longer if the server asks for it."""
        delay = self._backoff.next()
        cause = error.__cause__ if isinstance(error, ListFailed) else error
        if isinstance(cause, APIError) and cause.retry_after_seconds is not None:
            return max(delay, min(cause.retry_after_seconds, _RETRY_AFTER_MAX_SECONDS))
        return delay

    def _sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds, self._stop)
        self._retry_at = None

    def _note(self, error: Exception, delay: float) -> None:
        self._last_error = str(error)
        self._retry_at = self._clock.now() + delay

    # -- EMPTY and LISTING -----------------------------------------------------------------------------------------

    def _begin_list(self) -> State:
        if not self._stream_list:
            self._list = PagedList(
                self._lister_watcher.list, resource_version=self._relist_rv(), page_size=self._page_size
            )
            return State.LISTING
        rv = self._relist_rv()
        try:
            self._open_response(self._watch_options(rv, send_initial_events=True))
        except Exception as error:  # noqa: BLE001 - decided by kind in one place
            return self._streamed_list_failed(error)
        self._list = StreamedList(self._kind)
        return State.LISTING

    def _continue_list(self) -> State | None:
        if isinstance(self._list, StreamedList):
            return self._read_initial_events(self._list)
        assert self._list is not None
        return self._read_page(self._list)

    def _read_page(self, pages: PagedList[T]) -> State | None:
        try:
            complete = pages.fetch_page()
        except Exception as error:
            if self._forget_rv(error):
                return State.EMPTY
            raise ListFailed(f"failed to list {type_description(self._kind)}: {error}") from error
        if not complete:
            return State.LISTING
        if self._stop.is_set():
            return None
        self._publish(pages)
        return State.LISTED

    def _read_initial_events(self, listing: StreamedList[T]) -> State | None:
        assert self._response is not None
        try:
            events = self._response.read()
            rest = listing.take(events)
        except Exception as error:  # noqa: BLE001 - decided by kind in one place
            self._close_response()
            return self._streamed_list_failed(error)
        if self._stop.is_set():
            return None
        if rest is not None:
            self._publish(listing)
            self._watch_events = 1
            return self._take(rest)
        if events:
            return State.LISTING
        return self._streamed_list_cut()

    def _streamed_list_cut(self) -> State:
        """The server ended the stream before the list was complete: what came is no list."""
        self._close_response()
        self._cut_streamed_lists += 1
        short = self._clock.now() - self._watch_opened_at < VERY_SHORT_WATCH_SECONDS
        if short or self._cut_streamed_lists >= _CUT_STREAMED_LISTS:
            self._fall_back("the stream ended before the list was complete")
        return State.EMPTY

    def _streamed_list_failed(self, error: Exception) -> State:
        if self._stop.is_set() or self._forget_rv(error):
            return State.EMPTY
        if isinstance(error, ConnectionRefused | TooManyRequests):
            self._back_off(Doing.LIST, error)
        else:
            self._fall_back(str(error))
        return State.EMPTY

    def _fall_back(self, why: str) -> None:
        log.debug("Listing by pages, not by a stream", v=2, reflector=self.name, why=why)
        self._stream_list = False

    def _forget_rv(self, error: Exception) -> bool:
        """If the server no longer, or not yet, has our resource version: ask for its newest state from now on."""
        too_large = is_too_large_resource_version(error)
        if self._rv_unavailable or not (too_large or is_expired(error)):
            return False
        if too_large:
            self._floor.server_denies()
        self._rv_unavailable = True
        return True

    def _relist_rv(self) -> str:
        return "" if self._rv_unavailable else self._last_rv

    def _publish(self, listing: PagedList[T] | StreamedList[T]) -> None:
        """Put a complete list into the FIFO, unless it is from the past."""
        rv = listing.resource_version
        verdict = self._floor.judge(rv, self._last_rv)
        if verdict is Verdict.WAIT:
            self._rv_unavailable = True
            raise StaleList(f"the list is at resource version {rv}, {self._last_rv} was seen before")
        if verdict is Verdict.TAKE_REWOUND:
            log.error("Cluster history rewound", reflector=self.name, resourceVersion=rv, seen=self._last_rv)
        try:
            self._store.replace(listing.items, rv)
        except Exception as error:
            raise ListFailed(f"unable to sync list result: {error}") from error
        self._list = None
        self._rv_unavailable = False
        self._set_rv(rv)
        self._heard()
        self._quarantine.replace(listing.undecodable)
        self._count_list()

    def _count_list(self) -> None:
        if self._published:
            reason = self._relist_reason
            self._relists[reason] = self._relists.get(reason, 0) + 1
            self._metrics.relisted(reason)
        self._published = True

    # -- LISTED ----------------------------------------------------------------------------------------------------

    def _open_watch(self) -> State | None:
        try:
            self._open_response(self._watch_options(self._last_rv))
        except Exception as error:
            if self._stop.is_set():
                return None
            if not _is_passing(error):
                raise
            self._back_off(Doing.OPEN, error)
            return State.LISTED
        self._hold_rv = self._last_rv in ("", "0")
        return State.WATCHING

    def _watch_options(self, rv: str, *, send_initial_events: bool = False) -> ListOptions:
        return ListOptions(
            resource_version=rv or None,
            resource_version_match=NOT_OLDER_THAN if send_initial_events else "",
            allow_watch_bookmarks=True,
            send_initial_events=send_initial_events,
            timeout_seconds=int(self._watch_timeout_seconds * (1 + self._random())),
        )

    def _open_response(self, options: ListOptions) -> None:
        opened_at = self._clock.now()
        response = self._lister_watcher.watch(options)
        with self._response_lock:
            self._response = response
        if self._stop.is_set():
            # stop() may have looked before the stream was there
            response.close()
        self._watch_opened_at = opened_at
        self._watch_events = 0
        self._hold_rv = False
        if self._watches:
            self._metrics.watch_restarts.inc()
        self._watches += 1
        self._failures.recovered(Doing.OPEN)

    def _close_response(self) -> None:
        with self._response_lock:
            response, self._response = self._response, None
        if response is not None:
            response.close()

    # -- WATCHING --------------------------------------------------------------------------------------------------

    def _read_watch(self) -> State | None:
        assert self._response is not None
        try:
            events = self._response.read()
        except Exception as error:  # noqa: BLE001 - decided by kind in one place
            return self._watch_ended(error)
        return self._take(events) if events else self._watch_ended(None)

    def _take(self, events: list[WatchEvent[T]]) -> State | None:
        if self._stop.is_set():
            return None
        try:
            self._consume(events)
        except Exception as error:  # noqa: BLE001 - decided by kind in one place
            return self._watch_ended(error)
        return State.WATCHING

    def _consume(self, events: list[WatchEvent[T]]) -> None:
        """
        Put a block of events into the FIFO, then move the resource version.

        Raises: what ends the stream, after everything before it is in the FIFO.
        """
        kind, delta_type_of = self._kind, _DELTA_TYPES.get
        entries: list[tuple[DeltaType, T | DeletedFinalStateUnknown[T]]] = []
        rv, accepted, end = "", 0, None
        for event in events:
            event_type, obj = event
            delta_type = delta_type_of(event_type)
            if isinstance(obj, kind) and delta_type is not None:
                metadata = obj.metadata
                if not metadata.resource_version or not metadata.name:
                    end = DecodeError(f"{event_type} event whose object has no name or no resource version")
                    break
                rv = metadata.resource_version
                entries.append((delta_type, obj))
            elif isinstance(obj, Bookmark):
                self._bookmarks_seen = True
                if is_older(obj.resource_version, self._last_rv):
                    end = StaleList(
                        f"a bookmark is at resource version {obj.resource_version}, "
                        f"{self._last_rv} was seen before"
                    )
                    break
                rv = obj.resource_version or rv
                self._hold_rv = False
                accepted += 1
            elif isinstance(obj, APIError):
                end = obj
                break
            elif isinstance(obj, Undecodable) and delta_type is not None:
                rv = obj.resource_version or rv
                entries.append((DeltaType.DELETED, DeletedFinalStateUnknown(store_key(obj), None)))
                self._quarantine_one(obj, event_type)
            else:
                log.error("Unexpected watch event ignored", reflector=self.name, type=event_type, object=repr(obj))
        self._accept(entries, rv, accepted + len(entries))
        if end is not None:
            raise end
