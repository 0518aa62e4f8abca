"""
Passes changes from the store to the handlers. Every handler has its own buffer and its own thread, so a slow
handler does not delay the others.

A *listener* is one handler with its buffer and thread. A *notification* reports one object's change. A
*sync* notification is an update whose two states have the same resource version: the object did not change,
and is only repeated by a resync or a relist. A resync helps a controller that depends on outside state
for which no events arrive, or whose sync has a bug. A resync only repeats what is in the cache, so it cannot
deliver events that a watch missed.

The informer thread passes notifications on in batches. For each batch, it acquires a listener's lock once
and wakes its thread once. The listener thread swaps its whole buffer for an empty one, and calls the handler
for one notification after the other, in order. Buffers are unbounded: if a handler hangs, its buffer grows,
as `statistics()` shows.

Follows: client-go tools/cache/shared_informer.go @32ce75a7d (sharedProcessor, processorListener). Differs: a
listener has one thread and a list with a condition; client-go has two goroutines and a ring buffer, because
its channels are unbuffered. A handler that raises never ends the process, whereas a panic does in Go
(HandleCrash, unless ReallyCrash is off). After an error, the handler's next call follows immediately
(client-go waits for a second), so that one object does not delay the others. If the handler raises for an
add of the initial list, the add is considered delivered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeAlias, TypeVar, final

import msgspec

from handloop.informers.handlers import ResourceEventHandler, handler_name, ignore
from handloop.informers.keys import DeletedFinalStateUnknown, deletion_handling_meta_namespace_key_func
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_condition, new_lock
from handloop.seams.logs import get_logger, in_words
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.step_trace import TRACE
from handloop.seams.threads import Joinable, Spawn
from handloop.workqueue.queue_metrics import CounterMetric

log = get_logger("informers")

T = TypeVar("T")

MINIMUM_RESYNC_SECONDS: Final = 1.0


@final
class AddNotification(msgspec.Struct, Generic[T], gc=False):
    """An object is new to the store."""

    new: T
    is_in_initial_list: bool = False


@final
class UpdateNotification(msgspec.Struct, Generic[T], gc=False):
    """An object was replaced. In a resync, old and new are the same object."""

    old: T
    new: T


@final
class DeleteNotification(msgspec.Struct, Generic[T], gc=False):
    """An object left the store."""

    old: T | DeletedFinalStateUnknown[T]


Notification: TypeAlias = AddNotification[T] | UpdateNotification[T] | DeleteNotification[T]


class ListenerStatistics(msgspec.Struct, frozen=True):
    """
    A snapshot of a listener.

    pending counts the notifications that are not handled yet. handled counts the handler's calls so far, and
    panics those that raised. synced is what has_synced returns. blocked_seconds is how long the current call
    has been running since the first snapshot that was taken during the call.
    """

    name: str
    pending: int
    handled: int
    panics: int
    synced: bool
    blocked_seconds: float = 0.0


class ProcessorListener(Generic[T]):
    """
    One handler, its buffer and its thread.

    State, guarded by _changed (60):
        _pending  the notifications that the thread has not taken yet, in the order of distribution.
        _initial  how many adds of the initial list the handler has not finished yet.
    State, guarded by the processor's lock (40):
        resync_seconds  the period in effect; 0 for no resyncs.
        _resync_at      when the next resync is due.
        _thread         None until started; stays set after the thread has ended.
    State without a lock:
        _in_hand, _handled, _panics  written only by the listener thread; a reader may be one call behind.
        _looked  the value of _handled and the time at the first snapshot during the current call, or None;
                 written by the threads that take snapshots.
    Threads: add is called on the informer thread, or on the thread that adds the handler; run has its own
    thread.
    """

    def __init__(
        self,
        handler: ResourceEventHandler[T],
        *,
        name: str,
        requested_resync_seconds: float,
        resync_seconds: float,
        informer_has_synced: Callable[[], bool],
        panics: CounterMetric,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self.name = name
        self.requested_resync_seconds = requested_resync_seconds
        self.resync_seconds = resync_seconds
        self._handler = handler
        self._handler_name = handler_name(handler)
        self._clock = clock
        self._panic_counter = panics
        self._informer_has_synced = informer_has_synced
        self._changed = new_condition("ProcessorListener._lock", 60)
        self._stop = threading.Event()
        self._pending: list[Notification[T]] = []
        self._initial = 0
        self._in_hand = 0
        self._handled = 0
        self._panics = 0
        self._looked: tuple[int, float] | None = None
        self._thread_id = 0
        self._thread: Joinable | None = None
        self._resync_at = clock.now() + resync_seconds

    def ignores_deletes(self) -> bool:
        """Return whether the listener's handler was created without a function for deletes."""
        return getattr(self._handler, "on_delete", None) is ignore

    def has_synced(self) -> bool:
        """Return whether the informer has synced and this handler has processed every initial add."""
        # Check the informer first, because a count that is read before may miss the list's last add.
        if not self._informer_has_synced():
            return False
        with self._changed:
            return self._initial == 0

    def is_current_thread(self) -> bool:
        """Return whether the caller runs on this listener's thread, that is, in its handler."""
        return self._thread_id == threading.get_ident()

    def take_resync(self, now: float) -> bool:
        """
        Return whether a resync is due. If it is, set the time of the next one.

        Locks: the caller must hold the processor's lock.
        """
        if self.resync_seconds <= 0 or now < self._resync_at:
            return False
        self._resync_at = now + self.resync_seconds
        return True

    def add(self, notifications: Sequence[Notification[T]], *, initial: int = 0) -> None:
        """
        Append notifications to the buffer, without waiting for the handler.

        Args: initial is the number of notifications that are adds of the initial list.
        """
        with self._changed:
            if not self._pending:
                self._changed.notify()
            self._pending += notifications
            self._initial += initial

    def run(self) -> None:
        """
        Call the handler for every notification in the buffer.

        Blocks: until stop() is called and the handler has returned. The rest of the buffer is dropped.
        """
        self._thread_id = threading.get_ident()
        while notifications := self._take():
            self._deliver(notifications)
        self._in_hand = 0
        self._thread_id = 0  # a later thread may have the same ID

    def start(self, spawn: Spawn) -> None:
        """
        Start the listener's thread.

        Locks: the caller must hold the processor's lock.
        """
        self._thread = spawn(self.name, self.run)

    def join(self) -> None:
        """
        Wait until a stopped listener has ended. The listener's own thread must not call this.

        Blocks: until the listener's last call has returned. If the listener was never started or was not
        stopped, join does not wait.
        """
        if self._thread is not None and self._stop.is_set():
            self._thread.join()

    def stop(self) -> None:
        """End run. Any thread can call this, and it does not wait."""
        self._stop.set()
        with self._changed:
            self._changed.notify()

    def statistics(self) -> ListenerStatistics:
        """Return a snapshot."""
        with self._changed:
            waiting = len(self._pending)
        return ListenerStatistics(
            name=self._handler_name,
            pending=waiting + self._in_hand,
            handled=self._handled,
            panics=self._panics,
            synced=self.has_synced(),
            blocked_seconds=self._blocked_seconds(),
        )

    def _blocked_seconds(self) -> float:
        # Measure from snapshot to snapshot, because reading the clock on every call would cost more.
        now, looked = self._clock.now(), self._looked
        if not self._in_hand:
            self._looked = None
            return 0.0
        if looked is None or looked[0] != self._handled:
            looked = self._looked = self._handled, now
        return now - looked[1]

    def _take(self) -> list[Notification[T]]:
        """Wait for notifications, and return all that are pending; [] once stopped."""
        with self._changed:
            while not self._pending and not self._stop.is_set():
                self._clock.wait(self._changed, None)
            taken, self._pending = self._pending, []
            self._in_hand = len(taken)
        return taken if not self._stop.is_set() else []

    def _deliver(self, notifications: list[Notification[T]]) -> None:
        # listener thread, no lock held
        handler, stopped = self._handler, self._stop.is_set
        initial = 0  # returned adds of the initial list that _initial still counts
        for notification in notifications:
            if stopped():
                return
            is_initial = type(notification) is AddNotification and notification.is_in_initial_list
            try:
                if type(notification) is UpdateNotification:
                    handler.on_update(notification.old, notification.new)
                elif type(notification) is AddNotification:
                    handler.on_add(notification.new, notification.is_in_initial_list)
                else:
                    handler.on_delete(notification.old)
            except BaseException as error:  # noqa: BLE001 - whatever a handler raises, the next event still runs
                self._panicked(notification, error)
            finally:
                self._handled += 1
                self._in_hand -= 1
            initial += is_initial
            if initial and not is_initial:
                self._returned(initial)
                initial = 0
        if initial:
            self._returned(initial)

    def _returned(self, initial: int) -> None:
        with self._changed:
            self._initial -= initial

    def _panicked(self, notification: Notification[T], error: BaseException) -> None:
        self._panics += 1
        self._panic_counter.inc()
        log.error(
            "Handler failed",
            handler=self._handler_name,
            notification=type(notification).__name__.removesuffix("Notification").lower(),
            key=_key_of(notification),
            err=in_words(error, repr),
            exc_info=error,
        )


