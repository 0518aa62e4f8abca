"""
Build a controller's queue, caches, writes and watches from its spec and the manager's shared parts.

    ControllerSpec --> Assembly --complete(reconcile)--> Controller
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final

from handloop.client.errors import Invalid
from handloop.controller.runtime.caching.multi_namespace_informer import RECONCILED, MultiNamespaceInformer
from handloop.controller.runtime.children.applied_fields import AppliedFields
from handloop.controller.runtime.controller_spec import ControllerSpec, ReferenceSpec, WatchSpec
from handloop.controller.runtime.events.recorder import EVENT_TYPE_WARNING
from handloop.controller.runtime.guards.admission import Admitted
from handloop.controller.runtime.guards.name_memory import Chosen, NameMemory
from handloop.controller.runtime.guards.owner_recheck import OwnerRecheck
from handloop.controller.runtime.guards.quiet_faults import QuietFaults
from handloop.controller.runtime.guards.reconcile_writes import reconcile_writes
from handloop.controller.runtime.guards.repeat_backoff import HeldBackError, RepeatBackoff
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.undeclared import UndeclaredWrites
from handloop.controller.runtime.reconcile import Result, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.controller.runtime.reconciling.controller_caches import ControllerCaches
from handloop.controller.runtime.reconciling.explainer import Explainer
from handloop.controller.runtime.reconciling.pausing import Pausing
from handloop.controller.runtime.reconciling.reconciler import ReconcileFunc, Reconciler
from handloop.controller.runtime.reconciling.stalled import Stalling, can_stall
from handloop.controller.runtime.reconciling.status_writes import StatusWrites
from handloop.controller.runtime.sources.commands import commands_of
from handloop.controller.runtime.sources.decisions import DROPPED, Decisions
from handloop.controller.runtime.sources.external_source import ExternalSource, SourceFunc
from handloop.controller.runtime.sources.informer_source import RESYNCED, InformerSource, OwnerNames, own_name
from handloop.controller.runtime.sources.reconcile_queue import Cause, ReconcileQueue
from handloop.controller.runtime.sources.referred_objects import ReferredObjects
from handloop.informers.keys import ObjectName, object_name
from handloop.informers.lister import NamespaceNotWatched
from handloop.workqueue.priority_queue import LOW_PRIORITY
from handloop.workqueue.queue import QueueOptions

WRITE_REFUSED: Final = "WriteRefused"


class _NamespaceLeftError(WaitError):
    """A cache stopped watching the reconciled object's namespace. It may be watched again later."""

    retry_seconds = 1.0


class _Rechecked:
    """
    Call a reconcile function, except for objects that are known to be gone. Implements
    Reconciler[ObjectName].

    A write that the server refuses with a 422 is also reported as an Event, because the object's author may
    be able to fix it.
    """

    def __init__(
        self,
        reconcile: ReconcileFunc[ObjectName],
        owners: OwnerRecheck[Any],
        informer: MultiNamespaceInformer[Any],
        *,
        refusals: RepeatBackoff,
        faults: QuietFaults,
    ) -> None:
        self._reconcile = reconcile
        self._watches = informer.watches
        self._owners = owners
        self._cached = informer.held
        self._peek = informer.get_by_key
        self._refusals = refusals
        self._faults = faults

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        """Raises: OwnerGoneError and ClientError from OwnerRecheck.check; the reconciler's errors."""
        before = RECONCILED.set(name.namespace)
        try:
            return self._reconcile_in_its_namespace(name, context)
        finally:
            RECONCILED.reset(before)

    def _reconcile_in_its_namespace(self, name: ObjectName, context: Context) -> Result | None:
        try:
            self._owners.check(name)
        except HeldBackError as error:
            # This is not raised, because an error would count towards max_retries.
            return Result(requeue_after=error.retry_seconds)
        if not self._watches(name.namespace):
            return None
        try:
            result = self._reconcile(name, context)
        except Invalid as error:
            with suppress(HeldBackError):
                self._tell(name, context, error.status.message)
            raise
        except Exception as error:
            # The objects still exist, but this process no longer watches them. If the namespace returns, they
            # are listed again.
            if self._watches(name.namespace):
                if isinstance(error, NamespaceNotWatched) and error.namespace == name.namespace:
                    raise _NamespaceLeftError(str(error)) from error
                raise
            context.log.debug("Dropped, because its namespace is no longer watched", v=2, err=str(error))
            return None
        self._faults.kept(self._peek(str(name)))
        return result

    def _tell(self, name: ObjectName, context: Context, message: str) -> None:
        """Record a Warning Event. Retries record the same message for a generation less and less often."""
        obj = self._cached(name)
        if obj is None:
            return

        def tell() -> bool:
            context.event(obj, WRITE_REFUSED, message, EVENT_TYPE_WARNING)
            return True

        self._refusals.attempt(name, (obj.metadata.uid, obj.metadata.generation, message), tell)


