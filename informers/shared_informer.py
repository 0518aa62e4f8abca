"""
An informer: mirrors one kind into an indexed store, and calls any number of handlers for every change.

    server -> Reflector -> DeltaFIFO -> informer loop -> Indexer
                                                     '-> SharedProcessor -> one listener per handler

Threads: `reflector-<plural>` reads from the server and fills the FIFO. The thread that calls run is the
informer loop. It moves the FIFO's content, in batches, into the store and the listeners' buffers, and starts
a resync when one is due. Each `listener-<plural>-<n>` calls one handler.

Guarantees: a change is in the store before any handler is called for it. Each handler receives an object's
changes in order, and every object at least once; intermediate states can be skipped. After stop, no handler
is called. A stopped informer cannot be started again.

Follows: client-go tools/cache/shared_informer.go and controller.go @32ce75a7d. Differs: an informer that
stops drops undelivered notifications immediately. It does not detect modifications of cached objects;
instead, it rejects a kind whose objects are mutable.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Final, Generic, TypeVar

from handloop.apis.immutable import mutable_parts
from handloop.apis.meta import Kind
from handloop.apis.partial_metadata import PartialObjectMetadata
from handloop.client.options import ListOptions
from handloop.informers.delta_fifo import DeltaFIFO, FIFOClosed
from handloop.informers.delta_processing import DeltaProcessor
from handloop.informers.event_intake import EventIntake
from handloop.informers.handlers import ResourceEventHandler, handler_name
from handloop.informers.history_guard import HistoryGuard, is_older
from handloop.informers.indexer import Indexer, Indexers
from handloop.informers.informer_errors import InformerStopped, MutableKind
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.informer_options import DEFAULT_OPTIONS, InformerOptions
from handloop.informers.informer_statistics import InformerStatistics
from handloop.informers.initial_list import forgiving
from handloop.informers.lister import Cache
from handloop.informers.listwatch import ListerWatcher
from handloop.informers.outage import Outage, RetryPause
from handloop.informers.processor import (
    AddNotification,
    ProcessorListener,
    Registration,
    ResyncPeriods,
    SharedProcessor,
)
from handloop.informers.quarantine import Quarantine, UndecodableCallback
from handloop.informers.reflector import Reflector
from handloop.informers.restriction import Restriction
from handloop.informers.selection import EVERYTHING, Selection
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger, in_words
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import Joinable, as_error

log = get_logger("informers")

T = TypeVar("T", bound=Kind)

# A stopped informer waits this long for a list request that cannot be interrupted.
REFLECTOR_GRACE_SECONDS: Final = 5.0
BATCH_KEYS: Final = 256


class SharedIndexInformer(Generic[T]):
    """
    One mirrored kind with any number of handlers; see the module's docstring.

    Fields: indexer is the store, which callers only read. quarantine contains the objects that do not fit
    their type. restriction decides which objects the informer may store.

    State, guarded by _started_lock (10):
        _started, _stopped    never reset.
        _reflector, _fifo     None until run is called.
        _periods              the handlers' resync periods. The check period is fixed when run is called.
    """

    def __init__(
        self,
        lister_watcher: ListerWatcher[T],
        kind: type[T],
        *,
        namespace: str = "",
        selection: Selection = EVERYTHING,
        indexers: Indexers[T] | None = None,
        options: InformerOptions = DEFAULT_OPTIONS,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Create an informer. run starts it.

        Args: namespace and selection only affect names. lister_watcher applies both to its requests, as well
        as options.tweak.
        Raises: MutableKind if the kind's objects are mutable.
        """
        if parts := mutable_parts(kind):
            raise MutableKind(kind, parts)
        self.kind = kind
        only = "[metadata]" if issubclass(kind, PartialObjectMetadata) else ""
        self.name = kind.resource.group_resource + only + selection.suffix + options.name_suffix
        self.selection = selection
        self._lister_watcher = lister_watcher
        self._namespace = namespace
        self._options = options
        self._clock = seams.clock
        self._seams = seams
        provider = options.metrics_provider
        self._metrics = InformerMetrics() if provider is None else provider.for_informer(self.name)
        self.indexer: Final[Indexer[T]] = Indexer(indexers=indexers)
        self.quarantine: Final = Quarantine(
            kind=kind.resource.kind,
            gauge=self._metrics.quarantined,
            in_store=lambda key: self.indexer.get_by_key(key) is not None,
        )
        self._guard: HistoryGuard[T] = HistoryGuard()
        self._processor: SharedProcessor[T] = SharedProcessor(seams=seams)
        self._block_deltas = new_lock("SharedIndexInformer._block_deltas", 30)
        self._deltas = DeltaProcessor(
            indexer=self.indexer,
            processor=self._processor,
            block_deltas=self._block_deltas,
            guard=self._guard,
            metrics=self._metrics,
            clock=seams.clock,
        )
        self._stopping = threading.Event()
        self._started_lock = new_lock("SharedIndexInformer._started_lock", 10)
        self._started = False
        self._stopped = False
        self.restriction: Final[Restriction[T]] = options.restrictions.restrict(
            kind, lister_watcher, metrics=self._metrics, name=self.name, clock=seams.clock
        )
        self._reflector: Reflector[T] | None = None
        self._fifo: DeltaFIFO[T] | None = None
        self._periods = ResyncPeriods(options.resync_seconds)
        self._transform = None if options.transform is None else forgiving(options.transform)
        self._listeners_made = 0
        # run writes these, and health checks read them.
        self._reflector_thread: Joinable | None = None
        self._died = False

    def __repr__(self) -> str:
        now = self.statistics()
        state = "stopped" if now.stopped else "synced" if now.synced else "not synced"
        return f"<SharedIndexInformer of {self.name}: {state}, {now.objects} objects>"

    def has_synced(self) -> bool:
        """Return whether the whole first list is in the store. Once true, this stays true."""
        fifo = self._fifo  # read once, without holding the lock, because every read of a lister calls this
        return fifo is not None and fifo.has_synced()

    def has_died(self) -> bool:
        """Return whether the reflector or the informer loop has ended without being stopped."""
        thread = self._reflector_thread
        return self._died or (thread is not None and not self._stopping.is_set() and not thread.is_alive())

    def last_sync_resource_version(self) -> str:
        """Return the resource version up to which all changes are in the queue or the store; at first ""."""
        with self._started_lock:
            reflector = self._reflector
        return "" if reflector is None else reflector.last_sync_resource_version()

    def has_seen(self, resource_version: str) -> bool:
        """
        Return whether the store contains all changes up to resource_version.

        If it does, an object that is missing from the store was deleted. Blocks: while a batch is stored.
        """
        with self._started_lock:
            reflector, fifo = self._reflector, self._fifo
        if reflector is None or fifo is None:
            return False
        # Read the version first. If the queue is drained after that, everything up to the version is
        # stored.
        seen = reflector.last_sync_resource_version()
        return bool(seen) and not is_older(seen, resource_version) and fifo.is_drained()

    def newest_resource_version(self) -> str:
        """
        Return the server's newest resource version for the kind, from a list of one object.

        Raises: the same errors as ListerWatcher.list. Blocks: during the request.
        """
        return self._lister_watcher.list(ListOptions(limit=1)).resource_version

    def list_newest(self) -> None:
        """Request a list that includes everything written before this call. Does not wait for the list."""
        with self._started_lock:
            reflector = self._reflector
        if reflector is not None:
            reflector.list_newest()

    def has_listed(self, version: int) -> bool:
        """
        Return whether everything that this version of the restriction allows has been listed and stored.

        The handlers may not have been called yet, so a slow handler does not delay the callers of has_listed.
        """
        return self.restriction.has_listed(version) and self.has_synced()

    @property
    def cache(self) -> Cache[T]:
        """The store for listers."""
        return self.restriction.cache(self.indexer)

    def statistics(self) -> InformerStatistics:
        """Return a snapshot."""
        with self._started_lock:
            started, stopped = self._started, self._stopped
            reflector, fifo = self._reflector, self._fifo
        return InformerStatistics(
            name=self.name,
            plural=self.kind.resource.plural,
            started=started,
            stopped=stopped,
            synced=fifo is not None and fifo.has_synced(),
            objects=len(self.indexer),
            queued=0 if fifo is None else len(fifo),
            quarantined=len(self.quarantine),
            reflector=None if reflector is None else reflector.statistics(),
            listeners=tuple(listener.statistics() for listener in self._processor.listeners()),
            unindexed=self.indexer.unindexed(),
            narrowed_by=self.restriction.narrowed_by,
        )

    # any time

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add indexes. They are complete when this returns.

        If an index function raises an error for an object, that index lacks the object, and the error is
        logged and counted.
        Raises: InformerStopped if the informer has stopped; IndexerConflict if a name already exists.
        """
        with self._started_lock:
            if self._stopped:
                raise InformerStopped("indexer was not added because it has stopped already")
            self.indexer.add_indexers(indexers)

    def on_undecodable(self, callback: UndecodableCallback) -> None:
        """Call callback for every object that does not fit its type, including those found before."""
        self.quarantine.on_undecodable(callback)

    def add_event_handler(
        self, handler: ResourceEventHandler[T], *, resync_seconds: float | None = None
    ) -> Registration[T]:
        """
        Call handler for every change, from now on.

        A handler that is added to a running informer first receives an add for every stored object.

        Args: resync_seconds is the period after which the handler receives every object again. 0 means
        never, and None means the informer's default. If that default is 0, no handler is resynced, whatever
        its own period is. A period of less than 1 s becomes 1 s. Periods are rounded up to a multiple of the
        check period (see ResyncPeriods).
        Raises: InformerStopped if the informer has stopped.
        """
        with self._started_lock:
            if self._stopped:
                raise InformerStopped(
                    f"handler {handler_name(handler)} "
                    "was not added to shared informer because it has stopped already"
                )
            listener = self._new_listener_locked(handler, resync_seconds)
            if not self._started:
                self._processor.add_listener(listener)
            else:
                # Allow no event between the snapshot and the first notification, so that none is missed or
                # reported twice.
                with self._block_deltas:
                    snapshot = [AddNotification(obj, True) for obj in self.indexer.list()]
                    listener.add(snapshot, initial=len(snapshot))
                    self._processor.add_listener(listener)
        return Registration(listener)

    def remove_event_handler(self, registration: Registration[T]) -> None:
        """
        Stop calling a handler, without waiting for a running call. An unknown registration is ignored.

        Raises: TypeError if the argument is not a Registration.
        """
        if not isinstance(registration, Registration):
            raise TypeError(f"invalid registration {registration!r}")
        self._processor.remove_listener(registration.listener)

    def shut_down_event_handler(self, registration: Registration[T]) -> None:
        """
        Stop calling a handler, and wait for its last call.

        Blocks: until that call has returned, even if the handler was removed earlier.
        Raises: TypeError if the argument is not a Registration; RuntimeError if the handler itself calls
        this, because it would wait for itself to return.
        """
        if registration.listener.is_current_thread():
            raise RuntimeError("a handler cannot wait for its own end: use remove_event_handler")
        self.remove_event_handler(registration)
        registration.listener.join()

    def run(self, stop: threading.Event) -> None:
        """
        Mirror the kind and notify the handlers, on the calling thread. A second call returns immediately.

        Blocks: until stop() is called or stop is set, and then until the running handler calls have
        returned. stop() takes effect at once; a set stop event is noticed within stop_poll_seconds.
        """
        try:
            reflector = self._start()
            if reflector is None:
                log.warning(
                    "The sharedIndexInformer has started, run more than once is not allowed", name=self.name
                )
                return
            self.restriction.follow(reflector)
            thread = self._seams.spawn(f"reflector-{self.kind.resource.plural}", reflector.run)
        except RuntimeError:  # can't start new thread
            self._died = True
            raise
        self._reflector_thread = thread
        try:
            self._loop(stop)
        finally:
            self._died = not (stop.is_set() or self._stopping.is_set())
            self.restriction.leave()
            self.stop()
            thread.join(REFLECTOR_GRACE_SECONDS)
            if thread.is_alive():
                # Log at debug level if only this informer ends, because its objects are not needed now.
                tell = log.warning if stop.is_set() else partial(log.debug, v=4)
                tell("Reflector is still in a request; its result will be dropped", reflector=self.name)
            with self._started_lock:
                self._stopped = True
            self._processor.stop()

    def stop(self) -> None:
        """
        Make run return, for good. Any thread can call this.

        Ends blocked reads, but does not wait until run has returned.
        """
        self._stopping.set()
        with self._started_lock:
            reflector, fifo = self._reflector, self._fifo
        if reflector is not None and fifo is not None:
            reflector.stop()
            fifo.close()

    def _start(self) -> Reflector[T] | None:
        """Create and return the reflector, with its FIFO. Returns: None if run was called before."""
        with self._started_lock:
            if self._started:
                return None
            self._started = True
            self._fifo = self.restriction.new_fifo(
                self.indexer, self._transform, name=self.name, clock=self._clock
            )
            self._reflector = Reflector(
                self.restriction,
                self.kind,
                EventIntake(
                    self._fifo,
                    guard=self._guard,
                    quarantine=self.quarantine,
                    name=self.name,
                    restriction=self.restriction,
                ),
                self._new_outage_locked(),
                metrics=self._metrics,
                page_size=self._options.page_size,
                transform=self._listed,
                seams=self._seams,
            )
            self._processor.start()
            return self._reflector

    def _new_outage_locked(self) -> Outage:
        pause = RetryPause(reachability=self._options.reachability, seams=self._seams)
        return Outage(
            self.name,
            self.kind.resource,
            self._namespace,
            object_name=self.selection.name,
            pause=pause,
            hints=self._options.hints,
            quiet=self._options.quiet,
            clock=self._clock,
        )

    def _listed(self, obj: T) -> T:
        """
        Transform a listed object. If the result equals the stored object, return the stored one.

        Unchanged objects are therefore not kept twice: a relist needs memory only for one page and for the
        changed objects. Whole objects are compared, because the server can return a different object with
        the same resource version, for example after a CRD was given a new default or conversion.
        """
        # This runs on the reflector thread. Look up the object before the transform, which may change its
        # key. During the first list, the store is empty.
        stored = self.indexer.get(obj) if self.indexer else None
        if self._transform is not None:
            obj = self._transform(obj)
        return stored if stored == obj else obj

    def _loop(self, stop: threading.Event) -> None:
        # This runs on the informer thread, the only one that writes to the store.
        fifo = self._fifo
        assert fifo is not None
        period = self._periods.check_seconds
        resync_at = self._clock.now() + period if period else float("inf")
        while not self._stopping.is_set():
            if stop.is_set():
                return
            left = max(resync_at - self._clock.now(), 0) if period else self._options.stop_poll_seconds
            timeout = min(self._options.stop_poll_seconds, left)
            try:
                fifo.pop_batch(self._deltas.process, BATCH_KEYS, timeout)
            except FIFOClosed:
                return
            except BaseException as error:  # noqa: BLE001 - the store's only writer must live on
                self._unprocessed(error)
            self._metrics.queued_items.set(len(fifo))
            if period and self._clock.now() >= resync_at:
                self._resync(fifo)
                resync_at = self._clock.now() + period

    def _unprocessed(self, error: BaseException) -> None:
        log.error("Unable to process deltas", name=self.name, err=in_words(as_error(error)), exc_info=error)
        if not isinstance(error, Exception):
            self._clock.sleep(self._options.stop_poll_seconds, self._stopping)

    def _resync(self, fifo: DeltaFIFO[T]) -> None:
        if fifo.has_synced() and self._processor.should_resync():
            log.debug("Forcing resync", v=4, name=self.name)
            fifo.resync()

    def _new_listener_locked(
        self, handler: ResourceEventHandler[T], resync_seconds: float | None
    ) -> ProcessorListener[T]:
        admitted = self._periods.admit(resync_seconds, started=self._started)
        if not self._started:
            # The new handler may have shortened the check period.
            self._processor.resync_check_period_changed(self._periods.effective)
        self._listeners_made += 1
        return ProcessorListener(
            handler,
            name=f"listener-{self.kind.resource.plural}-{self._listeners_made}",
            requested_resync_seconds=admitted,
            resync_seconds=self._periods.effective(admitted),
            informer_has_synced=self.has_synced,
            panics=self._metrics.handler_panics,
            clock=self._clock,
        )
