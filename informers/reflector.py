"""
Mirrors one kind of object from a server into a FIFO: list, then watch, forever.

A *round* lists once and then watches until a new list is needed. `run` repeats rounds, with back-off. Within
a round, the states are:

    EMPTY     no list is being read                 -> LISTING
    LISTING   pages or initial events are arriving  -> LISTED after the last page, WATCHING after a streamed
                                                       list, EMPTY if the list must be restarted
    LISTED    the list is in the FIFO, no stream    -> WATCHING
    WATCHING  a stream is open                      -> LISTED when it ends

An error from a list ends the round. After an error from a watch, the reflector either returns to LISTED or
ends the round:

    LISTED        The request could not connect, or was answered with 429 or 5xx; or the stream was cut, was
                  unreadable, or ended with 429. The reflector waits, and then watches again from the last
                  resource version, without a new list.
    end of round  The request was answered with 410, another 4xx or "Too large resource version"; or the
                  stream ended with any other ERROR event, even a 5xx. The reflector waits, and then lists.

The round also ends if several streams in a row deliver nothing and the last one is unreadable or very short.
Otherwise one unreadable event could block the cache forever.

The next watch continues from the *last sync resource version*. The reflector advances this version only
after every change up to it is in the FIFO. All of this runs on the thread `reflector-<plural>`. Other
threads can stop the reflector and read its statistics.

The reflector's parts: a Listing reads one complete list, an OpenResponse is the open stream, an EventIntake
puts the objects of both into the FIFO, an Outage logs errors and waits before the next attempt, and a
RelistPolicy decides whether an error from a watch requires a new list.

Follows: client-go tools/cache/reflector.go @32ce75a7d. Differs: the first list is consistent, and never
requested at "0"; every list that is not streamed is paged; a cut stream or a very short watch does not cause
a list; a list older than the cache is published only when it is certain that the server's history was
rewound (kubernetes#107457); the informer loop does the resyncs.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Final, Generic, TypeVar

import msgspec

from handloop.apis.meta import Kind
from handloop.client.decoding.watch_stream import WatchEvent
from handloop.client.errors import DeadlineExceeded
from handloop.informers.delta_fifo import Listed
from handloop.informers.event_intake import EventBlock, EventIntake, translate
from handloop.informers.history_guard import is_older
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.initial_list import unchanged
from handloop.informers.listing import (
    DEFAULT_PAGE_SIZE,
    VERY_SHORT_WATCH_SECONDS,
    CompleteList,
    ListFailed,
    Listing,
    StaleList,
)
from handloop.informers.listwatch import OpenResponse
from handloop.informers.outage import Doing, Outage
from handloop.informers.relist_policy import (
    RelistPolicy,
    RelistReason,
    VeryShortWatch,
    may_open_again,
    relist_reason,
)
from handloop.informers.restriction import Restriction
from handloop.seams.clock import Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger, in_words
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.step_trace import TRACE
from handloop.seams.threads import as_error

log = get_logger("informers")

T = TypeVar("T", bound=Kind)

# How long to pause after an error that could not be logged.
UNTOLD_SECONDS: Final = 1.0


class State(StrEnum):
    """The state of a round; see the module's docstring."""

    EMPTY = "EMPTY"
    LISTING = "LISTING"
    LISTED = "LISTED"
    WATCHING = "WATCHING"