class Assembly:
    """
    Build one controller from its spec and the manager's shared parts.

    Implements handloop.controller.runtime.guards.admission.ShareWorker.
    Fields: informer, the informer of the reconciled kind; memory, everything that the controller remembers by
    name.
    """

    def __init__(self, manager: Manager, spec: ControllerSpec) -> None:
        """
        Create the controller's informers, queue and writes.

        Raises: the same errors as Manager.begin and Manager.informer_for.
        """
        manager.begin(spec.name)
        self.memory = NameMemory()
        self._manager = manager
        self._spec = spec
        self._labelled = manager.replica.declare((each.kind, each.names_of is None) for each in spec.watches)
        self._informers = {
            (kind, selection): manager.informer_for(
                kind, labels=selection.labels, fields=selection.field_text
            )
            for kind, selection, *_ in spec.watches
        }
        self.informer = self._informer(spec.watches[0])
        self._caches = ControllerCaches(manager, self._informers.values())
        self._metrics = manager.reconcile_metrics.for_controller(
            spec.name, spec.options.max_concurrent_reconciles
        )
        self._own_metrics = manager.own_write_metrics.for_controller(spec.name)
        self._recorder = manager.recorder(spec.name)
        keep, clock = self.memory.keep, manager.seams.clock
        self._decisions = keep(Decisions(clock))
        options = QueueOptions(
            name=spec.name, metrics_provider=manager.workqueue_metrics, seams=manager.seams
        )
        self._queue = keep(
            ReconcileQueue(options, rate_limiter=spec.options.rate_limiter, decisions=self._decisions)
        )
        manager.workqueue_metrics.show_depths(spec.name, self._queue.depths)
        self._writes = keep(
            reconcile_writes(
                manager.client,
                self._caches.mirror,
                wake=self._queue.wake,
                tells=self._caches.watches,
                vanished=lambda name: self._owners.suspect(name),  # noqa: PLW0108 - made below
                metrics=self._own_metrics,
                timeout_seconds=spec.options.own_write_timeout_seconds,
                clock=clock,
            )
        )
        self._applied = keep(AppliedFields(owned=[kind.resource.group_resource for kind in spec.owned]))
        self._owners = keep(
            OwnerRecheck(
                spec.kind,
                manager.client,
                self.informer,
                deleted_by_us=self._writes.own_writes.has_deleted,
                clock=clock,
            )
        )
        self._refusals = keep(RepeatBackoff("told already", clock=clock))
        self._faults = keep(QuietFaults(spec.name, clock))
        self._commands = commands_of(spec.kind.resource)
        self._watches = [self._new_watch(watch) for watch in spec.watches]

    def _informer(self, watch: WatchSpec) -> MultiNamespaceInformer[Any]:
        return self._informers[watch.kind, watch.selection]

    def wake(self, name: ObjectName) -> None:
        """Implements ShareWorker. Queue the name with low priority, like the names from a first list."""
        self._queue.wake(name, priority=LOW_PRIORITY)

    def share_grew(self, names: Chosen) -> None:
        """Implements ShareWorker. If the informer caches the whole kind, queue the new names' objects."""
        if not self.informer.restricts:
            self._watches[0].list_again(names)

    def share_shrank(self) -> None:
        """See ShareWorker."""
        self._caches.keep_cached()

    def _is_last(self, name: ObjectName) -> bool:
        limit = self._spec.options.max_retries
        return limit is not None and self._queue.num_requeues(name) >= limit

    def complete(self, reconcile: ReconcileFunc[ObjectName]) -> Controller:
        """
        Create the controller and add it, with its sources, to the manager. Raises: the same errors as
        Manager.add.
        """
        manager, spec = self._manager, self._spec
        # Only a kind's first controller sets the condition Stalled. If several did, the success of one would
        # remove the condition that another had set.
        stalls = can_stall(spec.kind) and spec.kind not in manager.reconciled_kinds()
        if stalls:
            reconcile = Stalling(self.informer.held, reconcile, is_last=self._is_last).reconcile
        admitted = manager.replica.admission(tuple(self._informers.values()), self, self.informer)
        pausing = self._new_pausing(reconcile, tells=stalls)
        controller = self._new_controller(
            _Rechecked(
                pausing.reconcile,
                self._owners,
                self.informer,
                refusals=self._refusals,
                faults=self._faults,
            ),
            admitted,
        )
        controller.explainer = self._new_explainer(controller, pausing)
        manager.add(controller)
        manager.declare_reconciled(spec.kind)
        manager.declare_written(*spec.written)
        manager.declare(*spec.implied_access(), *spec.access)
        if spec.kind.resource.namespaced:
            controller.watch(manager.namespace_annotations)
        for watch in self._watches:
            controller.watch(watch)
        for reference in spec.references:
            referred = self._new_referred(reference)
            self._caches.refer_to(referred)
            controller.watch(referred)
        for name, function in spec.sources:
            manager.add(self._new_source(name, function))
        return controller

    def _new_pausing(self, reconcile: ReconcileFunc[ObjectName], *, tells: bool) -> Pausing:
        annotations = self._manager.namespace_annotations
        pausing = self.memory.keep(
            Pausing(
                self._commands,
                self.informer.held,
                annotations,
                reconcile,
                deletions=self._spec.options.pauses_deletion,
                tells=tells,
            )
        )
        self._manager.own_write_metrics.show_paused(self._spec.name, pausing.count)
        if self._spec.kind.resource.namespaced:
            annotations.follow(self._commands.paused, self._namespace_changed)
        return pausing

    def _new_explainer(self, controller: Controller, pausing: Pausing) -> Explainer:
        return Explainer(
            self._spec.name,
            self.informer,
            self._decisions,
            standing=self._queue.standing,
            running=controller.running,
            paused=pausing.why,
            troubles=controller.troubles,
            poke=self._commands.reconcile_at,
            clock=self._manager.seams.clock,
        )

    def _namespace_changed(self, namespace: str) -> None:
        """A namespace was paused or unpaused."""
        if self.informer.watches(namespace):
            for obj in self.informer.list(namespace=namespace):
                self._queue.add(object_name(obj), Cause("Namespace", "updated", namespace))

    def _new_controller(
        self,
        reconciler: Reconciler[ObjectName],
        admitted: Admitted,
    ) -> Controller:
        manager, spec = self._manager, self._spec
        client = manager.client.telling(UndeclaredWrites(spec.name, manager.access).accepted)
        client = manager.replica.watching(client, spec.name, self._labelled)
        return Controller(
            spec.name,
            reconciler,
            kind=spec.kind.resource.kind,
            queue=self._queue,
            writes=self._writes,
            faults=self._faults,
            metrics=self._metrics,
            own_metrics=self._own_metrics,
            options=spec.options,
            new_context=partial(
                Context,
                client=client,
                listers=self._caches,
                applied=self._applied,
                statuses=StatusWrites(manager.seams.clock),
                recorder=self._recorder,
                child_labels=manager.replica.child_labels,
                clock=manager.seams.clock,
            ),
            admitted=admitted,
            decisions=self._decisions,
            sources=[name for name, _ in spec.sources],
            annotations=self._annotations,
            seams=manager.seams,
        )

    def _annotations(self, name: ObjectName) -> Mapping[str, str]:
        obj = self.informer.held(name)
        return {} if obj is None else obj.metadata.annotations

    def _new_watch(self, asked: WatchSpec) -> InformerSource[Any]:
        names_of = asked.names_of or OwnerNames(self._spec.kind, self.informer, every_owner=asked.every_owner)
        if asked.names_of not in (None, own_name):
            names_of = self._manager.replica.mapped(self._spec.name, names_of)
        return InformerSource(
            self._informer(asked),
            names_of,
            sink=self._queue,
            predicates=asked.predicates,
            observed=self._writes.own_writes.observed,
            gone=self._owners.child_gone,
            panicked=self._metrics.panics.inc,
            dropped=self._dropped,
            commands=self._commands if asked is self._spec.watches[0] else None,
            recorder=self._recorder,
        )

    def _dropped(self, cause: Cause, by: str, names: Iterable[ObjectName]) -> None:
        """Record that a predicate filtered out an event. Called by listeners."""
        self._own_metrics.dropped(cause.label)
        # A resync does not report a change, and its entry would displace more useful ones.
        for name in () if cause.verb == RESYNCED else names:
            self._decisions.note(name, DROPPED, cause.label, by=by)

    def _new_referred(self, asked: ReferenceSpec) -> ReferredObjects[Any]:
        return ReferredObjects(
            asked.kind,
            asked.names,
            owners=self.informer,
            watcher=self._manager,
            sink=self._queue,
            observed=self._writes.own_writes.observed,
            allowed=asked.allowed,
        )

    def _new_source(self, name: str, function: SourceFunc) -> ExternalSource:
        return ExternalSource(
            name,
            function,
            controller=self._spec.name,
            sink=self._queue,
            queued=lambda: self._queue.statistics().queued,
            needs_leader_election=self._spec.options.needs_leader_election,
            seams=self._manager.seams,
        )
