"""
A controller in a few words.

    controller_for(manager, "myapp").for_(MyApp, predicates=(GenerationChanged(),)).owns(Deployment)
        .watches(Secret, names_of_apps).with_options(max_concurrent_reconciles=2)
        .complete(reconciler)

Follows: controller-runtime pkg/builder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Self, TypeVar

from handloop.apis.meta import Kind
from handloop.controller.runtime.controller import Controller, ControllerOptions
from handloop.controller.runtime.damping import HeldBackError, OwnerRecheck
from handloop.controller.runtime.kind_informer import KindInformer
from handloop.controller.runtime.kind_source import KindSource, MapFunc, OwnerNames, own_name
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.metrics.controller_metrics import ControllerMetrics
from handloop.controller.runtime.own_writes import OWN_WRITE_TIMEOUT_SECONDS, OwnWrites
from handloop.controller.runtime.predicates import Predicate
from handloop.controller.runtime.rbac.access import Access
from handloop.controller.runtime.reconcile import ReconcileContext, Reconciler, Result
from handloop.controller.runtime.reconcile_queue import ReconcileQueue
from handloop.informers.keys import ObjectName
from handloop.workqueue.rate_limiters import RateLimiter

T = TypeVar("T", bound=Kind)


class BuilderError(Exception):
    """The calls of the builder make no controller."""


class _Asked(NamedTuple):
    """One watch as asked for; names_of None = the names of the controlling owner, or of every owner."""

    kind: type[Any]
    names_of: MapFunc[Any] | None
    predicates: tuple[Predicate, ...]
    every_owner: bool = False


class _Rechecked:
    """Calls a reconciler, unless its object is known to be gone. Implements Reconciler."""

    def __init__(self, reconciler: Reconciler, owners: OwnerRecheck[Any]) -> None:
        self._reconciler = reconciler
        self._owners = owners

    def reconcile(self, name: ObjectName, context: ReconcileContext) -> Result | None:
        """Raises: OwnerGoneError and ClientError of OwnerRecheck.check; errors of the reconciler."""
        try:
            self._owners.check(name)
        except HeldBackError as error:
            # no failure: it would count for max_retries
            return Result(requeue_after=error.seconds)
        return self._reconciler.reconcile(name, context)


class ControllerBuilder:
    """Collects the watches and options of a controller; `complete` makes it."""

    def __init__(self, manager: Manager, name: str) -> None:
        self._manager = manager
        self._name = name
        self._for: type[Kind] | None = None
        self._asked: list[_Asked] = []
        self._access: tuple[Access, ...] = ()
        self._options = ControllerOptions(
            cache_sync_timeout_seconds=manager.cache_sync_timeout_seconds,
            shutdown_timeout_seconds=manager.shutdown_timeout_seconds,
            max_concurrent_reconciles=manager.max_concurrent_reconciles,
        )

    def for_(self, kind: type[Kind], *, predicates: Sequence[Predicate] = ()) -> Self:
        """
        Reconcile the objects of a kind. Call it exactly once.

        Raises: BuilderError.
        """
        if self._for is not None:
            raise BuilderError(f"controller {self._name}: for_() could only be called once")
        self._for = kind
        self._asked.insert(0, _Asked(kind, own_name, tuple(predicates)))
        return self

    def owns(
        self, kind: type[Kind], *, predicates: Sequence[Predicate] = (), every_owner: bool = False
    ) -> Self:
        """
        When an object of a kind changes, reconcile its controlling owner.

        Args: every_owner = also owners that do not control the object.
        """
        self._asked.append(_Asked(kind, None, tuple(predicates), every_owner))
        return self

    def watches(self, kind: type[T], map_func: MapFunc[T], *, predicates: Sequence[Predicate] = ()) -> Self:
        """When an object of a kind changes, reconcile the names that map_func makes of it."""
        self._asked.append(_Asked(kind, map_func, tuple(predicates)))
        return self

    def with_options(
        self,
        *,
        max_concurrent_reconciles: int | None = None,
        rate_limiter: RateLimiter[ObjectName] | None = None,
        max_retries: int | None = None,
        reconcile_timeout_seconds: float | None = None,
        own_write_timeout_seconds: float = OWN_WRITE_TIMEOUT_SECONDS,
        cache_sync_timeout_seconds: float | None = None,
        needs_leader_election: bool = True,
    ) -> Self:
        """
        Set the controller's options; see ControllerOptions.

        Args: max_concurrent_reconciles and cache_sync_timeout_seconds None = the manager's.
        Raises: ValueError.
        """
        if max_concurrent_reconciles is None:
            max_concurrent_reconciles = self._manager.max_concurrent_reconciles
        if cache_sync_timeout_seconds is None:
            cache_sync_timeout_seconds = self._manager.cache_sync_timeout_seconds
        self._options = replace(
            self._options,
            max_concurrent_reconciles=max_concurrent_reconciles,
            rate_limiter=rate_limiter,
            max_retries=max_retries,
            reconcile_timeout_seconds=reconcile_timeout_seconds,
            own_write_timeout_seconds=own_write_timeout_seconds,
            cache_sync_timeout_seconds=cache_sync_timeout_seconds,
            needs_leader_election=needs_leader_election,
        )
        return self

    def declares(self, *access: Access) -> Self:
        """Declare the access that the reconciler needs: roles, preflight and doctor read it."""
        self._access = (*self._access, *access)
        return self

    def complete(self, reconciler: Reconciler) -> Controller:
        """
        Make the controller and add it to the manager, before the manager runs.

        Raises: BuilderError without a kind to reconcile; TypeError for a reconciler that cannot reconcile; as
        Manager.accept.
        """
        _check(reconciler)
        if self._for is None:
            raise BuilderError(f"controller {self._name}: there are no watches configured: call for_()")
        self._manager.accept(self._name)
        informers = {asked.kind: self._manager.informer_for(asked.kind) for asked in self._asked}
        queue = self._new_queue()
        own_writes = OwnWrites(
            informers.get,
            wake=queue.wake,
            metrics=self._manager.own_write_metrics.for_controller(self._name),
            timeout_seconds=self._options.own_write_timeout_seconds,
            clock=self._manager.seams.clock,
        )
        owners = OwnerRecheck(
            self._for,
            self._manager.client,
            informers[self._for],
            deleted_by_us=own_writes.has_deleted,
            clock=self._manager.seams.clock,
        )
        controller = self._new_controller(_Rechecked(reconciler, owners), queue, own_writes)
        self._manager.add(controller)
        self._manager.declare_reconciled(self._for)
        self._manager.declare(Access(resource=self._for.resource, verbs=("get",)), *self._access)
        for asked in self._asked:
            controller.watch(self._new_watch(asked, informers, queue, own_writes, owners))
        return controller

    def _new_queue(self) -> ReconcileQueue:
        queue = ReconcileQueue(
            self._name,
            rate_limiter=self._options.rate_limiter,
            metrics_provider=self._manager.workqueue_metrics,
            seams=self._manager.seams,
        )
        self._manager.workqueue_metrics.show_depths(self._name, queue.depths)
        return queue

    def _new_controller(
        self, reconciler: Reconciler, queue: ReconcileQueue, own_writes: OwnWrites
    ) -> Controller:
        manager = self._manager
        return Controller(
            self._name,
            reconciler,
            queue=queue,
            own_writes=own_writes,
            metrics=self._new_metrics(),
            own_metrics=manager.own_write_metrics.for_controller(self._name),
            options=self._options,
            seams=manager.seams,
        )

    def _new_metrics(self) -> ControllerMetrics:
        """The instruments of the controller; instruments of one name count together."""
        workers = self._options.max_concurrent_reconciles
        return self._manager.reconcile_metrics.for_controller(self._name, workers)

    def _new_watch(
        self,
        asked: _Asked,
        informers: dict[type[Any], KindInformer[Any]],
        queue: ReconcileQueue,
        own_writes: OwnWrites,
        owners: OwnerRecheck[Any],
    ) -> KindSource[Any]:
        assert self._for is not None
        names_of = asked.names_of or OwnerNames(
            self._for, informers[self._for], every_owner=asked.every_owner
        )
        return KindSource(
            informers[asked.kind],
            names_of,
            sink=queue,
            predicates=asked.predicates,
            observed=own_writes.observed,
            gone=owners.child_gone,
            panicked=self._new_metrics().panics.inc,
            recorder=self._manager.recorder(self._name) if asked.names_of is own_name else None,
        )


def _check(reconciler: Any) -> None:
    """Return if it can be called as a reconciler. Raises: TypeError."""
    if isinstance(reconciler, type):
        raise TypeError(f"a reconciler is an object, not a class: call {reconciler.__name__}(...)")
    if not callable(getattr(reconciler, "reconcile", None)):
        raise TypeError(f"a reconciler has a method reconcile(name, context): {reconciler!r} has none")


def controller_for(manager: Manager, name: str) -> ControllerBuilder:
    """Begin a controller; its queue, logs, metrics and Events bear its name."""
    return ControllerBuilder(manager, name)