class ReflectorStatistics(msgspec.Struct, frozen=True):
    """
    A snapshot of a reflector.

    listed and page count the objects and pages read so far of the current list; page is 0 while the list is
    streamed. relists has the number of relists for each RelistReason. watches counts the streams that were
    opened. last_event_at and retry_at are values of Clock.now(), or None. fix is the remedy for the last
    logged error, or "" if waiting is enough. last_code is the last error's HTTP status, or 0.
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
    fix: str = ""
    last_code: int = 0


class Tally:
    """
    Counts one reflector's lists and watches, for its statistics and metrics.

    State: listed is whether any list has been published. last_event_at is a value of Clock.now(), or None
    before the server's first answer.
    Threads: only the reflector's thread writes. Other threads can read, and may be one step behind.
    """

    def __init__(self, metrics: InformerMetrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self.listed = False
        self._relists: dict[str, int] = {}
        self.watches = 0
        self.last_event_at: float | None = None

    @property
    def relists(self) -> dict[str, int]:
        """Return the number of relists, by RelistReason. The dict is a copy."""
        return dict(self._relists)

    def list_taken(self, reason: RelistReason) -> None:
        """Count a list that was put into the FIFO. For the first list, the reason is ignored."""
        if self.listed:
            self._relists[reason] = self._relists.get(reason, 0) + 1
            self._metrics.relists[reason].inc()
        self.listed = True

    def watch_opened(self) -> None:
        """Count a stream that was opened."""
        if self.watches:
            self._metrics.watch_restarts.inc()
        self.watches += 1
        self.heard()

    def heard(self) -> None:
        """Record that the server was reachable, because it answered, sent an event, or ended a stream."""
        self.last_event_at = self._clock.now()
        self._metrics.last_event_timestamp.set(self._clock.time())


class Reflector(Generic[T]):
    """
    The list-and-watch loop for one kind.

    State: _rv_lock (16) guards _last_rv. Only the reflector thread writes the other fields; other threads
    that read them may be one step behind.
    """

    def __init__(
        self,
        restriction: Restriction[T],
        kind: type[T],
        intake: EventIntake[T],
        outage: Outage,
        *,
        metrics: InformerMetrics,
        page_size: int = DEFAULT_PAGE_SIZE,
        transform: Callable[[T], T] = unchanged,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Args: restriction provides the source to read; transform is applied to every listed object on
        arrival.
        """
        self.name = outage.name
        self._kind = kind
        self._intake = intake
        self._outage = outage
        self._stop = outage.pause.stopped  # setting this event ends every wait, stream and round
        self._metrics = metrics
        self._tally = Tally(metrics, seams.clock)
        self._policy = RelistPolicy()
        self._response = OpenResponse(restriction.source, stopped=self._stop, seams=seams)
        self._listing = Listing(
            restriction.source,
            kind,
            self._response,
            outage,
            page_size=page_size,
            transform=transform,
            clock=seams.clock,
        )
        self._clock = seams.clock
        self._restriction = restriction
        self._called_back = False
        self._rv_lock = new_lock("Reflector._rv_lock", 16)
        self._last_rv = ""
        self._state = State.EMPTY
        self._round_error: Exception | None = None  # the error that ended the stream and the round
        self._relist_reason = RelistReason.ERROR
        self._accepted = 0  # how many events of this stream were understood
        self._hold_rv = False  # a watch without a version is still sending the existing objects, unordered

    def stop(self) -> None:
        """
        End run and close the open stream. Any thread can call this, and it does not wait.

        A list request in progress is not interrupted, but its result is discarded.
        """
        self._outage.pause.stop()
        self._response.stop()
        self._restriction.wake()

    def restriction_changed(self) -> None:
        """
        List again if the restriction now allows more objects, or stop all requests if it allows none.

        Any thread can call this, and it does not wait. A list in progress is completed first, unless the
        restriction allows no objects.
        """
        now = self._restriction
        now.wake()
        # Read the stream before the state. A stream that is opened later uses the new restriction. The
        # reflector checks the restriction after it has set its state, so one of the two threads always
        # sees the other's change.
        watch = self._response.current()
        if watch is not None and now.must_list and (self._state is State.WATCHING or now.is_empty):
            self._called_back = True
            watch.close()

    def list_newest(self) -> None:
        """
        Request a list that contains everything that was written before this call.

        A list in progress is completed first. Any thread can call this, and it does not wait.
        """
        self._listing.want_newest()
        # Request the list before reading the stream, for the reason given in restriction_changed.
        watch = self._response.current()
        if watch is not None and self._state is State.WATCHING:
            self._called_back = True
            watch.close()

    def last_sync_resource_version(self) -> str:
        """Return the resource version up to which everything is in the FIFO; "" before the first list."""
        with self._rv_lock:
            return self._last_rv

    def statistics(self) -> ReflectorStatistics:
        """Return a snapshot."""
        return ReflectorStatistics(
            state=self._state,
            listed=self._listing.listed,
            page=self._listing.page,
            relists=self._tally.relists,
            watches=self._tally.watches,
            last_sync_resource_version=self.last_sync_resource_version(),
            last_event_at=self._tally.last_event_at,
            last_error=self._outage.last_error,
            last_code=self._outage.last_code,
            fix=self._outage.fix,
            retry_at=self._outage.pause.retry_at,
        )

    def run(self) -> None:
        """
        Repeat rounds.

        Blocks: until stop() is called.
        """
        while not self._stop.is_set():
            try:
                self._run_round()
            except BaseException:  # noqa: BLE001 - such as a log that cannot be written
                self._clock.sleep(UNTOLD_SECONDS, self._stop)

    def _run_round(self) -> None:
        try:
            self.list_and_watch()
        except BaseException as error:  # noqa: BLE001 - whatever ends a round, another one follows
            self._after_failed_round(as_error(error))
        else:
            if self._round_error is not None and not self._stop.is_set():
                self._outage.wait(Doing.READ_WATCH, self._round_error)

    def _after_failed_round(self, error: Exception) -> None:
        if self._stop.is_set():
            return
        self._relist_reason = relist_reason(error)
        listing = isinstance(error, ListFailed | StaleList)
        self._outage.wait(Doing.LIST if listing else Doing.OPEN_WATCH, error, ends_round=True)

    def list_and_watch(self) -> None:
        """
        Run one round: list, publish the list, and watch until a new list is needed.

        Blocks: until the round ends, or until stop() is called.
        Raises: the error of a failed list or of a refused watch, but not an error that ends an open stream.
        """
        self._listing.begin_round()
        self._round_error = None
        state: State | None = State.EMPTY
        try:
            # (1) list & watch
            while state is not None and not self._stop.is_set():
                self._state = state
                state = self._step(state) if self._may_go_on(state) else None
        finally:
            self._response.close()
            self._listing.abandon()
            self._state = State.EMPTY

    def _step(self, state: State) -> State | None:
        """Perform one step. Returns: the next state, or None if the round is over."""
        match state:
            case State.EMPTY:
                return self._begin_list()
            case State.LISTING:
                return self._list_on()
            case State.LISTED:
                return self._open_watch()
            case State.WATCHING:  # pragma: no branch - there is no fifth state
                return self._read_watch()

    def _may_go_on(self, state: State) -> bool:
        """
        Return False if the round must end, because the newest state or more objects must be listed.

        A list in progress is completed first, unless the restriction allows no objects.
        """
        if state in (State.LISTED, State.WATCHING) and self._listing.wants_newest:
            self._relist_reason = RelistReason.TAKEOVER
            return False
        if state is State.EMPTY or not self._restriction.must_list:
            return True
        if state is State.LISTING and not self._restriction.is_empty:
            return True
        self._relist_reason = RelistReason.WIDENED
        return False

    def _may_ask(self) -> bool:
        """
        Return whether this round can request a list.

        If no objects are allowed, first publish an empty list, and wait until some are allowed.
        """
        self._called_back = False
        if self._restriction.is_empty:
            self._intake.replace(Listed(), [], "")
            self._restriction.wait(self._stop)
            return False
        if self._restriction.must_list:
            # The process that held these objects before may have written them a moment ago.
            self._listing.want_newest()
        return self._restriction.before_list(self._stop)

    def _begin_list(self) -> State | None:
        if not self._may_ask():
            return None
        if TRACE.on:
            why = str(self._relist_reason) if self._tally.listed else "first"
            by = "stream" if self._listing.streaming else "pages"
            TRACE.tell(1, self.name, "", listing=why, by=by, resource_version=self._last_rv)
        return State.LISTING if self._listing.begin(self._last_rv) else State.EMPTY

    def _list_on(self) -> State | None:
        complete = self._listing.advance()
        if self._stop.is_set():
            return None
        if complete is None:
            return State.LISTING if self._listing.in_progress else State.EMPTY
        self._publish(complete)
        if self._restriction.is_wide:
            self._response.close()
            return State.LISTED
        if complete.rest is None:
            return State.LISTED
        self._stream_opened()
        self._accepted = 1  # the bookmark that ended the list
        return self._take(complete.rest) if complete.rest else State.WATCHING

    def _publish(self, complete: CompleteList[T]) -> None:
        """Put a complete list into the FIFO."""
        rv = complete.resource_version
        if TRACE.on:
            TRACE.tell(1, self.name, "", listed=len(complete.items), resource_version=rv)
        try:
            self._intake.replace(complete.items, complete.undecodable, rv)
        except Exception as error:
            raise ListFailed(f"unable to sync list result: {in_words(error)}") from error
        self._listing.published()
        self._set_last_rv(rv)
        self._tally.heard()
        self._tally.list_taken(self._relist_reason)

    def _open_watch(self) -> State | None:
        try:
            self._response.open(self._last_rv)
        except Exception as error:
            if self._stop.is_set():
                return None
            if not may_open_again(error):
                raise
            self._outage.wait(Doing.OPEN_WATCH, error)
            return State.LISTED
        self._stream_opened()
        self._hold_rv = self._last_rv in ("", "0")
        return State.WATCHING

    def _stream_opened(self) -> None:
        if TRACE.on:
            TRACE.tell(1, self.name, "", opened=True, resource_version=self._last_rv)
        self._accepted, self._hold_rv = 0, False
        self._tally.watch_opened()
        self._outage.over(Doing.OPEN_WATCH)

    def _read_watch(self) -> State | None:
        try:
            events = self._response.read()
        except Exception as error:  # noqa: BLE001 - one place decides by its type
            return self._watch_ended(error)
        if self._stop.is_set():
            return None
        return self._take(events) if events else self._watch_ended(None)

    def _take(self, events: list[WatchEvent[T]]) -> State | None:
        block = translate(events, self._kind, seen=self._last_rv)
        self._accept(block)
        return State.WATCHING if block.end is None else self._watch_ended(block.end)

    def _accept(self, block: EventBlock[T]) -> None:
        """Put a block of events into the FIFO, and then advance the resource version."""
        if TRACE.on and block.accepted:
            rv = block.resource_version
            TRACE.tell(1, self.name, "", events=len(block.entries), resource_version=rv, **block.only)
        self._intake.put(block)
        if not block.accepted:
            return
        self._accepted += block.accepted
        self._policy.events_came(bookmarks=block.bookmarks > 0)
        self._hold_rv = self._hold_rv and block.all_added
        if block.resource_version and not self._hold_rv:
            self._set_last_rv(block.resource_version)
        self._tally.heard()
        self._outage.over(Doing.READ_WATCH)

    def _watch_ended(self, error: Exception | None) -> State | None:
        """Return the state after the end of a stream. error is None if the server ended it normally."""
        self._response.close()
        if self._stop.is_set():
            return None
        if self._called_back:
            self._called_back = False
            return State.LISTED
        if isinstance(error, DeadlineExceeded):
            return self._watch_was_silent(error)
        # The stream was up to date until it ended, even if its last event was long ago.
        self._tally.heard()
        if error is None:
            if self._accepted or self._response.seconds_open() >= VERY_SHORT_WATCH_SECONDS:
                self._tell_end("")
                self._outage.over(Doing.READ_WATCH)
                return State.LISTED
            error = VeryShortWatch("the server ended the watch within a second, without an event")
        reason = self._policy.why_relist(error, brought_nothing=self._accepted == 0)
        if reason is None:
            self._outage.wait(Doing.READ_WATCH, error)
            return State.LISTED
        self._relist_reason, self._round_error = reason, error
        return None

    def _watch_was_silent(self, error: DeadlineExceeded) -> State | None:
        """
        Return the state that follows a watch on which nothing arrived for too long.

        Usually nothing has changed, so another watch follows. If the server is unreachable, the new
        watch fails.
        """
        log.debug("Watch was silent, opening another", v=4, reflector=self.name, err=str(error))
        self._metrics.silent_watches.inc()
        self._tell_end(str(error))
        reason = self._policy.why_relist(error, brought_nothing=self._accepted == 0)
        if reason is None or not self._may_be_rewound():
            self._outage.over(Doing.READ_WATCH)
            return State.LISTED
        self._relist_reason = reason
        return None

    def _tell_end(self, why: str) -> None:
        if TRACE.on:
            TRACE.tell(1, self.name, "", ended=why, resource_version=self._last_rv)

    def _may_be_rewound(self) -> bool:
        """Return whether the server's newest resource version is older than ours, or cannot be read."""
        try:
            return is_older(self._listing.newest_resource_version(), self._last_rv)
        except Exception:  # noqa: BLE001 - the list that follows meets and reports the same error
            return True

    def _set_last_rv(self, rv: str) -> None:
        with self._rv_lock:
            self._last_rv = rv
        self._metrics.set_store_resource_version(rv)
