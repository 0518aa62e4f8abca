"""
A controller: sources of watch events add names to a queue, and workers take them and call a reconciler.

    sources --add(name, cause)--> ReconcileQueue --> workers --> Reconciler.reconcile(name, context)
                                       ^                 |
                                       '-- later, retry, parked

Follows: controller-runtime pkg/internal/controller @v0.25, differs: reconciles wait for our own writes; a
resync does not retry a name that failed permanently; a delayed reconcile is skipped if an earlier one made it
unnecessary; if the caches do not fill, the process logs the kind and the reason.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

import structlog

from handloop.client.errors import NotFound, TransportError, seconds_asked_for
from handloop.controller.runtime.caching.cache_wait import READER, wait_for_caches
from handloop.controller.runtime.guards.admission import (
    Admitted,
    NotAdmittedError,
    NotYetAdmittedError,
    admit_all,
)
from handloop.controller.runtime.guards.own_writes import OWN_WRITE_TIMEOUT_SECONDS
from handloop.controller.runtime.guards.quiet_faults import QuietFaults
from handloop.controller.runtime.guards.reconcile_writes import NameWrites, ReconcileWrites
from handloop.controller.runtime.life.runnable import DividedWork, WorkersBusyError
from handloop.controller.runtime.metrics.controller_metrics import ControllerMetrics, ControllerOwnWrites
from handloop.controller.runtime.reconcile import (
    DONE,
    LEFT_ALONE,
    MADE,
    Deadline,
    ReconcileError,
    Result,
    TerminalError,
    WaitError,
)
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.explainer import Explainer, Explanation
from handloop.controller.runtime.reconciling.reconciler import Reconciler
from handloop.controller.runtime.reconciling.reporting import ReconcileReporter, is_expected, shown, where_is
from handloop.controller.runtime.reconciling.traced import outcome_of, work_of
from handloop.controller.runtime.reconciling.watchman import Running, Watchman
from handloop.controller.runtime.sources.decisions import (
    FAILED,
    GAVE_UP,
    PARKED,
    PAUSED,
    SETTLED,
    TOLD,
    WAITS,
    Decision,
    Decisions,
)
from handloop.controller.runtime.sources.reconcile_queue import Cause, ReconcileQueue, Taken
from handloop.informers.keys import ObjectName
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger, in_words
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import Joinable, join_all
from handloop.seams.tracing import TRACING
from handloop.workqueue.queue import ShutDown
from handloop.workqueue.rate_limiters import RateLimiter

CACHE_SYNC_TIMEOUT_SECONDS: Final = 120.0
_WORKER_PERIOD_SECONDS: Final = 1.0
UNKNOWN_OUTCOME_SECONDS: Final = 1.0
"""
The wait before the retry that follows an unanswered write, unless a watch event arrives earlier.

