"""
The controller of Foos that `python -m controller` runs: sample-controller, plus what a cluster needs.

FooController, in controller.py, is a port of sample-controller. It works well if caches are fresh, there are
no other writers, and users make no mistakes. Each piece below covers a case in which FooController does harm.
For each piece, chapter 11 of the walkthrough has a plan that breaks the plain controller, and
test_ch11_plain.py shows what both controllers do. More tests are in tests/controller/foo, in the file named
with each piece.

  1. `_is_news`: nothing is written when nothing changed. The Synced Event is recorded only by a sync that
     wrote something or succeeded after a failure; the plain controller writes the status and the Event at
     every resync (test_production.py).
  2. `_handle_object`: an owner is matched by API group and UID, not just kind and name (test_production.py).
  3. `_is_being_deleted`: a Foo that is being deleted gets no Deployment, because its foreground deletion
     would never end. A Deployment that is being deleted is not scaled (test_production.py,
     test_stale_cache.py).
  4. `_handle_deletion`: when a Deployment is deleted, every Foo that names it is queued, whether it is the
     owner or not. A Foo that waited for the name is synced at once, not after a back-off of up to 1000 s
     (test_production.py).
  5. `_report_invalid`: an invalid Foo (because deploymentName is empty or refused by the server, or
     fields do not fit) is reported by the Warning Event InvalidObject once per resource version. It is not
     retried before its next change or resync (test_reports.py).
  6. `_owners`: when a Foo's Deployment disappears, the Foo is read from the server before a new Deployment is
     created. Otherwise, if a stale cache still contained a deleted Foo, this controller would create
     its Deployment again and again at full speed, and the garbage collector would delete each one
     (test_stale_cache.py).
  7. `_status_backoff`: when another writer undoes a status, it is written again after 10 s, and then at
     increasing intervals. Otherwise two controllers whose caches differ would fight over it at full speed
     (test_stale_cache.py).
  8. `_write_status`: if the CRD makes the server drop the status, this is logged once. From then on, a status
     is written only after a Deployment has been written, until the server stores one (test_status.py).
  9. `_writes`: a Foo is not synced while a cache lacks what its last sync wrote. Otherwise the sync would
     create the object again, and mistake its own write for another writer's (test_stale_cache.py).
 10. `_PAUSE`: a Foo is not synced while it has the annotation samplecontroller.k8s.io/paused=true
     (test_production.py).
A Foo that has to wait is queued for later, without counting a failure. A resync does not shorten a back-off,
so a back-off can exceed the resync period (`_handle_foo_update`). As in upstream, a new Deployment is created
when spec.deploymentName changes, and the old one remains until the Foo is deleted.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, Final

from msgspec.structs import replace
from prometheus_client import CollectorRegistry

from handloop import (
    EVENT_TYPE_NORMAL,
    EVENT_TYPE_WARNING,
    Client,
    ClientError,
    DeletedFinalStateUnknown,
    EventRecorder,
    Invalid,
    Kind,
    NamespaceNotWatched,
    NoMetaError,
    NotFound,
    ObjectName,
    ReconcileError,
    ShutDown,
    WaitError,
    controller_of,
    deletion_handling_meta_namespace_key_func,
    is_controlled_by,
    object_name,
    seconds_asked_for,
)
from handloop.apis.apps_v1 import Deployment
from handloop.apis.core_v1 import ObjectReference
from handloop.client.decoding.pages import Undecodable
from handloop.controller.foo.controller import (
    ERR_RESOURCE_EXISTS,
    FIELD_MANAGER,
    MESSAGE_RESOURCE_EXISTS,
    MESSAGE_RESOURCE_SYNCED,
    QUEUE_NAME,
    SUCCESS_SYNCED,
    CachesNotSyncedError,
    FooController,
    new_deployment,
    scale_patch,
)
from handloop.controller.foo.types import Foo, FooStatus
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.children.owner_references import is_of_predecessor
from handloop.controller.runtime.events.recorder import reference_to_kind, reference_to_undecodable
from handloop.controller.runtime.guards.admission import (
    Admitted,
    NotAdmittedError,
    NotYetAdmittedError,
    admit_all,
)
from handloop.controller.runtime.guards.name_memory import NameMemory
from handloop.controller.runtime.guards.name_table import NameTable
from handloop.controller.runtime.guards.owner_recheck import OwnerRecheck
from handloop.controller.runtime.guards.reconcile_writes import reconcile_writes
from handloop.controller.runtime.guards.repeat_backoff import HeldBackError, RepeatBackoff
from handloop.controller.runtime.metrics.controller_metrics import (
    ControllerMetrics,
    ControllerOwnWrites,
    OwnWriteMetrics,
)
from handloop.controller.runtime.reconciling.explainer import Explainer
from handloop.controller.runtime.reconciling.reporting import SyncReporter
from handloop.controller.runtime.reconciling.status_writes import for_this_version, merge_patch, status_of
from handloop.controller.runtime.reconciling.traced import sync_span
from handloop.controller.runtime.sources.commands import commands_of
from handloop.controller.runtime.sources.decisions import TOLD, Decisions
from handloop.controller.runtime.sources.reconcile_queue import Standing
from handloop.informers.keys import final_state
from handloop.seams.locks import new_lock
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.workqueue.queue_metrics import MetricsProvider

log = get_logger("foo")

DEPLOYMENT_NAME_INDEX: Final = "deploymentName"
INVALID_OBJECT: Final = "InvalidObject"

_WORKER_PERIOD_SECONDS: Final = 1.0
_PAUSE: Final = commands_of(Foo.resource)
_FOO: Final = (Foo.resource.kind, Foo.resource.group)


class ResourceExistsError(ReconcileError):
    """The Deployment that a Foo names has another owner. A retry succeeds once that Deployment is deleted."""


class ProductionFooController(FooController):
    """
    The control loop for Foos in a real cluster.

    State: outcomes has its own lock. _lock protects _workers, which is the number of started workers,
    _workers_alive, and _status_ignored, which is True if the server dropped the last status written.
    _reported_invalid maps a Foo to the resource version at which it was last reported invalid.
    Threads: as in FooController; _handle_undecodable runs on the Foo reflector's thread.
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
        memory: NameMemory | None = None,
        admitted: Admitted = admit_all,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """
        Register handlers with the informers, as FooController does.

        Args: memory keeps a list of the parts that store data about Foos by name. Each sync runs in the
        context manager that admitted returns for the name of the Foo.
        """
        own_metrics = own_metrics or OwnWriteMetrics(CollectorRegistry()).for_controller(QUEUE_NAME)
        caches = {each.kind.resource.group_resource: each for each in (deployment_informer, foo_informer)}
        # the handlers also wake a waiting Foo, because each change to it or its Deployment enqueues it
        keep = (memory or NameMemory()).keep
        self._writes = keep(
            reconcile_writes(
                client,
                caches.get,
                wake=self.wake,
                vanished=lambda name: self._owners.suspect(name),  # noqa: PLW0108 - made below
                metrics=own_metrics,
                clock=seams.clock,
            )
        )
        client = self._writes.telling(client)
        self._foo_indexer = foo_informer.indexer
        self._status_backoff = keep(RepeatBackoff("another writer has undone the status", clock=seams.clock))
        self._owners = keep(OwnerRecheck(Foo, client, foo_informer.indexer, clock=seams.clock))
        self._decisions = decisions = keep(Decisions(seams.clock))
        self.outcomes = SyncReporter("foo", metrics=metrics, decisions=decisions, clock=seams.clock)
        self.explain = Explainer(
            QUEUE_NAME,
            foo_informer,
            decisions,
            standing=lambda name: Standing((), None, None, self._workqueue.num_requeues(name), gave_up=False),
            paused=self.why_paused,
            poke=_PAUSE.reconcile_at,
            clock=seams.clock,
        ).explain
        self._admitted = admitted
        self._lock = new_lock("ProductionFooController._lock", 95)
        self._workers = self._workers_alive = 0
        self._reported_invalid: NameTable[str] = keep(NameTable())
        self._status_ignored = False
        foo_informer.add_indexers({DEPLOYMENT_NAME_INDEX: _index_deployment_name})
        # this comes last, because handlers are called from now on
        super().__init__(
            client,
            deployment_informer,
            foo_informer,
            recorder,
            metrics=metrics_provider,
            seams=seams,
        )
        self._shutdown_seconds = shutdown_timeout_seconds
        foo_informer.on_undecodable(self._handle_undecodable)

    def run(self, workers: int, stop: threading.Event) -> None:
        """Like FooController's method, but counts the workers."""
        with self._lock:
            # set before the workers start, so that a slow start is not mistaken for a worker that has ended
            self._workers = self._workers_alive = workers
        try:
            super().run(workers, stop)
        except CachesNotSyncedError:
            with self._lock:
                self._workers = self._workers_alive = 0
            raise
        if busy := self.workers_alive():
            log.error("Workers did not end in time", workers=busy, timeout=self._shutdown_seconds)

    def _run_worker(self, stop: threading.Event) -> None:
        """Like FooController's method, but a worker survives even if reporting an error fails."""
        running = True
        while running and not stop.is_set():
            try:
                running = self._process_next_work_item()
            except BaseException:  # noqa: BLE001 - even reporting the error failed: the worker survives
                self._clock.sleep(_WORKER_PERIOD_SECONDS, stop)
        with self._lock:
            self._workers_alive -= 1

    def wake(self, name: ObjectName) -> None:
        """Enqueue a waiting Foo, so that a worker checks it again."""
        self._workqueue.add(name)

    def _process_next_work_item(self) -> bool:
        """
        Sync one Foo and report the outcome to the queue.

        Returns: False once the queue is shut down.
        """
        try:
            name = self._workqueue.get()
        except ShutDown:
            return False
        try:
            with self._admitted(name), sync_span(QUEUE_NAME, Foo.resource.kind, name, self._decisions):
                self._sync(name)
        except NotYetAdmittedError:
            pass  # the opening wakes it
        except NotAdmittedError:
            self._workqueue.forget(name)
        finally:
            self._workqueue.done(name)
        return True

    def _sync(self, name: ObjectName) -> None:
        self.outcomes.began(name)
        try:
            self._writes.check(name)  # piece 9
            self.sync_handler(name)
        except BaseException as error:  # noqa: BLE001 - whatever a sync raises, the worker survives and retries
            self._report_outcome(name, error)
        else:
            self._report_outcome(name, None)

    def _report_outcome(self, name: ObjectName, error: BaseException | None) -> None:
        """Report the outcome of a sync to the rate limiter and the log."""
        changes = self._writes.ended(name, follows=True)
        if changes:
            log.info("Wrote", objectName=name, changes=changes)
        if error is None:
            self._workqueue.forget(name)
            self.outcomes.succeeded(name, changes=changes)
        elif isinstance(error, NamespaceNotWatched):
            # the namespace is no longer watched; the Foo may still exist, and is listed again if its
            # namespace is watched again
            self._workqueue.forget(name)
            self.outcomes.waits(name, WaitError(str(error)))
        elif isinstance(error, HeldBackError | WaitError):
            # not a failure: if the rate limiter counted it, the Foo would wait longer than necessary
            self._workqueue.add_after(name, error.retry_seconds)
            self.outcomes.waits(name, error, changes=changes)
        else:
            self._workqueue.add_rate_limited(name, at_least_seconds=seconds_asked_for(error))
            self.outcomes.failed(name, error, changes=changes)

    def sync_handler(self, name: ObjectName) -> None:
        """Like FooController's method, but writes only differences."""
        # piece 6: sends a request only if a Deployment of this Foo has disappeared
        self._owners.check(name)
        foo = self._foos_lister.get(name)
        if foo is None:
            log.info("Foo referenced by item in work queue no longer exists", objectReference=name)
            return
        if _is_being_deleted(foo):
            log.debug("Foo is being deleted, leaving its Deployment alone", v=4, objectReference=name)
            return
        if why := self.why_paused(name):  # piece 10
            log.info("Foo is paused", objectReference=name, why=why)
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
        wrote_status = self._sync_status(foo, deployment, wrote_deployment=wrote_deployment)
        if self._is_news(name, wrote=wrote_deployment or wrote_status):
            self._recorder.event(foo, EVENT_TYPE_NORMAL, SUCCESS_SYNCED, MESSAGE_RESOURCE_SYNCED)

    def why_paused(self, name: ObjectName) -> str:
        """Return what pauses a Foo, or "" if it is not paused."""
        foo = self._foo_indexer.get_by_key(str(name))
        paused = foo is not None and _PAUSE.are_to_pause(foo.metadata.annotations)
        return f"by its annotation {_PAUSE.paused}" if paused else ""

    def paused(self) -> int:
        """Return how many Foos are paused."""
        return sum(_PAUSE.are_to_pause(foo.metadata.annotations) for foo in self._foo_indexer.list())

    def _is_news(self, name: ObjectName, *, wrote: bool) -> bool:
        """Return whether to record an Event for a success: it changed something, or followed a failure."""
        return wrote or self._workqueue.num_requeues(name) > 0

    def _sync_deployment(self, foo: Foo) -> tuple[Deployment, bool]:
        """
        Create the Deployment of a Foo, or scale it.

        Returns: the Deployment, and whether it was written.
        Raises: ResourceExistsError if the Deployment has another owner; AlreadyExists or Conflict while the
        cache is behind.
        """
        namespace, name = foo.metadata.namespace, foo.spec.deployment_name
        deployment = self._deployments_lister.get(name, namespace=namespace)
        if deployment is None:
            wanted = new_deployment(foo)
            created = self._deployments.create(wanted, namespace=namespace, field_manager=FIELD_MANAGER)
            return created, True
        owner = controller_of(deployment)
        if owner is not None and is_of_predecessor(owner, foo):
            raise WaitError(f"Deployment {name} of an earlier Foo {foo.metadata.name} is not gone yet")
        if not is_controlled_by(deployment, foo):
            raise self._report_foreign(foo, deployment)
        replicas = foo.spec.replicas
        if _is_being_deleted(deployment) or replicas is None or replicas == deployment.spec.replicas:
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
            field_manager=FIELD_MANAGER,
        )
        return scaled, True

    def _sync_status(self, foo: Foo, deployment: Deployment, *, wrote_deployment: bool) -> bool:
        """
        Write the Deployment's available replicas into the Foo's status, unless they are already there.

        Returns: whether the server stored them.
        Raises: HeldBackError if another writer has just undone the same status; the errors of _write_status.
        """
        status = FooStatus(available_replicas=deployment.status.available_replicas)
        with self._lock:
            is_due = wrote_deployment or not self._status_ignored
        if status == foo.status or not is_due:
            return False
        write = partial(self._write_status, foo, status)
        return self._status_backoff.attempt(object_name(foo), (foo.metadata.uid, status), write)

    def _write_status(self, foo: Foo, status: FooStatus) -> bool:
        """
        Patch the status if the Foo is unchanged since it was read. Fields that only a newer CRD has are kept.

        Returns: False if the server ignores the status because of the CRD.
        Raises: NotFound if the Foo no longer exists; Conflict if it has changed; any other ClientError.
        """
        lacking = "status in its schema"
        try:
            patch = merge_patch(status_of(foo), status_of(replace(foo, status=status)))
            written = self._foos.patch(
                foo.metadata.name,
                for_this_version(foo, status=patch),
                namespace=foo.metadata.namespace,
                subresource="status",
                field_manager=FIELD_MANAGER,
            )
            kept = written.status == status
        except NotFound:
            # the server gives the same answer for a deleted Foo as for a missing subresource
            live = self._foos.get(foo.metadata.name, namespace=foo.metadata.namespace)
            if live.metadata.uid != foo.metadata.uid:
                raise
            kept, lacking = False, "subresources.status"
        except ClientError:
            # the outcome is unknown, so the retry must write the status even if it writes no Deployment
            with self._lock:
                self._status_ignored = False
            raise
        with self._lock:
            is_news, self._status_ignored = not kept and not self._status_ignored, not kept
        if is_news:
            text = f"status updates are ignored: CRD lacks {lacking}"
            log.warning(text, code="E08", fix=f"apply the CRD of this release: {Foo.resource.group_resource}")
        return kept

    def _enqueue_foo(self, obj: object) -> None:
        """Like FooController's method, but reports anything that is not an object."""
        try:
            super()._enqueue_foo(obj)
        except NoMetaError as error:
            log.error("Error creating object reference", err=str(error))  # noqa: TRY400 - no traceback

    def _handle_foo_update(self, old: Any, new: Any) -> None:
        """Like FooController's method, but a resync skips a Foo that failed, because its retry is queued."""
        is_resync = old.metadata.resource_version == new.metadata.resource_version
        if not (is_resync and self._workqueue.num_requeues(object_name(new))):
            super()._handle_foo_update(old, new)

    def _handle_object(self, obj: object) -> None:
        """Like FooController's method, but the owner must match a cached Foo by API group and UID."""
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
        if owner is None or (owner.kind, owner.api_version.rpartition("/")[0]) != _FOO:
            return
        foo = self._foos_lister.get(ObjectName(state.metadata.namespace, owner.name))
        if foo is None or foo.metadata.uid != owner.uid:
            log.debug("Ignore orphaned object", v=4, object=object_name(state), foo=owner.name)
            return
        self._enqueue_foo(foo)

    def _handle_update(self, old: Deployment, new: Deployment) -> None:
        """Like FooController's method. If the UID has changed, first handle the old one's deletion."""
        if new.metadata.uid != old.metadata.uid:
            self._handle_deletion(old)
        super()._handle_update(old, new)

    def _handle_deletion(self, obj: Any) -> None:
        """Enqueue a deleted Deployment's owner, and every Foo that names it, because the name is now free."""
        self._owners.child_gone(obj)
        super()._handle_deletion(obj)
        key = deletion_handling_meta_namespace_key_func(obj)
        for foo in self._foo_indexer.by_index(DEPLOYMENT_NAME_INDEX, key):
            self._enqueue_foo(foo)

    def _handle_undecodable(self, undecodable: Undecodable) -> None:
        """Report a Foo that does not fit its type. It is not in the cache, so no sync sees it."""
        reference = reference_to_undecodable(Foo.resource, undecodable)
        self._report_invalid(reference, "Foo does not fit its type", undecodable.error)

    def _report_foreign(self, foo: Foo, deployment: Deployment) -> ResourceExistsError:
        """Report that the Deployment's name is taken, and return the error that the caller raises."""
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
        """Report a Foo that is invalid, once per resource version."""
        name = ObjectName(foo.namespace, foo.name)
        self._decisions.note(name, TOLD, f"{what}: {message}")
        if self._reported_invalid.get(name) == foo.resource_version:
            return
        self._reported_invalid.put(name, foo.resource_version)
        log.error(what, objectReference=name, err=message, once=True)
        self._recorder.event(foo, EVENT_TYPE_WARNING, INVALID_OBJECT, message)

    def workers_alive(self) -> int:
        """Return how many workers have not ended, including those that are being started."""
        with self._lock:
            return self._workers_alive

    def workers_ended(self) -> int:
        """Return how many workers have ended, for health checks. The number should be 0 before a stop."""
        with self._lock:
            return self._workers - self._workers_alive


def _is_being_deleted(obj: Kind) -> bool:
    return obj.metadata.deletion_timestamp is not None


def _index_deployment_name(foo: Foo) -> Sequence[str]:
    """Index a Foo by the Deployment that it names, as `namespace/name`."""
    name = foo.spec.deployment_name
    return (str(ObjectName(foo.metadata.namespace, name)),) if name else ()
