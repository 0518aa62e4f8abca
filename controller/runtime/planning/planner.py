"""
A plan: each name that a program would reconcile when it starts is reconciled once, as a dry run.

    PlanningManager.run --> caches --> Planner: prepare, reconcile_once for each name --> Plan

A plan does not show the steps that follow a wait or a requeue, or that follow when new pods become ready. It
only reports them as "and then more".
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol, runtime_checkable

import msgspec

from handloop.apis.decoders import decoder_of
from handloop.apis.meta import controller_of
from handloop.client.resource_client import Client
from handloop.controller.runtime.caching.cache_wait import CacheSyncTimeoutError
from handloop.controller.runtime.life.runnable import Runnable
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.planning.attempt import (
    ATTEMPT,
    MORE,
    OUTSIDE,
    PAUSED,
    Attempt,
    PlanEnds,
    PlannedWrite,
    guard_against_acts,
)
from handloop.controller.runtime.planning.dry_transport import DryTransport
from handloop.controller.runtime.planning.field_changes import has_templates
from handloop.controller.runtime.reconcile import DeadlineExceededError, WaitError
from handloop.controller.runtime.reconciling.reporting import shown
from handloop.controller.runtime.sources.external_source import ExternalSource
from handloop.informers.keys import ObjectName
from handloop.seams.locks import new_lock
from handloop.seams.threads import Joinable

NOT_RUN: Final = "not run"
CACHES: Final = "caches"
STOPPED: Final = "stopped before all names were planned"
NOT_READY: Final = "its pods are not ready yet"


@runtime_checkable
class Plannable(Protocol):
    """A runnable that reconciles, such as a Controller. sources names its sources outside the cluster."""

    name: str
    kind: str
    sources: tuple[str, ...]
    plannable: bool

    def prepare(self, stop: threading.Event) -> list[ObjectName]:
        """See Controller.prepare."""

    def reconcile_once(self, name: ObjectName) -> float | None:
        """See Controller.reconcile_once."""


class Unshown(msgspec.Struct, frozen=True, order=True):
    """
    A name that failed, or that the plan does not show completely.

    If name is "", it stands for all of a controller's names.
    Fields: what, one of "failed", "paused", "more", "webhook", "outside", "cannot be dry", "caches" and "not
    run"; why, the reason in words, or a webhook's name.
    """

    controller: str
    kind: str
    namespace: str
    name: str
    what: str
    why: str


class Plan:
    """
    The writes that a run would send.

    Fields: owned, which is set at the end: kind that has a pod template -> the number of its cached objects
    that are controlled by an object of a reconciled kind.
    State, under _lock: _writes, encoded, each with its sort key; _unshown.
    Threads: workers add writes; main reads them at the end.
    """

    def __init__(self) -> None:
        self._lock = new_lock("Plan._lock", 95)
        self._writes: list[tuple[tuple[Any, ...], bytes]] = []
        self._unshown: list[Unshown] = []
        self.owned: dict[str, int] = {}

    def add(self, writes: Sequence[PlannedWrite], *unshown: Unshown) -> None:
        """Add a reconcile's writes. They are stored encoded, which takes a tenth of the memory."""
        kept = [
            ((each.owner, *each.place, number), msgspec.json.encode(each))
            for number, each in enumerate(writes)
        ]
        with self._lock:
            self._writes += kept
            self._unshown += unshown

    def writes(self) -> Iterator[PlannedWrite]:
        """Return the writes, sorted by owner, and then by object."""
        with self._lock:
            kept = sorted(self._writes)
        return (decoder_of(PlannedWrite).decode(body) for _, body in kept)

    def unshown(self) -> list[Unshown]:
        """Return what the plan does not show, sorted by controller and name."""
        with self._lock:
            return sorted(self._unshown)