def _key_of(notification: Notification[T]) -> str:
    obj = notification.old if isinstance(notification, DeleteNotification) else notification.new
    return deletion_handling_meta_namespace_key_func(obj)  # type: ignore[arg-type] # a store's object


class Registration(Generic[T]):
    """A handle for an added handler, used to check whether it has synced, and to remove it."""

    def __init__(self, listener: ProcessorListener[T]) -> None:
        self.listener: Final = listener  # for the informer

    def has_synced(self) -> bool:
        """
        Return whether the informer has synced and this handler has processed every initial add.

        The informer's own has_synced is weaker: it only means that the store contains the first list.
        """
        return self.listener.has_synced()


class SharedProcessor(Generic[T]):
    """
    The listeners of one informer.

    State, guarded by _listeners_lock (40):
        _syncing  listener -> whether it receives sync notifications.
        _started  whether the listeners' threads were started.
    Guarantee: each listener receives the notifications in the order in which they were distributed.
    """

    def __init__(self, *, seams: Seams = REAL_SEAMS) -> None:
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._listeners_lock = new_lock("SharedProcessor._listeners_lock", 40)
        self._syncing: dict[ProcessorListener[T], bool] = {}
        self._started = False

    def listeners(self) -> list[ProcessorListener[T]]:
        """Return the listeners, in the order in which they were added."""
        with self._listeners_lock:
            return list(self._syncing)

    def add_listener(self, listener: ProcessorListener[T]) -> None:
        """Add a listener, and start it if the others are running. At first, it receives syncs, too."""
        with self._listeners_lock:
            if self._started:
                listener.start(self._spawn)  # if this fails, nothing would ever empty the listener's buffer
            self._syncing[listener] = True

    def remove_listener(self, listener: ProcessorListener[T]) -> None:
        """
        Stop a listener and remove it. An unknown listener is ignored.

        A handler call may still be running; join() waits for it. A removed listener is not started later.
        """
        with self._listeners_lock:
            # Stop under the lock. Otherwise a second removal could return before the listener is stopped.
            if self._syncing.pop(listener, None) is not None:
                listener.stop()

    def distribute(
        self,
        notifications: Sequence[Notification[T]],
        changes: Sequence[Notification[T]],
        *,
        initial: int = 0,
    ) -> None:
        """
        Pass a batch of notifications to all listeners.

        Args: changes are the notifications without syncs, for listeners that do not receive syncs now;
        initial is the number of adds of the initial list.
        """
        with self._listeners_lock:
            for listener, syncing in self._syncing.items():
                batch = notifications if syncing else changes
                if batch:
                    # (6) dispatch
                    listener.add(batch, initial=initial)
                    if TRACE.on:
                        _tell(listener, batch)

    def should_resync(self) -> bool:
        """Return whether a resync is due for any listener. Turn syncs on for those, and off for others."""
        now = self._clock.now()
        with self._listeners_lock:
            for listener in self._syncing:
                self._syncing[listener] = listener.take_resync(now)
            return any(self._syncing.values())

    def resync_check_period_changed(self, effective: Callable[[float], float]) -> None:
        """Recompute every listener's resync period from its requested period."""
        with self._listeners_lock:
            for listener in self._syncing:
                listener.resync_seconds = effective(listener.requested_resync_seconds)

    def start(self) -> None:
        """Start the threads of all listeners."""
        with self._listeners_lock:
            self._started = True
            for listener in self._syncing:
                listener.start(self._spawn)

    def stop(self) -> None:
        """
        Stop all listeners. They stay registered.

        Blocks: until the running handler calls have returned.
        """
        with self._listeners_lock:
            self._started = False
            listeners = list(self._syncing)
        for listener in listeners:
            listener.stop()
        for listener in listeners:
            listener.join()


