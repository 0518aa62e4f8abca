"""
sample-controller in Python: a Foo names a Deployment, which this controller creates and scales.

    informers --handlers--> _enqueue_foo / _handle_object --> workqueue --> worker --> sync_handler --> writes

Read it alongside upstream's file: it has the same functions, with the same names, in the same order.
production.py adds what a real cluster needs, and `python -m controller` runs it.
Follows: sample-controller/controller.go @7e64d481. Differs: errors are raised, not returned; cached objects
are immutable; a stop waits for the threads, and workers do not empty the queue first; the caller creates the
recorder. A Deployment is scaled by a patch that carries the version from which it was computed. Upstream's
update carries no version, so it can revert other writers' changes. docs/differences.md has the rest.
"""

from __future__ import annotations

import threading
from functools import partial
from typing import Any, Final

from msgspec.structs import replace

import handloop
from handloop import Client, EventRecorder, ObjectName, ResourceEventHandlerFuncs, is_controlled_by
from handloop.apis.apps_v1 import Deployment, DeploymentSpec, LabelSelector
from handloop.apis.core_v1 import Container, PodSpec, PodTemplateSpec
from handloop.controller.foo.types import Foo, FooStatus
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.informers.keys import final_state
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.logs import get_logger
from handloop.seams.seams import REAL_SEAMS, Seams
from handloop.seams.threads import join_all
from handloop.workqueue.queue_metrics import MetricsProvider

log = get_logger("foo")

CONTROLLER_AGENT_NAME: Final = "sample-controller"
FIELD_MANAGER: Final = CONTROLLER_AGENT_NAME
QUEUE_NAME: Final = "foo"
SUCCESS_SYNCED: Final = "Synced"
ERR_RESOURCE_EXISTS: Final = "ErrResourceExists"
MESSAGE_RESOURCE_EXISTS: Final = 'Resource "{}" already exists and is not managed by Foo'
MESSAGE_RESOURCE_SYNCED: Final = "Foo synced successfully"


class CachesNotSyncedError(Exception):
    """The controller was stopped before its caches were filled."""


def default_rate_limiter(clock: Clock = REAL_CLOCK) -> handloop.MaxOfRateLimiter[ObjectName]:
    """Limit retries. A Foo's delay doubles from 5 ms to 1000 s; all share 50 per second, in bursts of 300."""
    for_each = handloop.ItemExponentialFailureRateLimiter[ObjectName]()
    return handloop.MaxOfRateLimiter(for_each, handloop.BucketRateLimiter(50, 300, clock=clock))


