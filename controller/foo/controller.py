"""
sample-controller by hand: a Foo names a Deployment, and this keeps the two in step.

    informers --handlers--> _enqueue_foo / _handle_object --> workqueue --> worker --> sync_handler --> writes

Handlers only enqueue names; a worker reads the present state from the caches, whatever happened in between.
The functions below come in upstream's order, under upstream's names.

Follows: sample-controller/controller.go. On purpose, it differs in this:
  1. Writes carry the resource version they were computed from, so that a stale cache cannot overwrite what
     somebody else wrote; a Deployment is scaled by a patch of spec.replicas, not replaced.
  2. Nothing is written when nothing changed. The event Synced is recorded by a sync that wrote something, or
     that succeeds after a failure; upstream writes status and event on every resync.
  3. An owner must match by API group and UID, not by kind and name alone.
  4. A Foo that is being deleted gets no Deployment: a foreground deletion would wait for it for ever.
  5. When a Deployment goes, every Foo that names it is enqueued, owner or not: the end of one that was in
     the way is noticed at once, not at the end of a back-off of up to 1000 s.
  6. A Foo that cannot work (deploymentName empty or refused by the server, or fields that do not fit) gets
     the Warning event InvalidObject, once per resource version, and waits for its next change or resync.
  7. When its Deployment disappears, a Foo is read past the cache before another one is made: the cache may
     lag, and what is made for a Foo that is gone is garbage at once.
  8. A status that somebody else undoes is written again ever more rarely: two controllers whose caches
     differ would fight over it at full speed. A Deployment that is being deleted is not scaled.
As upstream: a changed spec.deploymentName makes a new Deployment and leaves the old one, to go with the Foo.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

import structlog
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind, controller_of, is_controlled_by
from handloop.client.decoding.pages import Undecodable
from handloop.client.errors import ClientError, Invalid, NotFound, seconds_asked_for
from handloop.client.resource_client import Client, PatchType
from handloop.controller.foo.deployment import new_deployment, scale_patch
from handloop.controller.foo.reports import FooControllerError, FooReporter
from handloop.controller.foo.status import FooStatusWriter
from handloop.controller.foo.types import Foo, FooStatus
from handloop.controller.runtime.damper import Damper
from handloop.controller.runtime.events.recorder import EventRecorder
from handloop.controller.runtime.events.reference import reference_to_kind, reference_to_undecodable
from handloop.controller.runtime.kind_informer import Informer
from handloop.controller.runtime.metrics.reconcile import ControllerMetrics
from handloop.controller.runtime.outcomes import SyncOutcomes
from handloop.controller.runtime.owner_recheck import OwnerRecheck
from handloop.controller.runtime.reconcile_errors import ReconcileError
from handloop.informers.handlers import ResourceEventHandlerFuncs
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    NoMetaError,
    ObjectName,
    deletion_handling_meta_namespace_key_func,
    final_state,
    object_name,
)
from handloop.informers.lister import Lister
from handloop.informers.sync import Progress, wait_for_cache_sync
from handloop.workqueue.clock import REAL_CLOCK, Clock
from handloop.workqueue.locks import new_lock
from handloop.workqueue.queue import ShutDown
from handloop.workqueue.queue_metrics import MetricsProvider
from handloop.workqueue.rate_limiters import (
    BucketRateLimiter,
    ItemExponentialFailureRateLimiter,
    MaxOfRateLimiter,
    RateLimiter,
)
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop.workqueue.spawn import Joinable, Spawn, spawn_thread

log = structlog.get_logger("foo")

CONTROLLER_AGENT_NAME: Final = "sample-controller"
FIELD_MANAGER: Final = CONTROLLER_AGENT_NAME
QUEUE_NAME: Final = "foo"
DEPLOYMENT_NAME_INDEX: Final = "deploymentName"

_WORKER_PERIOD_SECONDS: Final = 1.0


class CachesNotSyncedError(FooControllerError):
    """A stop came before the caches were filled."""


class ControllerStatistics(NamedTuple):
    """Workers that live, and how syncs ended so far; unexpected ones count as failed, too."""

    workers_alive: int
    synced: int
    failed: int
    unexpected: int


def default_rate_limiter(clock: Clock = REAL_CLOCK) -> RateLimiter[ObjectName]:
    """Per Foo 5 ms, doubling up to 1000 s; over all Foos 50 per second after a burst of 300."""
    return MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(0.005, 1000), BucketRateLimiter(50, 300, clock=clock)
    )


class Controller:
    """
    The control loop for Foos.

    State: _workers_alive, under _lock; all else keeps its own.
    Threads: handlers run on listener threads, on_undecodable on the Foo reflector's, sync_handler on
    `worker-<i>`, never two at once for one Foo.
    """

    def __init__(
        self,
        client: Client,
        deployment_informer: Informer[Deployment],
        foo_informer: Informer[Foo],
        recorder: EventRecorder,
        *,
        rate_limiter: RateLimiter[ObjectName] | None = None,
        metrics_provider: MetricsProvider | None = None,
        metrics: ControllerMetrics | None = None,
        shutdown_timeout_seconds: float = 30.0,
        progress: Progress | None = None,
        clock: Clock = REAL_CLOCK,
        spawn: Spawn = spawn_thread,
    ) -> None:
        """
        Hook into the informers; those that have started tell what they hold.

        Args: progress is told while run() waits for the caches.
        """
        self._deployments = client.resource(Deployment)
        self._foos = client.resource(Foo)
        self._foo_status = FooStatusWriter(self._foos, field_manager=FIELD_MANAGER, clock=clock)
        self._deployments_lister = Lister(deployment_informer.indexer, Deployment.resource)
        self._foos_lister = Lister(foo_informer.indexer, Foo.resource)
        self._has_synced = (deployment_informer.has_synced, foo_informer.has_synced)
        self._foo_indexer = foo_informer.indexer
        self._status_damper = Damper("somebody else has undone the status", clock=clock)
        self._owners = OwnerRecheck(Foo, client, foo_informer.indexer, clock=clock)
        self._reporter = FooReporter(recorder)
        expected = (ClientError, FooControllerError, ReconcileError)
        self._outcomes = SyncOutcomes("foo", expected=expected, metrics=metrics, clock=clock)
        self._shutdown_timeout_seconds = shutdown_timeout_seconds
        self._progress = progress
        self._clock = clock
        self._spawn = spawn
        self._workqueue: RateLimitingQueue[ObjectName] = RateLimitingQueue(
            default_rate_limiter(clock) if rate_limiter is None else rate_limiter,
            name=QUEUE_NAME,
            metrics_provider=metrics_provider,
            clock=clock,
            spawn=spawn,
        )
        self._lock = new_lock("Controller._lock", 95)
        self._workers_alive = 0

        log.info("Setting up event handlers")
        foo_informer.add_indexers({DEPLOYMENT_NAME_INDEX: _index_deployment_name})
        foo_informer.on_undecodable(self._handle_undecodable)
        foo_informer.add_event_handler(
            ResourceEventHandlerFuncs(
                add_func=self._enqueue_foo, update_func=lambda _old, new: self._enqueue_foo(new)
            )
        )
        deployment_informer.add_event_handler(
            ResourceEventHandlerFuncs(
                add_func=self._handle_object,
                update_func=self._handle_update,
                delete_func=self._handle_deletion,
            )
        )

    def run(self, workers: int, stop: threading.Event) -> None:
        """
        Wait for the caches, work until stop is set, and let the syncs in flight end.

        Raises: CachesNotSyncedError when stop is set before the caches are filled.
        Blocks: until stop is set, and then at most shutdown_timeout_seconds.
        """
        try:
            log.info("Starting Foo controller")
            log.info("Waiting for informer caches to sync")
            if not wait_for_cache_sync(stop, *self._has_synced, clock=self._clock, progress=self._progress):
                raise CachesNotSyncedError("failed to wait for caches to sync")
            log.info("Starting workers", count=workers)
            run_worker = partial(self._run_worker, stop)
            threads = [self._spawn(f"worker-{i}", run_worker) for i in range(workers)]
            log.info("Started workers")
            stop.wait()
            log.info("Shutting down workers")
        finally:
            self._workqueue.shut_down()
        self._join(threads)

    def _run_worker(self, stop: threading.Event) -> None:
        """Take and process items until stop is set; what is still queued then is left alone."""
        self._count_worker(1)
        running = True
        while running and not stop.is_set():
            try:
                running = self._process_next_work_item()
            except BaseException:  # noqa: BLE001 - even the reporting of an error failed: the worker lives on
                self._clock.sleep(_WORKER_PERIOD_SECONDS, stop)
        self._count_worker(-1)

    def _process_next_work_item(self) -> bool:
        """
        Sync one Foo and tell the queue how it went.

        Returns: False once the queue is shut down.
        """
        try:
            name = self._workqueue.get()
        except ShutDown:
            return False
        self._outcomes.began(name)
        try:
            self.sync_handler(name)
        except BaseException as error:  # noqa: BLE001 - whatever a sync does, the worker lives on and retries
            self._workqueue.add_rate_limited(name, at_least_seconds=seconds_asked_for(error))
            self._outcomes.failed(name, error)
        else:
            self._workqueue.forget(name)
            self._outcomes.succeeded(name)
        finally:
            self._workqueue.done(name)
        return True

    def sync_handler(self, name: ObjectName) -> None:
        """
        Compare what a Foo wants with what there is, and write the difference.

        Return means settled, raise means retry with back-off.
        """
        self._owners.check(name)
        try:
            foo = self._foos_lister.namespace(name.namespace).get(name.name)
        except NotFound:
            self._reporter.missing(name)
            return
        if foo.metadata.deletion_timestamp is not None:
            log.debug("Foo is being deleted, leaving its Deployment alone", v=4, objectReference=name)
            return
        if not foo.spec.deployment_name:
            what = "Deployment name missing from object reference"
            self._reporter.invalid(reference_to_kind(foo), what, "spec.deploymentName is empty")
            return
        try:
            deployment, wrote_deployment = self._sync_deployment(foo)
        except Invalid as error:
            what = "Deployment refused by the server"
            self._reporter.invalid(reference_to_kind(foo), what, error.status.message)
            return
        wrote_status = self.update_foo_status(foo, deployment)
        if wrote_deployment or wrote_status or self._workqueue.num_requeues(name):
            self._reporter.synced(foo)

    def _sync_deployment(self, foo: Foo) -> tuple[Deployment, bool]:
        """
        Create the Deployment of a Foo, or scale it.

        Returns: the Deployment, and whether it was written.
        Raises: ResourceExistsError. AlreadyExists and Conflict when the cache is behind: the retry sees more.
        """
        namespace, name = foo.metadata.namespace, foo.spec.deployment_name
        try:
            deployment = self._deployments_lister.namespace(namespace).get(name)
        except NotFound:
            created = self._deployments.create(  # (10) write
                new_deployment(foo), namespace=namespace, field_manager=FIELD_MANAGER
            )
            return created, True
        if not is_controlled_by(deployment, foo):
            raise self._reporter.foreign(foo, deployment)
        replicas = foo.spec.replicas
        is_going = deployment.metadata.deletion_timestamp is not None
        if is_going or replicas is None or replicas == deployment.spec.replicas:
            return deployment, False
        log.debug(
            "Update deployment resource",
            v=4,
            currentReplicas=deployment.spec.replicas,
            desiredReplicas=replicas,
        )
        scaled = self._deployments.patch(
            name,
            scale_patch(deployment, replicas),
            namespace=namespace,
            patch_type=PatchType.MERGE,
            field_manager=FIELD_MANAGER,
        )
        return scaled, True

    def update_foo_status(self, foo: Foo, deployment: Deployment) -> bool:
        """
        Write what was seen into the Foo's status, unless it says so already.

        Returns: whether it was written.
        Raises: HeldBackError when somebody has just undone the same; ClientError.
        """
        status = FooStatus(available_replicas=deployment.status.available_replicas)
        if status == foo.status:
            return False
        write = partial(self._foo_status.write, replace(foo, status=status))
        return self._status_damper.spaced(foo.metadata.uid, status, write)

    def _enqueue_foo(self, obj: object) -> None:
        """Put the name of a Foo into the workqueue."""
        try:
            # (7) enqueue key
            self._workqueue.add(object_name(obj))  # type: ignore[arg-type] # NoMetaError says what it is not
        except NoMetaError as error:
            _report_dropped(error)

    def _handle_object(self, obj: object) -> None:
        """Enqueue the Foo that controls an object, if there is one. Takes tombstones, too."""
        is_tombstone = isinstance(obj, DeletedFinalStateUnknown)
        state: object = final_state(obj)
        if not isinstance(state, Kind):
            what = "object tombstone" if is_tombstone else "object"
            text = f"Error decoding {what}, invalid type"
            log.error(text, type=type(state).__name__)
            return
        if is_tombstone:
            log.debug("Recovered deleted object", v=4, resourceName=state.metadata.name)
        log.debug("Processing object", v=4, object=object_name(state))
        owner = controller_of(state)
        if owner is None or (owner.kind, _group(owner.api_version)) != ("Foo", Foo.resource.group):
            return
        try:
            foo = self._foos_lister.namespace(state.metadata.namespace).get(owner.name)
        except NotFound:
            foo = None
        if foo is None or foo.metadata.uid != owner.uid:
            log.debug("Ignore orphaned object", v=4, object=object_name(state), foo=owner.name)
            return
        self._enqueue_foo(foo)

    def _handle_update(self, old: Deployment, new: Deployment) -> None:
        """A resync sends every Deployment again: two states with one resource version are no change."""
        if new.metadata.uid != old.metadata.uid:
            # one went and another one came while nobody watched
            self._handle_deletion(old)
        if new.metadata.resource_version != old.metadata.resource_version:
            self._handle_object(new)

    def _handle_deletion(self, obj: Deployment | DeletedFinalStateUnknown[Deployment]) -> None:
        """Besides its owner, every Foo that wants the name of the Deployment may now have it."""
        self._owners.child_gone(obj)
        self._handle_object(obj)
        key = deletion_handling_meta_namespace_key_func(obj)
        for foo in self._foo_indexer.by_index(DEPLOYMENT_NAME_INDEX, key):
            self._enqueue_foo(foo)

    def _handle_undecodable(self, undecodable: Undecodable) -> None:
        """A Foo does not fit its type: it is in no cache, and its owner should know why nothing happens."""
        reference = reference_to_undecodable(Foo.resource, undecodable)
        self._reporter.invalid(reference, "Foo does not fit its type", undecodable.error)

    def statistics(self) -> ControllerStatistics:
        """A snapshot, for health checks and tests."""
        with self._lock:
            alive = self._workers_alive
        return ControllerStatistics(alive, *self._outcomes.statistics())

    def _count_worker(self, change: int) -> None:
        with self._lock:
            self._workers_alive += change

    def _join(self, workers: Sequence[Joinable]) -> None:
        deadline = self._clock.now() + self._shutdown_timeout_seconds
        for worker in workers:
            worker.join(max(0.0, deadline - self._clock.now()))
        busy = sum(worker.is_alive() for worker in workers)
        if busy:
            log.error("Workers did not end in time", workers=busy, timeout=self._shutdown_timeout_seconds)


def _index_deployment_name(foo: Foo) -> Sequence[str]:
    """A Foo by the Deployment it names, as `namespace/name`."""
    name = foo.spec.deployment_name
    return (str(ObjectName(foo.metadata.namespace, name)),) if name else ()


def _report_dropped(error: NoMetaError) -> None:
    log.error("Error creating object reference", err=str(error))


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]