class ResyncPeriods:
    """
    The periods, in seconds, after which an informer's handlers receive every object again; 0 for never.

    An informer has one *check period*. After each one, it checks which listeners are due for a resync, so a
    handler's effective period is a multiple of the check period.

    State: check_seconds is the check period, which handlers can shorten until the informer starts. The
    informer's lock guards it.
    """

    def __init__(self, default_seconds: float) -> None:
        # Like a handler's period, a negative one means never. With it, the informer's loop would not wait.
        self._default_seconds = self.check_seconds = max(default_seconds, 0)

    def admit(self, requested: float | None, *, started: bool) -> float:
        """
        Return the resync period that a handler gets for its request.

        A request for less than the check period shortens the check period. Once the informer has started,
        the check period stays, and the handler gets the check period.

        Args: requested is in seconds, or None for the informer's default.
        """
        seconds = self._default_seconds if requested is None else requested
        if seconds <= 0:
            return 0
        if seconds < MINIMUM_RESYNC_SECONDS:
            log.warning(
                "Resync period is too small and was raised", period=seconds, raised=MINIMUM_RESYNC_SECONDS
            )
            seconds = MINIMUM_RESYNC_SECONDS
        if seconds >= self.check_seconds:
            return seconds
        if started:
            log.warning(
                "Resync period is smaller than the check period of a started informer and was raised",
                period=seconds,
                raised=self.check_seconds,
            )
        else:
            self.check_seconds = seconds
        return self.check_seconds

    def effective(self, admitted: float) -> float:
        """Return the period at which a handler receives its resyncs."""
        if admitted <= 0:
            return 0
        if self.check_seconds == 0:
            log.warning("The informer does not resync, so its handlers do not either", period=admitted)
            return 0
        return max(admitted, self.check_seconds)


def _tell(listener: ProcessorListener[T], batch: Sequence[Notification[T]]) -> None:
    for notification in batch:
        resync = isinstance(notification, UpdateNotification) and notification.old is notification.new
        ignored = isinstance(notification, DeleteNotification) and listener.ignores_deletes()
        what = type(notification).__name__
        TRACE.tell(6, listener.name, _key_of(notification), what=what, resync=resync, ignored=ignored)