The version of such a write is unknown, so the name cannot wait for the cache to show it. An immediate retry
would not find the object in the cache, and would create a second one if the server generates the names.
"""
BLOCKED_SECONDS: Final = 60.0
STUCK_SECONDS: Final = 300.0
"""The time after its deadline at which a reconcile is reported as stuck. Slow requests time out earlier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """The options of a controller. Raises: ValueError if an option is out of range."""

    max_concurrent_reconciles: int = 1
    """The number of workers, which reconcile different names at the same time."""

    rate_limiter: RateLimiter[ObjectName] | None = None
    """The back-off for retries. None means a back-off per name, which doubles from 5 ms up to 1000 s."""

    max_retries: int | None = None
    """
    The number of retries after which a failing name waits for a change, as after a TerminalError. None means
    no limit.
    """

    reconcile_timeout_seconds: float | None = None
    """A reconcile's deadline; None means none. If it is STUCK_SECONDS late, the liveness check fails."""

    blocked_after_seconds: float | None = BLOCKED_SECONDS
    """
    If a reconcile without a deadline runs for this long, it is logged while it still runs. With a deadline,
    it is logged once the deadline has passed. None means that no reconcile without a deadline is logged.
    """

    cache_sync_timeout_seconds: float = CACHE_SYNC_TIMEOUT_SECONDS
    """How long the start of the controller waits for the caches. Infinity is allowed."""

    own_write_timeout_seconds: float = OWN_WRITE_TIMEOUT_SECONDS
    """How long a name waits for a cache that lacks our writes before asking the server; 0 means no wait."""

    pauses_deletion: bool = False
    """Whether a pause also stops the reconciles of an object that is being deleted."""

    plannable: bool = False
    """Whether a plan may call the reconcile, which must then change nothing outside the cluster."""

    shutdown_timeout_seconds: float = 30.0
    """How long shutdown waits for the reconciles that are still running. Infinity is allowed."""

    needs_leader_election: bool = True
    """Whether the controller runs only while this process is the leader."""

    def __post_init__(self) -> None:
        if self.max_concurrent_reconciles < 1:
            raise ValueError("max_concurrent_reconciles must be at least 1")
        if self.max_retries is not None and self.max_retries < 0:
            raise ValueError("max_retries must not be negative")
        if self.reconcile_timeout_seconds is not None and not self.reconcile_timeout_seconds > 0:
            raise ValueError("reconcile_timeout_seconds must be positive; None means no deadline")
        if self.blocked_after_seconds is not None and not self.blocked_after_seconds > 0:
            raise ValueError("blocked_after_seconds must be positive; None means no warning")
        for name in ("cache_sync_timeout_seconds", "own_write_timeout_seconds", "shutdown_timeout_seconds"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative")


DEFAULT_CONTROLLER_OPTIONS: Final = ControllerOptions()


class Watch(Protocol):
    """A source of watch events, such as an InformerSource, that the controller starts."""

    def start(self) -> None:
        """Queue the names of the cached objects, and from then on the names in watch events."""

    def troubles(self) -> list[str]:
        """Return the reasons why the first list has not been delivered completely, or [] once it has."""


class ReconcileStatistics(NamedTuple):
    """
    The numbers of workers and of reconciles.

    Fields: workers, how many workers should run, which is 0 until the caches are filled; workers_alive, how
    many are running; succeeded and failed, how many reconciles have succeeded and failed; unexpected, how
    many of the failed ones raised an unexpected error.
    """

    workers: int = 0
    workers_alive: int = 0
    succeeded: int = 0
    failed: int = 0
    unexpected: int = 0


class Controller(DividedWork):
    """
    Implements handloop.controller.runtime.life.runnable.Runnable.

    Fields: name; kind, the kind of the reconciled objects; queue; decisions, the record of the decisions
    about each name; explainer, which is set before run; sources, the names of the sources outside the
    cluster; plannable, the option of that name; ends_first, as in Runnable. Only plans use sources and
    plannable.
    State, under _lock: _counts; _watches, which only grows; _started, which run sets. run starts the watches
    that were added before, and watch() starts those that are added later.
    Threads: the workers are `<name>-worker-<i>`, and two of them never work on the same name. The listeners
    of the watches add names to the queue on their own threads.
    """

    ends_first = True

    def __init__(
        self,
        name: str,
        reconciler: Reconciler[ObjectName],
        *,
        kind: str,
        queue: ReconcileQueue,
        writes: ReconcileWrites,
        faults: QuietFaults,
        metrics: ControllerMetrics,
        own_metrics: ControllerOwnWrites,
        options: ControllerOptions = ControllerOptions(),
        new_context: Callable[..., Context] = Context,
        new_id: Callable[[], str] = lambda: str(uuid.uuid4()),
        admitted: Admitted = admit_all,
        decisions: Decisions | None = None,
        sources: Sequence[str] = (),
        annotations: Callable[[ObjectName], Mapping[str, str]] = lambda _name: {},
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Args: kind is the reconciled objects' kind. new_context creates a Context with the parts that all of
        the controller's reconciles share. admitted returns a context manager that each reconcile enters; see
        Admitted. decisions records how reconciles end, and why names wait. annotations returns a cached
        object's annotations.
        """
        self.name = name
        self.needs_leader_election = options.needs_leader_election
        self.sources = tuple(sources)
        self.plannable = options.plannable
        self.queue = queue
        self._reconciler = reconciler
        self.kind = kind
        self._writes = writes
        self._metrics = metrics
        self._own_metrics = own_metrics
        self._options = options
        self._reports = ReconcileReporter()
        self._faults = faults
        self._new_context = new_context
        self._new_id = new_id
        self._admitted = admitted
        self.decisions = Decisions(seams.clock) if decisions is None else decisions
        self._annotations = annotations
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._log = get_logger(name)
        self._stop = threading.Event()
        self._watches: list[Watch] = []
        self._started = False
        self._lock = new_lock("Controller._lock", 95)
        self._counts = ReconcileStatistics()
        limit = options.reconcile_timeout_seconds or options.blocked_after_seconds
        self._watchman = Watchman(name, limit, self._blocks, seams)
        self.explainer: Explainer | None = None

    def __repr__(self) -> str:
        counts, queue = self.statistics(), self.queue.statistics()
        state = "stopped" if self._stop.is_set() else f"{counts.workers_alive} workers"
        return f"<Controller {self.name}: {state}, {queue.queued} queued, {queue.in_flight} in flight>"

    def watch(self, watch: Watch) -> None:
        """Add a source of watch events. If the controller has already started, start the source, too."""
        with self._lock:
            self._watches.append(watch)
            started = self._started
        if started:
            watch.start()

    def enqueue(self, name: ObjectName, cause: str) -> None:
        """Queue a name for a cause other than a watch event, such as a change outside the cluster."""
        self.queue.add(name, Cause(cause))

    def reconcile_again(self, cause: str) -> None:
        """Queue each name that is being reconciled now, so that it is reconciled again for this cause."""
        for name in self._watchman.names():
            self.enqueue(name, cause)

    def has_work(self, name: ObjectName) -> bool:
        """Return whether a name is being reconciled, or is due after a change, an error or a WaitError."""
        return self._watchman.find(name) is not None or self.queue.has_work(name)

    def running(self, name: ObjectName) -> tuple[float, str] | None:
        """Return the running time of a name's reconcile and the line that it is executing, or None."""
        found = self._watchman.find(name)
        return None if found is None else (self._clock.now() - found.began_at, where_is(found.thread_id)[1])

    def troubles(self) -> list[str]:
        """Return the reasons why the caches are not filled, or an empty list once they are."""
        return [text for watch in self._watches for text in watch.troubles()]

    def explain(self, name: ObjectName) -> Explanation | None:
        """Explain what happens to a name, or why nothing happens. Return None if explainer is not set yet."""
        return None if self.explainer is None else self.explainer.explain(name)

    def statistics(self) -> ReconcileStatistics:
        """Return a snapshot."""
        with self._lock:
            return self._counts

    def workers_check(self) -> str | None:
        """Check that all workers are alive and that no reconcile is stuck. Returns: the problem, or None."""
        counts = self.statistics()
        if self._stop.is_set():
            return None
        if counts.workers_alive < counts.workers:
            return f"{self.name}: {counts.workers_alive} of {counts.workers} are alive"
        deadline = self._options.reconcile_timeout_seconds
        late = self._watchman.late(deadline + STUCK_SECONDS) if deadline is not None else []
        stuck = [f"{each.name} for {seconds:.0f}s" for each, seconds in late]
        return f"{self.name}: stuck in the reconcile of {', '.join(stuck)}" if stuck else None

    def run(self, stop: threading.Event) -> None:
        """
        Wait for the caches, reconcile names until stop is set, and wait for the reconciles still running.

        Raises: RuntimeError if the controller has already been started; CacheSyncTimeoutError if the caches
        are not filled within cache_sync_timeout_seconds; WorkersBusyError if reconciles are still running
        after shutdown_timeout_seconds.
        Blocks: until stop is set, and then for at most shutdown_timeout_seconds.
        """
        watches = self._take_watches()
        self._stop = self._watchman.stop = stop
        workers: list[Joinable] = []
        try:
            self._log.info("Starting controller", controller=self.name)
            for watch in watches:
                watch.start()
            if self._wait_for_caches(stop):
                self._start_workers(workers, stop)
                stop.wait()
            self._log.info("Shutting down workers", controller=self.name)
        finally:
            self.queue.shut_down()
            # Also if not all workers could be started, because the others may be in a reconcile.
            self._join(workers)

    def prepare(self, stop: threading.Event) -> list[ObjectName]:
        """
        Start the watches for a plan, which calls this method instead of run. No worker starts.

        Returns: the sorted names that run would reconcile first, or an empty list if stop is set.
        Raises: RuntimeError if the controller has already been started; CacheSyncTimeoutError if the caches
        are not filled within cache_sync_timeout_seconds.
        Blocks: until the caches are filled.
        """
        for watch in self._take_watches():
            watch.start()
        return sorted(self.queue.names()) if self._wait_for_caches(stop) else []

    def reconcile_once(self, name: ObjectName) -> float | None:
        """
        Reconcile a name as a dry run for a plan. An error does not cause a retry.

        The reconcile does not wait until the caches reflect earlier writes.

        Returns: the seconds after which the name would be reconciled again, 0 if it would only be reconciled
        after a change, or None if it is paused.
        Raises: any error that the reconcile raises.
        """
        before = READER.set("reconcile")
        try:
            context = self._context(name, self.queue.take(name), dry_run=True)
            with structlog.contextvars.bound_contextvars(reconcileID=context.id):
                result = _checked(self._reconciler.reconcile(name, context))
            return None if result is LEFT_ALONE else result.requeue_after or 0.0
        finally:
            READER.reset(before)

    def _take_watches(self) -> tuple[Watch, ...]:
        """Return the watches that run has to start. Watches that are added later are started at once."""
        with self._lock:
            if self._started:
                raise RuntimeError(f"controller {self.name} has already been started: add it once")
            self._started = True
            return tuple(self._watches)

    def _wait_for_caches(self, stop: threading.Event) -> bool:
        return wait_for_caches(
            f"controller {self.name}",
            self.troubles,
            stop,
            timeout_seconds=self._options.cache_sync_timeout_seconds,
            clock=self._clock,
        )

    def _start_workers(self, workers: list[Joinable], stop: threading.Event) -> None:
        """Start the workers, and add each one to the list."""
        count = self._options.max_concurrent_reconciles
        self._log.info("Starting workers", controller=self.name, count=count)
        self._count(workers=count, workers_alive=count)
        for i in range(count):
            workers.append(self._spawn(f"{self.name}-worker-{i}", partial(self._run_worker, stop)))  # noqa: PERF401

    def _blocks(self, running: Running, seconds: float) -> None:
        self._reports.blocks(running.context, seconds, running.thread_id)

    def _join(self, workers: Sequence[Joinable]) -> None:
        seconds = self._options.shutdown_timeout_seconds
        if busy := join_all(dict(enumerate(workers)), seconds, self._clock):
            raise WorkersBusyError(self.name, len(busy), seconds)

    # worker threads

    def _run_worker(self, stop: threading.Event) -> None:
        """Take and process names until stop is set. Names that are still in the queue are not processed."""
        before = READER.set("reconcile")
        running = True
        try:
            while running and not stop.is_set():
                try:
                    running = self._process_next()
                except BaseException as error:  # noqa: BLE001 - a fault of the framework: it lives on
                    self._clock.sleep(_WORKER_PERIOD_SECONDS, stop)
                    with suppress(BaseException):
                        self._log.error("Worker failed", err=in_words(error, repr), exc_info=error)
        finally:
            READER.reset(before)
            self._count(workers_alive=-1)

    def _process_next(self) -> bool:
        """Process the next name. Returns: False once the queue has been shut down, otherwise True."""
        try:
            name = self.queue.get()
        except ShutDown:
            return False
        self._metrics.active.inc()
        try:
            self._work_on(name)
        finally:
            self._metrics.active.dec()
            self.queue.done(name)
        return True

    def _work_on(self, name: ObjectName) -> None:
        taken = self.queue.taken(name)
        if not taken.causes:
            return
        try:
            with self._admitted(name):
                self._work_on_ours(name, taken)
        except NotYetAdmittedError as opening:
            self._park(name, taken, opening.retry_seconds, "the caches do not have all of its objects yet")
        except NotAdmittedError:
            # Do not drop causes that were added later, because the object may have arrived in the meantime.
            self.queue.settle(name)

    def _work_on_ours(self, name: ObjectName, taken: Taken) -> None:
        try:
            context = self._context(name, taken.causes)
            seconds, why = self._writes.to_wait(name)
        except BaseException as error:  # noqa: BLE001 - whatever it was, the name must return
            self.queue.retry(name, "own write check")
            self._log.error(
                "Look at own writes failed", object=name, err=in_words(error, repr), exc_info=error
            )
            return
        if seconds > 0:
            self._park(name, taken, seconds, why)
            return
        for cause in taken.causes:
            self._own_metrics.caused_by(cause.label)
        if TRACING.on:
            self._reconcile_traced(name, taken, context)
        else:
            self._reconcile(name, taken.causes, context)

    def _park(self, name: ObjectName, taken: Taken, seconds: float, why: str) -> None:
        self.queue.park(name, taken.causes, seconds, why, taken.marks)
        self.decisions.note(name, PARKED, why, seconds=seconds)

    def _reconcile_traced(self, name: ObjectName, taken: Taken, context: Context) -> None:
        work = work_of(context, self.kind, taken, self._annotations(name), now=self._clock.now())
        with TRACING.tracer.reconcile(work) as span, structlog.contextvars.bound_contextvars(**TRACING.ids()):
            line = self._reconcile(name, taken.causes, context)
            facts, failed = outcome_of(line)
            span.tell(facts, failed=failed)

    def _reconcile(self, name: ObjectName, causes: tuple[Cause, ...], context: Context) -> Decision:
        began_at, what, text = self._clock.now(), SETTLED, ""
        try:
            self._watchman.begins(Running(name, context, began_at, threading.get_ident()))
            with structlog.contextvars.bound_contextvars(reconcileID=context.id):
                self._reports.begins(context)
                made: list[Result] = []
                token = MADE.set(made)
                try:
                    returned = self._reconciler.reconcile(name, context)
                finally:
                    MADE.reset(token)
                self._faults.ended(name, made, returned)
                result = _checked(returned)
        except WaitError as wait:
            what = WAITS
            # Requeue the name first. Formatting an author's error may fail, and would then lose the name.
            self._settled(name, context, Result(requeue_after=wait.retry_seconds), began_at, why="wait")
            text = in_words(wait)
            self._reports.waits(context, wait)
        except BaseException as error:  # noqa: BLE001 - whatever a reconcile raises, the worker lives on
            what = GAVE_UP if self._failed(name, context, error, began_at) else FAILED
            text = shown(error)
        else:
            what = PAUSED if result is LEFT_ALONE else SETTLED
            self._settled(name, context, result, began_at)
        finally:
            follows = any(cause.verb and cause.subject != self.kind for cause in causes)
            changes = self._writes.ended(name, follows=follows)
            if changes:
                context.log.info("Wrote", changes=changes)
            self._faults.reconciled(name, context.causes, wrote=bool(changes))
            line = self.decisions.reconciled(
                name, what, text, causes=context.causes, began_at=began_at, changes=changes
            )
            self._watchman.ended(name)
        if context.deadline.passed():
            self._metrics.timeouts.inc()
            self._reports.timed_out(context, self._clock.now() - began_at)
        return line

    def _context(self, name: ObjectName, causes: tuple[Cause, ...], *, dry_run: bool = False) -> Context:
        identity = self._new_id()
        return self._new_context(
            controller=self.name,
            name=name,
            id=identity,
            causes=tuple(str(cause) for cause in causes),
            deadline=Deadline(self._options.reconcile_timeout_seconds, stop=self._stop, clock=self._clock),
            # The logger is bound to these values only when it is first used.
            log=get_logger(self.name, controller=self.name, object=name, reconcileID=identity),
            # A cache never shows the write of a dry run, so the name must not wait for it.
            writes=None if dry_run else NameWrites(self._writes, name),
            told=None if dry_run else partial(self.decisions.note, name, TOLD),
            dry_run=dry_run,
        )

    def _settled(
        self, name: ObjectName, context: Context, result: Result, began_at: float, why: str = "requeue"
    ) -> None:
        after = result.requeue_after or None
        if after is None:
            self.queue.settle(name)
        else:
            self.queue.requeue(name, after, why, priority=result.priority)
        self._metrics.observe("success" if after is None else "requeue_after", self._clock.now() - began_at)
        self._count(succeeded=1)
        self._reports.settled(context, after)

    def _failed(self, name: ObjectName, context: Context, error: BaseException, began_at: float) -> bool:
        """Handle a reconcile's error. Returns: True if the name is retried only after a change."""
        terminal, unexpected = self._is_final(name, error), not is_expected(error)
        own = self._writes.status_versions(name, self.kind)
        # Requeue the name first, so that an error below does not lose it.
        if terminal:
            self.queue.give_up(name, own=own)
            self._metrics.terminal.inc()
        else:
            self.queue.retry(name, type(error).__name__, at_least_seconds=_least_wait_seconds(error), own=own)
        if unexpected:
            self._metrics.panics.inc()
        if isinstance(error, NotFound) and self._writes.has_freed(name, error):
            self._faults.went_on(name, error)
        self._metrics.errors.inc()
        self._metrics.observe("error", self._clock.now() - began_at)
        self._count(failed=1, unexpected=int(unexpected))
        self._reports.failed(context, error, self.queue.num_requeues(name), final=terminal)
        return terminal

    def _is_final(self, name: ObjectName, error: BaseException) -> bool:
        """Return whether the error is terminal or the name has already been retried max_retries times."""
        limit = self._options.max_retries
        tried = limit is not None and self.queue.num_requeues(name) >= limit
        return tried or isinstance(error, TerminalError)

    def _count(self, **changes: int) -> None:
        with self._lock:
            before = self._counts._asdict()
            self._counts = ReconcileStatistics(**before | {k: before[k] + v for k, v in changes.items()})


def _least_wait_seconds(error: BaseException) -> float:
    """Return the minimum wait before a retry. It applies even if the back-off is shorter."""
    if isinstance(error, ReconcileError):
        return error.retry_seconds
    if isinstance(error, TransportError) and error.outcome_unknown:
        return UNKNOWN_OUTCOME_SECONDS
    return seconds_asked_for(error)


def _checked(result: Any) -> Result:
    """Return a reconcile's result, or DONE for None. Raises: TypeError if it is not a Result or None."""
    if result is None:
        return DONE
    if not isinstance(result, Result):
        raise TypeError(f"a reconcile must return a Result or None, not {result!r}")
    return result
