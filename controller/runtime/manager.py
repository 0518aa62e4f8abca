"""
What several controllers of one process share, started and stopped in order.

    start:  caches --> (leader election) --> controllers
    stop:   controllers --> (the lease) --> caches --> events

Each controller waits for its own caches: one whose CRD is missing keeps no other from working. With leader
election the caches are filled first, so that a standby that comes to lead can act at once; what cannot be
filled is not waited for.
Follows: controller-runtime pkg/manager, differs: informers are made before the start; a failing controller
ends the process in order.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

import structlog
from prometheus_client import CollectorRegistry

from handloop.apis.meta import Kind
from handloop.client.resource_client import Client
from handloop.controller.runtime.access import Access, merged
from handloop.controller.runtime.caches import Caches
from handloop.controller.runtime.controller import CACHE_SYNC_TIMEOUT_SECONDS
from handloop.controller.runtime.deadline import PATIENCE_SECONDS
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.controller.runtime.election.config import LeaderElection
from handloop.controller.runtime.election.election_state import election_state
from handloop.controller.runtime.election.leader_election import LeaderElector, LeadershipLost
from handloop.controller.runtime.election.metrics import LeaderElectionMetrics
from handloop.controller.runtime.events.recorder import EventRecorder, SeriesRecorder
from handloop.controller.runtime.events.recorders import Recorders
from handloop.controller.runtime.events.series_broadcaster import SERIES_EVENTS_ACCESS
from handloop.controller.runtime.freshness import InformerLag, freshness_check
from handloop.controller.runtime.kind_informer import KindInformer
from handloop.controller.runtime.metrics.cache_size import CacheSize
from handloop.controller.runtime.metrics.informer import InformerMetricsProvider
from handloop.controller.runtime.metrics.reconcile import OwnWriteMetrics, ReconcileMetrics
from handloop.controller.runtime.metrics.workqueue import WorkqueueMetricsProvider
from handloop.controller.runtime.runnable import (
    Runnable,
    RunnableGroup,
    WorkersBusyError,
    needs_leader_election,
)
from handloop.controller.runtime.serving.health import Check, stopped_check
from handloop.informers.lister import Lister
from handloop.informers.progress import INTERVAL_SECONDS
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock
from handloop.workqueue.spawn import Joinable, Spawn, spawn_thread

log = structlog.get_logger("manager")

T = TypeVar("T", bound=Kind)

# runnables bound their own ends; this is what the manager waits beyond that
_GRACE_SECONDS: Final = 2.0


class Manager:
    """
    Informers, events, metrics and the life of the controllers of one process.

    State, under _lock: _runnables and _access, complete before run; _ran, whether that was called; _stop,
    that of run; _failure, the first one, why run ends. _guarded is set by run before another thread reads
    it. Informers are made before run, by whoever sets up a controller. Requests that wait, for the rate
    limit or as the server asked, outlast a stop: _work_stop ends those of controllers that took too long
    or lost the lease, _caches_stop the lists.
    Threads: main runs `run`; `run-<name>` each runnable; `lease` renews; the health server calls the checks.
    """

    def __init__(
        self,
        client: Client,
        *,
        namespaces: Sequence[str] = (),
        resync_seconds: float = 0,
        transform: Callable[[Any], Any] | None = None,
        registry: CollectorRegistry,
        leader_election: LeaderElection | None = None,
        shutdown_timeout_seconds: float = 30.0,
        cache_sync_timeout_seconds: float = CACHE_SYNC_TIMEOUT_SECONDS,
        progress_seconds: float = INTERVAL_SECONDS,
        clock: Clock = REAL_CLOCK,
        spawn: Spawn = spawn_thread,
    ) -> None:
        """
        Make a manager; nothing is asked of the server before run.

        Args: namespaces to watch, () = all. transform makes what the caches keep of every object, and must be
        pure and idempotent. cache_sync_timeout_seconds is what controllers take that say
        nothing else; it may be infinite. A registry takes one manager.
        Raises: TypeError for a str as namespaces.
        """
        self._work_stop = threading.Event()
        self._caches_stop = threading.Event()
        self.client = client.until(self._work_stop, patience_seconds=PATIENCE_SECONDS)
        self.clock = clock
        self.spawn = spawn
        self.shutdown_timeout_seconds = shutdown_timeout_seconds
        self.cache_sync_timeout_seconds = cache_sync_timeout_seconds
        self.workqueue_metrics = WorkqueueMetricsProvider(registry)
        self.reconcile_metrics = ReconcileMetrics(registry)
        self.own_write_metrics = OwnWriteMetrics(registry)
        self._stop = threading.Event()
        self._recorders = Recorders(client, clock=clock, spawn=spawn)
        self._caches = Caches(
            client.until(self._caches_stop),
            namespaces=namespaces,
            resync_seconds=resync_seconds,
            transform=transform,
            metrics_provider=InformerMetricsProvider(registry),
            reachability=client.reachability,
            progress_seconds=progress_seconds,
            clock=clock,
            spawn=spawn,
        )
        registry.register(InformerLag(self.informers, clock))
        registry.register(CacheSize(self.informers))
        self._lock = new_lock("Manager._lock", 3)
        self._runnables: list[Runnable] = []
        self._access: list[Access] = []
        self._ran = False
        self._failure: BaseException | None = None
        self._registry = registry
        self._leader_election: LeaderElection | None = None
        self._elector: LeaderElector | None = None
        self._guarded = self._group(())
        if leader_election is not None:
            self.elect(leader_election)

    # what controllers are made of

    def informer_for(self, kind: type[T]) -> KindInformer[T]:
        """The informers of a kind, shared by all who ask; before run."""
        return self._caches.informer_for(kind)

    def lister_for(self, kind: type[T]) -> Lister[T]:
        """Reads the caches of a kind; incomplete until they have synced."""
        return self.informer_for(kind).lister()

    def recorder(self, component: str) -> EventRecorder:
        """Records events of core/v1, in which equal messages are counted, in the name of a component."""
        return self._recorders.recorder(component)

    def series_recorder(self, component: str) -> SeriesRecorder:
        """
        Records events of events.k8s.io/v1, in which whatever repeats is a series.

        It needs SERIES_EVENTS_ACCESS, which is declared here; whoever prints roles declares it there as well.

        Args: component is a qualified name, such as `example.com/backups`.
        """
        self.declare(SERIES_EVENTS_ACCESS)
        return self._recorders.series_recorder(component)

    def add(self, runnable: Runnable) -> None:
        """
        Run it, too; before run.

        Raises: as accept.
        """
        with self._lock:
            self._accept_locked(runnable.name)
            self._runnables.append(runnable)

    def accept(self, name: str) -> None:
        """
        See whether a runnable of that name can be added.

        Raises: RuntimeError after run has begun; ValueError when the name is taken or empty.
        """
        with self._lock:
            self._accept_locked(name)

    def _accept_locked(self, name: str) -> None:
        if self._ran:
            raise RuntimeError(f"controller {name} would never start: the manager runs already, or has ended")
        if not name:
            raise ValueError("a controller needs a name")
        if any(known.name == name for known in self._runnables):
            raise ValueError(f"controller with name {name} already exists")

    def declare(self, *access: Access) -> None:
        """Say what a controller asks of the server."""
        with self._lock:
            self._access += access

    def elect(
        self,
        config: LeaderElection,
        *,
        on_waiting: Callable[[ElectionStatistics], None] | None = None,
        on_new_leader: Callable[[str], None] | None = None,
        on_lost: Callable[[LeadershipLost], None] | None = None,
    ) -> None:
        """
        Work only while holding a lease; before run, once. For a lock that needs a recorder of this manager.

        Args: as LeaderElector.
        Raises: ValueError for a configuration that makes no sense.
        """
        self._leader_election = config
        self._elector = LeaderElector(
            config,
            on_started_leading=self._lead,
            on_stopped_leading=lambda: None,
            on_waiting=on_waiting,
            on_new_leader=on_new_leader,
            on_lost=partial(self._lost, on_lost),
            clock=self.clock,
            spawn=self.spawn,
            metrics=LeaderElectionMetrics(self._registry),
        )

    # what others ask

    def access(self) -> tuple[Access, ...]:
        """What all controllers declared, each thing once."""
        with self._lock:
            return merged(self._access)

    def informers(self) -> list[SharedIndexInformer[Any]]:
        """All of them, in the order of the first requests."""
        return self._caches.informers()

    def may_write(self) -> bool:
        """Whether no other process can be leading; True without leader election."""
        return self.seconds_to_write() > 0

    def seconds_to_write(self) -> float:
        """For how long no other process can be leading; infinity without election. For a WriteFence."""
        return math.inf if self._elector is None else self._elector.seconds_to_write()

    @property
    def elector(self) -> LeaderElector | None:
        """Who takes part in the election; None without one."""
        return self._elector

    def liveness_checks(self) -> Mapping[str, Check]:
        """`/healthz`: the process answers, no worker has died, and no lease is held beyond its time."""
        checks: dict[str, Check] = {"ping": lambda: None, "workers": self._workers_check}
        if self._elector is not None:
            checks["leader-election"] = self._elector.check
        return checks

    def readiness_checks(self) -> Mapping[str, Check]:
        """`/readyz`: the caches are filled and fresh, the workers alive, and no stop was asked for."""
        checks: dict[str, Check] = {
            "informers-synced": self._caches.synced_check,
            "informers-fresh": freshness_check(self.informers, self.clock),
            "workers": self._workers_check,
            "shutdown": self._stopped_check,
        }
        if self._elector is not None:
            checks["leader"] = election_state(self._elector.statistics)
        return checks

    # the life of it

    def run(self, stop: threading.Event) -> None:
        """
        Once: work until stop is set, then stop everything in order; a controller that fails sets stop, too.

        Raises: LeadershipLost; what a controller raised; RuntimeError when called again.
        Blocks: until stop is set, and then at most the shutdown timeout and a few seconds for events and
                sockets.
        """
        free = self._prepare(stop)
        lease: Joinable | None = None
        try:
            self._recorders.start()
            self._caches.start(self._caches_stop)
            free.start(stop)
            if self._elector is None:
                self._guarded.start(stop)
            else:
                self._caches.warm_up(stop)
                lease = self._start_election(self._elector, stop)
            self._caches.report(stop)
            stop.wait()
        finally:
            stop.set()
            self._end(free, lease)
        self._raise_failure()

    def _prepare(self, stop: threading.Event) -> RunnableGroup:
        """Take no further runnables; set those that only run while we lead apart. Returns: the others."""
        with self._lock:
            if self._ran:
                raise RuntimeError("a manager runs once: make another one, on a registry of its own")
            self._ran = True
            self._stop = stop
            runnables = list(self._runnables)
        self._guarded = self._group([each for each in runnables if needs_leader_election(each)])
        return self._group([each for each in runnables if not needs_leader_election(each)])

    def _group(self, runnables: Sequence[Runnable]) -> RunnableGroup:
        return RunnableGroup(runnables, on_failure=self._fail, clock=self.clock, spawn=self.spawn)

    def _end(self, free: RunnableGroup, lease: Joinable | None) -> None:
        """Consumers first: while they drain they may still read; the lease goes with the last of them."""
        seconds = self._seconds_to_stop()
        busy = self._guarded.join(seconds) + free.join(seconds)
        self._work_stop.set()
        if busy:
            log.error("Controllers did not end in time", controllers=busy)
        if lease is not None:
            lease.join(seconds)
        self._caches.stop()
        self._caches_stop.set()
        self._caches.shutdown()
        self._recorders.shutdown()

    def _stopping(self) -> threading.Event:
        with self._lock:
            return self._stop

    def _seconds_to_stop(self) -> float:
        """After a lost lease, less than it takes another to begin."""
        with self._lock:
            lost = isinstance(self._failure, LeadershipLost)
        if lost and self._leader_election is not None:
            config = self._leader_election
            return (config.lease_duration_seconds - config.renew_deadline_seconds) / 2
        return self.shutdown_timeout_seconds + _GRACE_SECONDS

    def _fail(self, name: str, error: BaseException) -> None:
        """A runnable or the elector has failed: the process ends in order, and says so."""
        with self._lock:
            if self._failure is None:
                self._failure = error
            stop = self._stop
        # before it is said: a log that nobody reads may block
        stop.set()
        log.error("Controller failed", controller=name, err=str(error) or repr(error))

    def _raise_failure(self) -> None:
        with self._lock:
            failure = self._failure
        if failure is not None and not isinstance(failure, WorkersBusyError):
            raise failure

    # leader election

    def _lost(self, tell: Callable[[LeadershipLost], None] | None, lost: LeadershipLost) -> None:
        """What waits to be written may not be written any more. The elector's thread."""
        self._work_stop.set()
        if tell is not None:
            tell(lost)

    def _start_election(self, elector: LeaderElector, stop: threading.Event) -> Joinable:
        def take_part() -> None:
            try:
                elector.run(stop)
            except BaseException as error:  # noqa: BLE001 - main raises it
                self._fail("leader election", error)

        return self.spawn("lease", take_part)

    def _lead(self, stop: threading.Event) -> None:
        """
        Run the controllers until stop is set. The elector's thread `leading`.

        Raises: WorkersBusyError when some still work after that: then the lease must not be released.
        """
        self._guarded.start(stop)
        busy = self._guarded.join()
        with self._lock:
            failure = self._failure
        if busy or isinstance(failure, WorkersBusyError):
            raise WorkersBusyError("manager", len(busy), self.shutdown_timeout_seconds)

    # checks

    def _stopped_check(self) -> str | None:
        return stopped_check(self._stopping())()

    def _workers_check(self) -> str | None:
        with self._lock:
            checks = [getattr(runnable, "workers_check", None) for runnable in self._runnables]
        reasons = [reason for check in checks if check is not None and (reason := check())]
        return "; ".join(reasons) or None
