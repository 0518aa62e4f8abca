"""
sample-controller by hand: a Foo names a Deployment, and this controller keeps the two in step.

    informers --handlers--> _enqueue_foo / _handle_object --> workqueue --> worker --> sync_handler --> writes

Handlers only enqueue names. A worker reads the present state from the caches, not the events in between.
The functions below come in upstream's order, under upstream's names.

Follows: sample-controller/controller.go. On purpose, it differs in this:
  1. Writes carry the resource version they were computed from, so that a stale cache cannot overwrite other
     writers' changes. A Deployment is scaled by a patch of spec.replicas, not replaced.
  2. Nothing is written when nothing changed. The Event Synced is recorded by a sync that wrote something, or
     that succeeds after a failure; upstream writes status and Event on every resync.
  3. An owner must match by API group and UID, not by kind and name alone.
  4. A Foo that is being deleted gets no Deployment: a foreground deletion would wait for it for ever.
  5. When a Deployment goes, every Foo that names it is enqueued, owner or not. So a Foo that waited for the
     name goes on at once, not at the end of a back-off of up to 1000 s.
  6. A Foo that cannot work (deploymentName empty or refused by the server, or fields that do not fit) gets
     the Warning Event InvalidObject, once per resource version, and waits for its next change or resync.
  7. When a Foo's Deployment disappears, the Foo is read from the server before a new Deployment is made: the
     cache may lag, and the garbage collector would delete a Deployment whose Foo is gone.
  8. A status that another writer undoes is written again ever more rarely: two controllers whose caches
     differ would fight over it at full speed. What has to wait is queued for that time, and is no failure.
     A Deployment that is being deleted is not scaled.
  9. If the CRD makes the server ignore the status, that is logged once. From then on a status is written
     only after a write of a Deployment, until the server keeps a status.
 10. A Foo is not synced while a cache lacks what its last sync wrote: it would be created twice, and its own
     write taken for another writer's. See handloop.controller.runtime.reconcile_writes.
As upstream: a changed spec.deploymentName makes a new Deployment. The old one stays until the Foo goes.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from cachetools import LRUCache
from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from handloop import (
    EVENT_TYPE_NORMAL,
    EVENT_TYPE_WARNING,
    BucketRateLimiter,
    Client,
    DeletedFinalStateUnknown,
    EventRecorder,
    FrozenMap,
    Invalid,
    ItemExponentialFailureRateLimiter,
    Kind,
    Lister,
    MaxOfRateLimiter,
    NamespaceNotWatched,
    NoMetaError,
    NotFound,
    ObjectMeta,
    ObjectName,
    PatchType,
    RateLimiter,
    RateLimitingQueue,
    ReconcileError,
    ResourceEventHandlerFuncs,
    ShutDown,
    WaitError,
    controller_of,
    deletion_handling_meta_namespace_key_func,
    is_controlled_by,
    new_controller_ref,
    object_name,
    seconds_asked_for,
    wait_for_cache_sync,
)
from handloop.apis.apps_v1 import Deployment, DeploymentSpec, LabelSelector
from handloop.apis.core_v1 import Container, ObjectReference, PodSpec, PodTemplateSpec
from handloop.client.decoding.pages import Undecodable
from handloop.controller.foo.types import Foo, FooStatus
from handloop.controller.runtime.events.recorder import reference_to_kind, reference_to_undecodable
from handloop.controller.runtime.metrics.controller_metrics import (
    ControllerMetrics,
    ControllerOwnWrites,
    OwnWriteMetrics,
)
from handloop.controller.runtime.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.owner_recheck import OwnerRecheck
from handloop.controller.runtime.owner_references import is_of_predecessor
from handloop.controller.runtime.reconcile_writes import reconcile_writes
from handloop.controller.runtime.repeat_backoff import HeldBackError, RepeatBackoff
from handloop.controller.runtime.reporting import SyncReporter
from handloop.informers.keys import final_state
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import join_all
from handloop.workqueue.queue_metrics import MetricsProvider

log = get_logger("foo")

CONTROLLER_AGENT_NAME: Final = "sample-controller"
FIELD_MANAGER: Final = CONTROLLER_AGENT_NAME
QUEUE_NAME: Final = "foo"
DEPLOYMENT_NAME_INDEX: Final = "deploymentName"

SUCCESS_SYNCED: Final = "Synced"
ERR_RESOURCE_EXISTS: Final = "ErrResourceExists"
INVALID_OBJECT: Final = "InvalidObject"
MESSAGE_RESOURCE_EXISTS: Final = 'Resource "{}" already exists and is not managed by Foo'
MESSAGE_RESOURCE_SYNCED: Final = "Foo synced successfully"

_WORKER_PERIOD_SECONDS: Final = 1.0
_REMEMBERED: Final = 4096


class CachesNotSyncedError(Exception):
    """A stop came before the caches were filled."""


class ResourceExistsError(ReconcileError):
    """The Deployment that a Foo names has another owner; a retry helps once that Deployment is gone."""


def default_rate_limiter(clock: Clock = REAL_CLOCK) -> RateLimiter[ObjectName]:
    """Per Foo 5 ms, doubling up to 1000 s; over all Foos 50 per second after a burst of 300."""
    return MaxOfRateLimiter(
        ItemExponentialFailureRateLimiter(0.005, 1000), BucketRateLimiter(50, 300, clock=clock)
    )


class FooController:
    """
    The control loop for Foos.

    State: outcomes, which guards itself. Under _lock: _workers, how many were started, and _workers_alive;
    _reported_invalid = Foo -> its resource version when it was last reported invalid, for the last 4096 Foos;
    _status_ignored, whether the server dropped the last status written.
    Threads: handlers run on listener threads, _handle_undecodable on the Foo reflector's, sync_handler on
    `worker-<i>`, never two at once for one Foo.
    """

    def __init__(
        self,
        client: Client,
        deployment_informer: MultiNamespaceInformer[Deployment],
        foo_informer: MultiNamespaceInformer[Foo],
        recorder: EventRecorder,
        *,
        metrics_provider: MetricsProvider | None = None,
        metrics: ControllerMetrics | None = None,
        own_metrics: ControllerOwnWrites | None = None,
        shutdown_timeout_seconds: float = 30.0,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Hook into the informers; handlers of informers that have started get all cached objects."""
        self._workqueue: RateLimitingQueue[ObjectName] = RateLimitingQueue(
            default_rate_limiter(seams.clock),
            name=QUEUE_NAME,
            metrics_provider=metrics_provider,
            seams=seams,
        )
        own_metrics = own_metrics or OwnWriteMetrics(CollectorRegistry()).for_controller(QUEUE_NAME)
        caches = {each.kind.resource.group_resource: each for each in (deployment_informer, foo_informer)}
        # the handlers wake a Foo that waits: each change of its own and of its Deployment enqueues it
        self._writes = reconcile_writes(
            client, caches.get, wake=self._workqueue.add, metrics=own_metrics, clock=seams.clock
        )
        client = self._writes.telling(client)
        self._deployments = client.resource(Deployment)
        self._foos = client.resource(Foo)
        self._deployments_lister = Lister(deployment_informer.indexer, Deployment.resource)
        self._foos_lister = Lister(foo_informer.indexer, Foo.resource)
        self._has_synced = (deployment_informer.has_synced, foo_informer.has_synced)
        self._foo_indexer = foo_informer.indexer
        self._recorder = recorder
        self._status_backoff = RepeatBackoff("another writer has undone the status", clock=seams.clock)
        self._owners = OwnerRecheck(Foo, client, foo_informer.indexer, clock=seams.clock)
        self.outcomes = SyncReporter("foo", metrics=metrics, clock=seams.clock)
        self._shutdown_timeout_seconds = shutdown_timeout_seconds
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._lock = new_lock("FooController._lock", 95)
        self._workers = self._workers_alive = 0
        self._reported_invalid: LRUCache[ObjectName, str] = LRUCache(_REMEMBERED)
        self._status_ignored = False

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
            if not wait_for_cache_sync(stop, *self._has_synced, clock=self._clock):
                raise CachesNotSyncedError("failed to wait for caches to sync")
            log.info("Starting workers", count=workers)
            with self._lock:
                # set before the workers start: a worker that is slow to begin does not count as ended
                self._workers = self._workers_alive = workers
            run_worker = partial(self._run_worker, stop)
            threads = {
                name: self._spawn(name, run_worker) for name in map("worker-{}".format, range(workers))
            }
            log.info("Started workers")
            stop.wait()
            log.info("Shutting down workers")
        finally:
            self._workqueue.shut_down()
        busy = join_all(threads, self._shutdown_timeout_seconds, self._clock)
        if busy:
            seconds = self._shutdown_timeout_seconds
            log.error("Workers did not end in time", workers=len(busy), timeout=seconds)

    def _run_worker(self, stop: threading.Event) -> None:
        """Take and process items until stop is set; items that are still queued then stay there."""
        running = True
        while running and not stop.is_set():
            try:
                running = self._process_next_work_item()
            except BaseException:  # noqa: BLE001 - even the reporting of an error failed: the worker lives on
                self._clock.sleep(_WORKER_PERIOD_SECONDS, stop)
        with self._lock:
            self._workers_alive -= 1

    def _process_next_work_item(self) -> bool:
        """
        Sync one Foo and report the outcome to the queue.

        Returns: False once the queue is shut down.
        """
        try:
            name = self._workqueue.get()
        except ShutDown:
            return False
        self.outcomes.began(name)
        try:
            self._writes.check(name)  # difference 10
            self.sync_handler(name)
        except BaseException as error:  # noqa: BLE001 - whatever a sync raises, the worker lives on and retries
            self._report_outcome(name, error)
        else:
            self._report_outcome(name, None)
        finally:
            self._workqueue.done(name)
        return True

    def _report_outcome(self, name: ObjectName, error: BaseException | None) -> None:
        """Tell the rate limiter and the log how a sync went."""
        if changes := self._writes.ended(name, follows=True):
            log.info("Wrote", objectName=name, changes=changes)
        if error is None:  # (11) forget, or add rate limited
            self._workqueue.forget(name)
            self.outcomes.succeeded(name)
        elif isinstance(error, NamespaceNotWatched):
            # its namespace has left, which is no end of the Foo: it is listed if the namespace comes back
            self._workqueue.forget(name)
            self.outcomes.waits(name, WaitError(str(error)))
        elif isinstance(error, HeldBackError | WaitError):
            # no failure: the rate limiter is not told, so that the Foo waits no longer than it has to
            self._workqueue.add_after(name, error.retry_seconds)
            self.outcomes.waits(name, error)
        else:
            self._workqueue.add_rate_limited(name, at_least_seconds=seconds_asked_for(error))
            self.outcomes.failed(name, error)

    def sync_handler(self, name: ObjectName) -> None:
        """
        Compare what a Foo wants with the present state, and write the difference.

        Return means settled, raise means retry with back-off.
        """
        # difference 7: a request only if a Deployment of this Foo has disappeared
        self._owners.check(name)
        foo = self._foos_lister.get(name)
        if foo is None:
            log.info("Foo referenced by item in work queue no longer exists", objectReference=name)
            return
        if foo.metadata.deletion_timestamp is not None:
            log.debug("Foo is being deleted, leaving its Deployment alone", v=4, objectReference=name)
            return
        if not foo.spec.deployment_name:
            what = "Deployment name missing from object reference"
            self._report_invalid(reference_to_kind(foo), what, "spec.deploymentName is empty")
            return
        try:
            deployment, wrote_deployment = self._sync_deployment(foo)
        except Invalid as error:
            what = "Deployment refused by the server"
            self._report_invalid(reference_to_kind(foo), what, error.status.message)
            return
        wrote_status = self.update_foo_status(foo, deployment, wrote_deployment=wrote_deployment)
        if wrote_deployment or wrote_status or self._workqueue.num_requeues(name):
            self._recorder.event(foo, EVENT_TYPE_NORMAL, SUCCESS_SYNCED, MESSAGE_RESOURCE_SYNCED)

    def _sync_deployment(self, foo: Foo) -> tuple[Deployment, bool]:
        """
        Create the Deployment of a Foo, or scale it.

        Returns: the Deployment, and whether it was written.
        Raises: ResourceExistsError. AlreadyExists and Conflict when the cache is behind: the retry sees more.
        """
        namespace, name = foo.metadata.namespace, foo.spec.deployment_name
        deployment = self._deployments_lister.get(name, namespace=namespace)
        if deployment is None:
            wanted = new_deployment(foo)
            created = self._deployments.create(  # (10) write
                wanted, namespace=namespace, field_manager=FIELD_MANAGER
            )
            return created, True
        owner = controller_of(deployment)
        if owner is not None and is_of_predecessor(owner, foo):
            raise WaitError(f"Deployment {name} of an earlier Foo {foo.metadata.name} is not gone yet")
        if not is_controlled_by(deployment, foo):
            raise self._report_foreign(foo, deployment)
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

    def update_foo_status(self, foo: Foo, deployment: Deployment, *, wrote_deployment: bool) -> bool:
        """
        Write the Deployment's available replicas into the Foo's status, unless it has them already.

        Returns: whether the server stored them.
        Raises: HeldBackError when another writer has just undone the same status; as _write_status.
        """
        status = FooStatus(available_replicas=deployment.status.available_replicas)
        with self._lock:
            is_due = wrote_deployment or not self._status_ignored
        if status == foo.status or not is_due:
            return False
        write = partial(self._write_status, replace(foo, status=status))
        return self._status_backoff.attempt(foo.metadata.uid, status, write)

    def _write_status(self, foo: Foo) -> bool:
        """
        PUT the status that foo carries, over the version it was computed from.

        Returns: False when the CRD makes the server ignore it.
        Raises: NotFound when the Foo is gone, Conflict when it has changed; ClientError.
        """
        lacking = "status in its schema"
        try:
            kept = self._foos.update_status(foo, field_manager=FIELD_MANAGER).status == foo.status
        except NotFound:
            # the server's answer is the same for a Foo that is gone and for a missing subresource
            live = self._foos.get(foo.metadata.name, namespace=foo.metadata.namespace)
            if live.metadata.uid != foo.metadata.uid:
                raise
            kept, lacking = False, "subresources.status"
        with self._lock:
            is_news, self._status_ignored = not kept and not self._status_ignored, not kept
        if is_news:
            text = f"status updates are ignored: CRD lacks {lacking}"
            log.warning(text, code="E08", fix=f"apply the CRD of this release: {Foo.resource.group_resource}")
        return kept

    def _enqueue_foo(self, obj: object) -> None:
        """Put the name of a Foo into the workqueue."""
        try:
            name = object_name(obj)  # type: ignore[arg-type] # NoMetaError says what it is not
        except NoMetaError as error:
            log.error("Error creating object reference", err=str(error))  # noqa: TRY400 - no traceback
            return
        self._workqueue.add(name)  # (7) enqueue key

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
        if owner is None or (owner.kind, owner.api_version.rpartition("/")[0]) != ("Foo", Foo.resource.group):
            return
        foo = self._foos_lister.get(ObjectName(state.metadata.namespace, owner.name))
        if foo is None or foo.metadata.uid != owner.uid:
            log.debug("Ignore orphaned object", v=4, object=object_name(state), foo=owner.name)
            return
        self._enqueue_foo(foo)

    def _handle_update(self, old: Deployment, new: Deployment) -> None:
        """Handle a changed Deployment. A resync repeats it with the same resource version: no change."""
        if new.metadata.uid != old.metadata.uid:
            # another Deployment of this name was created while no watch was open
            self._handle_deletion(old)
        if new.metadata.resource_version != old.metadata.resource_version:
            self._handle_object(new)

    def _handle_deletion(self, obj: Deployment | DeletedFinalStateUnknown[Deployment]) -> None:
        """Enqueue the owner of a Deployment that is gone, and every Foo that names it: the name is free."""
        self._owners.child_gone(obj)
        self._handle_object(obj)
        key = deletion_handling_meta_namespace_key_func(obj)
        for foo in self._foo_indexer.by_index(DEPLOYMENT_NAME_INDEX, key):
            self._enqueue_foo(foo)

    def _handle_undecodable(self, undecodable: Undecodable) -> None:
        """Report a Foo that does not fit its type. No sync sees that Foo, as it is not in the cache."""
        reference = reference_to_undecodable(Foo.resource, undecodable)
        self._report_invalid(reference, "Foo does not fit its type", undecodable.error)

    def _report_foreign(self, foo: Foo, deployment: Deployment) -> ResourceExistsError:
        """Report that the name of the Deployment is taken. Returns: the error to raise."""
        message = MESSAGE_RESOURCE_EXISTS.format(deployment.metadata.name)
        self._recorder.event(foo, EVENT_TYPE_WARNING, ERR_RESOURCE_EXISTS, message)
        owner = controller_of(deployment)
        text = f"{object_name(deployment)} exists and is not managed by Foo {object_name(foo)}"
        log.warning(
            text,
            code="E14",
            cause=f"owner: {owner.kind} {owner.name}" if owner else "owner: none",
            fix="delete it or change spec.deploymentName",
        )
        return ResourceExistsError(message)

    def _report_invalid(self, foo: ObjectReference, what: str, message: str) -> None:
        """Report a Foo that cannot work as it is, once per resource version."""
        name = ObjectName(foo.namespace, foo.name)
        with self._lock:
            if self._reported_invalid.get(name) == foo.resource_version:
                return
            self._reported_invalid[name] = foo.resource_version
        log.error(what, objectReference=name, err=message, once=True)
        self._recorder.event(foo, EVENT_TYPE_WARNING, INVALID_OBJECT, message)

    def workers_alive(self) -> int:
        """How many workers have not ended; a worker that is being started counts."""
        with self._lock:
            return self._workers_alive

    def workers_ended(self) -> int:
        """How many workers have ended, for health checks: before a stop none should."""
        with self._lock:
            return self._workers - self._workers_alive


def new_deployment(foo: Foo) -> Deployment:
    """The Deployment that a Foo wants: nginx, controlled by the Foo, so that it goes when the Foo goes."""
    labels = FrozenMap({"app": "nginx", "controller": foo.metadata.name})
    return Deployment(
        metadata=ObjectMeta(
            name=foo.spec.deployment_name,
            namespace=foo.metadata.namespace,
            owner_references=(new_controller_ref(foo),),
        ),
        spec=DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(
                metadata=ObjectMeta(labels=labels),
                spec=PodSpec(containers=(Container(name="nginx", image="nginx:latest"),)),
            ),
        ),
    )


def scale_patch(deployment: Deployment, replicas: int) -> dict[str, Any]:
    """A merge patch that holds only for the version that was read: else the server answers Conflict."""
    metadata = deployment.metadata
    return {
        "metadata": {"resourceVersion": metadata.resource_version, "uid": metadata.uid},
        "spec": {"replicas": replicas},
    }


def _index_deployment_name(foo: Foo) -> Sequence[str]:
    """A Foo by the Deployment it names, as `namespace/name`."""
    name = foo.spec.deployment_name
    return (str(ObjectName(foo.metadata.namespace, name)),) if name else ()