class FooController:
    """
    The control loop for Foos.

    Threads: handlers run on listener threads. sync_handler runs on `worker-<i>`. The work queue ensures that
    two workers never sync the same Foo at the same time. It also lets handlers return at once, limits the
    number of concurrent syncs to the number of workers, and merges several changes of a Foo into one sync.
    """

    def __init__(
        self,
        client: Client,
        deployment_informer: MultiNamespaceInformer[Deployment],
        foo_informer: MultiNamespaceInformer[Foo],
        recorder: EventRecorder,
        *,
        metrics: MetricsProvider | None = None,
        seams: Seams = REAL_SEAMS,
    ) -> None:
        """Register handlers with the informers. A running informer calls them for every cached object."""
        self._deployments = client.resource(Deployment)
        self._foos = client.resource(Foo)
        self._deployments_lister = handloop.Lister(deployment_informer.indexer, Deployment.resource)
        self._foos_lister = handloop.Lister(foo_informer.indexer, Foo.resource)
        self._has_synced = (deployment_informer.has_synced, foo_informer.has_synced)
        limiter = default_rate_limiter(seams.clock)
        options = handloop.QueueOptions(name=QUEUE_NAME, metrics_provider=metrics, seams=seams)
        self._workqueue = handloop.RateLimitingQueue(limiter, options)
        self._recorder = recorder
        self._shutdown_seconds = 30.0
        self._clock = seams.clock
        self._spawn = seams.spawn
        log.info("Setting up event handlers")
        foo_informer.add_event_handler(
            ResourceEventHandlerFuncs(add_func=self._enqueue_foo, update_func=self._handle_foo_update)
        )
        # a change to a Deployment means work for the Foo that owns it, so one queue of Foos serves both kinds
        deployment_informer.add_event_handler(
            ResourceEventHandlerFuncs(
                add_func=self._handle_object,
                update_func=self._handle_update,
                delete_func=self._handle_deletion,
            )
        )

    def run(self, workers: int, stop: threading.Event) -> None:
        """
        Wait for the caches, work until stop is set, and then wait for the running syncs.

        Raises: CachesNotSyncedError if stop is set before the caches are filled.
        Blocks: until stop is set, and then at most 30 s.
        """
        try:
            log.info("Starting Foo controller")
            # until a cache is filled, a worker cannot distinguish "not cached yet" from "does not exist"
            log.info("Waiting for informer caches to sync")
            if not handloop.wait_for_cache_sync(stop, *self._has_synced, clock=self._clock):
                raise CachesNotSyncedError("failed to wait for caches to sync")
            log.info("Starting workers", count=workers)
            names = map("worker-{}".format, range(workers))
            threads = {name: self._spawn(name, partial(self._run_worker, stop)) for name in names}
            log.info("Started workers")
            stop.wait()
            log.info("Shutting down workers")
        finally:
            self._workqueue.shut_down()
        join_all(threads, self._shutdown_seconds, self._clock)

    def _run_worker(self, stop: threading.Event) -> None:
        """Process items until stop is set. The remaining items stay in the queue."""
        while not stop.is_set() and self._process_next_work_item():
            pass

    def _process_next_work_item(self) -> bool:
        """Sync one Foo and report the outcome to the queue. Returns: False once the queue is shut down."""
        try:
            name = self._workqueue.get()
        except handloop.ShutDown:
            return False
        try:
            self.sync_handler(name)
        except Exception as error:  # noqa: BLE001 - whatever a sync raises, the worker retries
            # Retry later, and wait longer each time: if every Foo is failing, all of them must slow down.
            self._workqueue.add_rate_limited(name)
            log.error("Error syncing; requeuing for later retry", objectReference=name, err=str(error))  # noqa: TRY400
        else:
            # Reset the failure count, or the next failure would wait as if it were one more in a row.
            self._workqueue.forget(name)  # (11) forget, or add rate limited
            log.info("Successfully synced", objectName=name)
        finally:
            # Always: until done(), no worker gets this Foo, and its changes wait.
            self._workqueue.done(name)
        return True

    def sync_handler(self, name: ObjectName) -> None:
        """
        Compare a Foo's desired state with what exists, write the difference, and then the status.

        If it returns, the Foo is done. If it raises an error, the Foo is retried with back-off.
        """
        foo = self._foos_lister.get(name)
        if foo is None:
            # Deleted since it was queued. It owned its Deployment, which the garbage collector deletes.
            log.error("Foo referenced by item in work queue no longer exists", objectReference=name)
            return
        if not foo.spec.deployment_name:
            # A retry cannot help, so nothing is raised. The change that fixes the Foo will queue it.
            log.error("Deployment name missing from object reference", objectReference=name)
            return
        wanted, namespace = foo.spec.deployment_name, foo.metadata.namespace
        deployment = self._deployments_lister.get(wanted, namespace=namespace)
        if deployment is None:
            # If this write or one of those below fails, the error reaches the worker, which retries.
            deployment = self._deployments.create(  # (10) write
                new_deployment(foo), namespace=namespace, field_manager=FIELD_MANAGER
            )
        # The name may be taken. Another owner's Deployment is not ours to change: report it, and retry.
        if not is_controlled_by(deployment, foo):
            message = MESSAGE_RESOURCE_EXISTS.format(deployment.metadata.name)
            self._recorder.event(foo, handloop.EVENT_TYPE_WARNING, ERR_RESOURCE_EXISTS, message)
            raise handloop.ReconcileError(message)
        replicas = foo.spec.replicas
        if replicas is not None and replicas != deployment.spec.replicas:
            log.debug("Update deployment resource", v=4, desiredReplicas=replicas)
            deployment = self._deployments.patch(
                wanted, scale_patch(deployment, replicas), namespace=namespace, field_manager=FIELD_MANAGER
            )
        # Last, so that the status describes the result of the writes above.
        self.update_foo_status(foo, deployment)
        self._recorder.event(foo, handloop.EVENT_TYPE_NORMAL, SUCCESS_SYNCED, MESSAGE_RESOURCE_SYNCED)

    def update_foo_status(self, foo: Foo, deployment: Deployment) -> None:
        """Write the Deployment's available replicas into the Foo's status."""
        # Never modify a cached object: handlers and other workers share it. replace() makes a copy.
        status = FooStatus(available_replicas=deployment.status.available_replicas)
        # In a write to the status subresource the server ignores the spec, so no spec is written by mistake.
        self._foos.update_status(replace(foo, status=status), field_manager=FIELD_MANAGER)

    def _enqueue_foo(self, obj: Any) -> None:
        """Add the name of a Foo to the workqueue."""
        self._workqueue.add(handloop.object_name(obj))  # (7) enqueue key

    def _handle_foo_update(self, _old: Any, new: Any) -> None:
        """Handle a changed Foo, or a resync, which delivers the same Foo again."""
        self._enqueue_foo(new)

    def _handle_object(self, obj: object) -> None:
        """Enqueue the Foo that controls an object, if any. Also accepts tombstones."""
        state = final_state(obj)
        if not isinstance(state, handloop.Kind):
            log.error("Error decoding object, invalid type", type=type(state).__name__)
            return
        log.debug("Processing object", v=4, object=handloop.object_name(state))
        owner = handloop.controller_of(state)
        if owner is None or owner.kind != Foo.resource.kind:
            return
        foo = self._foos_lister.get(ObjectName(state.metadata.namespace, owner.name))
        if foo is None:
            log.debug("Ignore orphaned object", v=4, object=handloop.object_name(state), foo=owner.name)
            return
        self._enqueue_foo(foo)

    def _handle_update(self, old: Deployment, new: Deployment) -> None:
        """Handle a changed Deployment. A resync delivers the same resource version, and is ignored."""
        if new.metadata.resource_version != old.metadata.resource_version:
            self._handle_object(new)

    def _handle_deletion(self, obj: object) -> None:
        """Handle a deleted Deployment by enqueuing its Foo, so that a sync creates the Deployment again."""
        self._handle_object(obj)


def scale_patch(deployment: Deployment, replicas: int) -> dict[str, Any]:
    """Return a merge patch that scales a Deployment. If it has changed, the server answers Conflict."""
    version, uid = deployment.metadata.resource_version, deployment.metadata.uid
    return {"metadata": {"resourceVersion": version, "uid": uid}, "spec": {"replicas": replicas}}


def new_deployment(foo: Foo) -> Deployment:
    """Return a Foo's desired Deployment. Because of its owner reference, it is deleted with the Foo."""
    name, namespace = foo.spec.deployment_name, foo.metadata.namespace
    owners = (handloop.new_controller_ref(foo),)
    labels = handloop.FrozenMap({"app": "nginx", "controller": foo.metadata.name})
    nginx = PodSpec(containers=(Container(name="nginx", image="nginx:latest"),))
    return Deployment(
        metadata=handloop.ObjectMeta(name=name, namespace=namespace, owner_references=owners),
        spec=DeploymentSpec(
            replicas=foo.spec.replicas,
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=handloop.ObjectMeta(labels=labels), spec=nginx),
        ),
    )