class Planner:
    """
    The only runnable of a PlanningManager. Implements handloop.controller.runtime.life.runnable.Runnable.

    Threads: `run-plan`, and `plan-<i>` for reconciles. No two threads reconcile the same name of a
    controller.
    """

    name = "plan"
    ends_first = True
    """True, so that run receives, and sets, the stop event of the manager's run."""

    def __init__(self, manager: PlanningManager, *, only: ObjectName | None, with_outside: bool) -> None:
        self.plan = Plan()
        self.controllers: list[Plannable] = []
        self._manager = manager
        self._only = only
        self._with_outside = with_outside

    def run(self, stop: threading.Event) -> None:
        """Plan for all controllers, one after another, and then set stop."""
        guard_against_acts()
        try:
            # A first list may be older than the latest writes.
            self._manager.catch_up(stop)
            known = [self._plan_for(controller, stop) for controller in self.controllers]
            if stop.is_set():
                self.plan.add((), Unshown(self.name, "", "", "", "failed", STOPPED))
            elif self._only is not None and not any(known):
                self.plan.add((), Unshown("", "", *self._only, "failed", "no controller would reconcile it"))
            self.plan.add(self._manager.dry.beside)
            self.plan.owned = dict(self._owned())
        finally:
            stop.set()

    def _plan_for(self, controller: Plannable, stop: threading.Event) -> bool:
        """Plan for a controller. Returns: False if it has no name to plan."""
        if controller.sources and not (controller.plannable or self._with_outside):
            why = f"it has a source outside the cluster: {', '.join(controller.sources)}"
            self.plan.add((), self._unshown(controller, ObjectName("", ""), OUTSIDE, why))
            return True
        try:
            names = controller.prepare(stop)
        except DeadlineExceededError:
            return True  # stop is set
        except CacheSyncTimeoutError as error:
            why = "; ".join(error.troubles)
            self.plan.add((), self._unshown(controller, ObjectName("", ""), CACHES, why))
            return True
        left: SimpleQueue[ObjectName] = SimpleQueue()
        chosen = [name for name in names if self._only in (None, name)]
        for name in chosen:
            left.put(name)
        work = partial(self._work, controller, left, stop)
        count = self._manager.controller_options.max_concurrent_reconciles
        workers: list[Joinable] = [self._manager.seams.spawn(f"plan-{i}", work) for i in range(count)]
        for worker in workers:
            worker.join()
        return bool(chosen)

    def _owned(self) -> Iterator[tuple[str, int]]:
        owners = {each.kind for each in self.controllers}
        for kind in self._manager.cached_kinds():
            cache = self._manager.informer_of(kind.resource.group_resource)
            if has_templates(kind.resource.api_version, kind.resource.kind) and cache is not None:
                found = [controller_of(each) for each in cache.list()]
                yield kind.resource.kind, sum(each is not None and each.kind in owners for each in found)

    def _work(self, controller: Plannable, left: SimpleQueue[ObjectName], stop: threading.Event) -> None:
        while not stop.is_set():
            try:
                name = left.get_nowait()
            except Empty:
                return
            self._attempt(controller, name)

    def _attempt(self, controller: Plannable, name: ObjectName) -> None:
        may_act = controller.plannable or self._with_outside
        attempt = Attempt(f"{controller.kind} {name}", acts_outside=may_act)
        token = ATTEMPT.set(attempt)
        what, why = "", ""
        try:
            again = controller.reconcile_once(name)
            if again is None:
                what = PAUSED
            elif again:
                what, why = MORE, "it is reconciled again"
        except PlanEnds:
            pass
        except WaitError as wait:
            what, why = MORE, shown(wait)
        except BaseException as error:  # noqa: BLE001 - whatever a reconcile raises, the plan goes on
            what, why = "failed", shown(error)
        finally:
            ATTEMPT.reset(token)
        if attempt.ended[0]:
            what, why = attempt.ended
        elif not what and any(map(_starts_pods, attempt.writes)):
            what, why = MORE, NOT_READY
        self.plan.add(attempt.writes, *([self._unshown(controller, name, what, why)] if what else []))

    @staticmethod
    def _unshown(controller: Plannable, name: ObjectName, what: str, why: str) -> Unshown:
        return Unshown(controller.name, controller.kind, name.namespace, name.name, what, why)


def _starts_pods(write: PlannedWrite) -> bool:
    is_new = write.verb == "create" and has_templates(write.api_version, write.kind)
    return write.restarts or is_new


class PlanningManager(Manager):
    """
    A Manager whose run makes a plan: only Planner runs, and all writes are dry runs.

    Runnables that do not reconcile are not run, so their writes are missing from the plan.
    """

    def __init__(
        self, client: Client, *, only: ObjectName | None = None, with_outside: bool = False, **options: Any
    ) -> None:
        """Args: only is a name to plan, or None for all; with_outside allows actions outside the cluster."""
        found: list[DryTransport] = []

        def dry(transport: Any) -> DryTransport:
            found.append(DryTransport(transport, client.clock))
            return found[0]

        super().__init__(client.wrap(dry), **options)
        (self.dry,) = found
        self._planner = Planner(self, only=only, with_outside=with_outside)

    def add(self, runnable: Runnable) -> None:
        """See Manager.add."""
        super().add(runnable)
        if isinstance(runnable, Plannable):
            self._planner.controllers.append(runnable)
        elif not isinstance(runnable, ExternalSource):
            self._planner.plan.add((), Unshown(runnable.name, "", "", "", NOT_RUN, "it does not reconcile"))

    def _complete(self, *, watches: bool) -> list[Runnable]:
        super()._complete(watches=watches)
        return [self._planner]

    def catch_up(self, stop: threading.Event) -> None:
        """Wait until all caches reflect what was written before this call, or until stop is set."""
        self._caches.catch_up(stop)

    def make(self, stop: threading.Event) -> Plan:
        """
        Run once, until all names are reconciled. Returns: the plan, which is incomplete after a stop.

        Raises: the same errors as run.
        Blocks: as long as run.
        """
        self.run(stop)
        return self._planner.plan
