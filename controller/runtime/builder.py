"""
A controller in a few words.

    controller_for(manager, "myapp").for_(MyApp, predicates=(GenerationChanged(),)).owns(Deployment)
        .watches(Secret, names_of_apps).with_options(max_concurrent_reconciles=2)
        .complete(reconciler)

Follows: controller-runtime pkg/builder.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, Generic, Literal, NamedTuple, Self, TypeVar, cast

from handloop.apis.core_v1 import Event
from handloop.apis.immutable import mutable_parts
from handloop.apis.meta import Kind
from handloop.apis.partial_metadata import metadata_of
from handloop.apis.resource import Resource
from handloop.client.errors import Invalid
from handloop.controller.runtime.applied_fields import AppliedFields
from handloop.controller.runtime.context import Context
from handloop.controller.runtime.controller import Controller
from handloop.controller.runtime.controller_caches import ControllerCaches
from handloop.controller.runtime.events.recorder import EVENT_TYPE_WARNING
from handloop.controller.runtime.external_source import ExternalSource, SourceFunc
from handloop.controller.runtime.informer_source import InformerSource, MapFunc, OwnerNames, own_name
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.metrics.controller_metrics import ControllerMetrics
from handloop.controller.runtime.multi_namespace_informer import RECONCILED, MultiNamespaceInformer
from handloop.controller.runtime.owner_recheck import OwnerRecheck
from handloop.controller.runtime.predicates import GenerationChanged, Predicate, has_generation
from handloop.controller.runtime.rbac.access import VERBS, Access, owner_access
from handloop.controller.runtime.rbac.undeclared import UndeclaredWrites
from handloop.controller.runtime.reconcile import Result
from handloop.controller.runtime.reconcile_queue import ReconcileQueue
from handloop.controller.runtime.reconcile_writes import ReconcileWrites, reconcile_writes
from handloop.controller.runtime.reconciler import ByName, ByObject, ReconcileFunc, Reconciler, function_of
from handloop.controller.runtime.referred_objects import NamesFunc, ReferredObjects
from handloop.controller.runtime.repeat_backoff import HeldBackError, RepeatBackoff
from handloop.controller.runtime.stalled import Stalling, can_stall
from handloop.informers.informer_errors import MutableKind
from handloop.informers.keys import ObjectName
from handloop.informers.selection import Labels, Selection, selection_of
from handloop.seams.clock import Clock
from handloop.workqueue.rate_limiters import RateLimiter

WRITE_REFUSED: Final = "WriteRefused"

K = TypeVar("K", bound=Kind)
T = TypeVar("T", bound=Kind)


class BuilderError(Exception):
    """The calls of the builder make no controller."""


def _checked_kind(kind: Any) -> Any:
    if not (isinstance(kind, type) and issubclass(kind, Kind)):
        what = f"an object: pass {type(kind).__name__}" if isinstance(kind, Kind) else repr(kind)
        raise TypeError(f"a controller watches a kind, such as Foo, and not {what}")
    return kind


def _checked_predicates(kind: Any, predicates: Sequence[Predicate]) -> tuple[Predicate, ...]:
    if not isinstance(predicates, Iterable):
        raise TypeError(f"predicates is a tuple: predicates=({predicates!r},)")
    for each in predicates:
        if isinstance(each, type):
            raise TypeError(f"a predicate is an object, not a class: call {each.__name__}(...)")
        if not all(callable(getattr(each, name, None)) for name in ("create", "update", "delete")):
            raise TypeError(
                f"a predicate has create, update and delete, and {each!r} has not: "
                "PredicateFuncs(update=function) makes one of a function"
            )
        if isinstance(each, GenerationChanged) and not has_generation(kind.resource):
            raise TypeError(
                f"the server counts no generation of a {kind.resource.kind}, so GenerationChanged would hide "
                "every update: ResourceVersionChanged leaves out resyncs alone"
            )
    return tuple(predicates)


class _WatchSpec(NamedTuple):
    """One watch as asked for; names_of None = the names of the controlling owner, or of every owner."""

    kind: type[Any]
    selection: Selection
    names_of: MapFunc[Any] | None
    predicates: tuple[Predicate, ...]
    every_owner: bool = False


class _ReferenceSpec(NamedTuple):
    """One refers_to as asked for."""

    kind: type[Any]
    names: NamesFunc
    allowed: tuple[str, ...] | None

    @property
    def access(self) -> Access | None:
        """Without a list of names there may be so many that each is read from the server."""
        if self.allowed is None:
            return Access(resource=self.kind.resource, verbs=("get", "list", "watch"), by_name=True)
        names = tuple(dict.fromkeys(self.allowed))
        return Access(resource=self.kind.resource, verbs=("list", "watch"), names=names) if names else None


class _Rechecked:
    """
    Calls a reconcile, unless its object is known to be gone. Implements Reconciler[ObjectName].

    A write refused with a 422 becomes an Event of the object, too: its author may be able to mend it.
    """

    def __init__(
        self,
        reconcile: ReconcileFunc[ObjectName],
        owners: OwnerRecheck[Any],
        informer: MultiNamespaceInformer[Any],
        *,
        clock: Clock,
    ) -> None:
        self._reconcile = reconcile
        self._watches = informer.watches
        self._owners = owners
        self._cached = informer.get
        self._refusals = RepeatBackoff("told already", clock=clock)

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        """Raises: OwnerGoneError and ClientError of OwnerRecheck.check; errors of the reconciler."""
        before = RECONCILED.set(name.namespace)
        try:
            return self._reconcile_in_its_namespace(name, context)
        finally:
            RECONCILED.reset(before)

    def _reconcile_in_its_namespace(self, name: ObjectName, context: Context) -> Result | None:
        try:
            self._owners.check(name)
        except HeldBackError as error:
            # no failure: it would count for max_retries
            return Result(requeue_after=error.retry_seconds)
        try:
            return self._reconcile(name, context) if self._watches(name.namespace) else None
        except Invalid as error:
            with suppress(HeldBackError):
                self._tell(name, context, error.status.message)
            raise
        except Exception as error:
            # its objects are not gone, and not ours: they are listed again if the namespace comes back
            if self._watches(name.namespace):
                raise
            context.log.debug("Dropped, as its namespace is watched no longer", v=2, err=str(error))
            return None

    def _tell(self, name: ObjectName, context: Context, message: str) -> None:
        """Once per generation and message, and ever more rarely for the retries."""
        obj = self._cached(name)
        if obj is None:
            return

        def tell() -> bool:
            context.event(obj, WRITE_REFUSED, message, EVENT_TYPE_WARNING)
            return True

        self._refusals.attempt(obj.metadata.uid, (obj.metadata.generation, message), tell)


class _Managers:
    def __repr__(self) -> str:
        return "the manager's"


MANAGERS: Final[Any] = _Managers()
"""An option that is left out."""


class ControllerBuilder(Generic[K]):
    """Collects the watches and options of a controller of kind K; `complete` makes it."""

    def __init__(self, manager: Manager, name: str) -> None:
        self._manager = manager
        self._name = name
        self._for: type[Kind] | None = None
        self._watch_specs: list[_WatchSpec] = []
        self._references: list[_ReferenceSpec] = []
        self._sources: list[tuple[str, SourceFunc]] = []
        self._access: tuple[Access, ...] = ()
        self._written: set[Resource] = set()
        self._options = manager.controller_options

    def for_(
        self,
        kind: type[T],
        *,
        predicates: Sequence[Predicate] = (),
        labels: Labels = "",
        fields: str = "",
    ) -> ControllerBuilder[T]:
        """
        Reconcile the objects of a kind. Call it exactly once.

        Args: labels and fields, in owns and watches, too: hold, read and wait for only these objects, as in
        Manager.informer_for. An object that no longer fits looks deleted.
        Raises: BuilderError; TypeError for a value that is no kind or no predicate, and SelectorError for a
        selector that the server would refuse, in owns and watches, too.
        """
        if self._for is not None:
            raise BuilderError(f"controller {self._name}: for_() could only be called once")
        self._for = _checked_kind(kind)
        selection = selection_of(kind, labels=labels, fields=fields)
        self._watch_specs.insert(
            0, _WatchSpec(kind, selection, own_name, _checked_predicates(kind, predicates))
        )
        return cast("ControllerBuilder[T]", self)

    def owns(
        self,
        kind: type[Kind],
        *,
        predicates: Sequence[Predicate] = (),
        every_owner: bool = False,
        only: Literal["metadata"] | None = None,
        labels: Labels = "",
        fields: str = "",
    ) -> Self:
        """
        When an object of a kind changes, reconcile its controlling owner; access: see owner_access.

        With a selection, a child that loses its label looks deleted. Context.apply asks the server about a
        child that the cache lacks, and makes no second one; a reconciler that creates children by itself has
        to ask, too.

        Args: every_owner = also owners that do not control the object. only="metadata" = hold nothing else of
        it, as PartialObjectMetadata[kind]: then Context.apply reads the server. labels and fields as in for_.
        """
        if only not in (None, "metadata"):
            raise ValueError(f'only is "metadata" or None, and not {only!r}')
        kind = metadata_of(_checked_kind(kind)) if only else _checked_kind(kind)
        selection = selection_of(kind, labels=labels, fields=fields)
        self._watch_specs.append(
            _WatchSpec(kind, selection, None, _checked_predicates(kind, predicates), every_owner)
        )
        return self

    def watches(
        self,
        kind: type[T],
        map_func: MapFunc[T],
        *,
        predicates: Sequence[Predicate] = (),
        labels: Labels = "",
        fields: str = "",
    ) -> Self:
        """
        When an object of a kind changes, reconcile the names that map_func makes of it.

        Args: labels and fields as in for_. One object is `fields="metadata.name=settings"`: the role that is
        printed for it names the object.
        Raises: TypeError.
        """
        if not callable(map_func):
            raise TypeError(f"a map function takes an object and returns ObjectNames, not {map_func!r}")
        selection = selection_of(_checked_kind(kind), labels=labels, fields=fields)
        self._watch_specs.append(_WatchSpec(kind, selection, map_func, _checked_predicates(kind, predicates)))
        return self

    def refers_to(self, kind: type[Kind], names: NamesFunc, *, allowed: Sequence[str] | None = None) -> Self:
        """
        Hold the objects of a kind that the reconciled objects refer to by name, and no others.

        When one of them changes, appears or goes, the objects that refer to it are reconciled.
        Context.referred reads it. Each is a watch of its own, from the first reference to the last.

        Args: names makes of an object the names that it refers to: in its own namespace, or ObjectNames. It
        is pure; "" is no name. allowed = the only names that may be referred to, None = any; the role that is
        printed names them.
        Raises: TypeError; MutableKind; BuilderError for a second one of a kind.
        """
        if not callable(names):
            raise TypeError(f"a function takes an object and returns the names it refers to, not {names!r}")
        if isinstance(allowed, str):
            raise TypeError(f"allowed is a sequence of names, such as ({allowed!r},), and not a str")
        if any(each.kind is kind for each in self._references):
            raise BuilderError(f"one refers_to({_checked_kind(kind).__name__}, ...) returns all names")
        if parts := mutable_parts(_checked_kind(kind)):
            raise MutableKind(kind, parts)
        self._references.append(
            _ReferenceSpec(_checked_kind(kind), names, None if allowed is None else tuple(allowed))
        )
        return self

    def source(self, name: str, function: SourceFunc) -> Self:
        """
        Reconcile the names that news from outside of the cluster concerns.

        Args: name is for logs and causes. function is called on a thread of its own with wake, which takes an
        ObjectName and blocks while too many wait, and a threading.Event, which is set when it has to return.
        Raises: TypeError.
        """
        if not callable(function):
            raise TypeError(f"a source is a function of wake and stop, and not {function!r}")
        self._sources.append((name, function))
        return self

    def with_options(
        self,
        *,
        max_concurrent_reconciles: int = MANAGERS,
        rate_limiter: RateLimiter[ObjectName] | None = None,
        max_retries: int | None = MANAGERS,
        reconcile_timeout_seconds: float | None = MANAGERS,
        blocked_after_seconds: float | None = MANAGERS,
        own_write_timeout_seconds: float = MANAGERS,
        cache_sync_timeout_seconds: float = MANAGERS,
        needs_leader_election: bool = MANAGERS,
    ) -> Self:
        """
        Set the controller's options; see ControllerOptions. Options that are left out are the manager's.

        Raises: ValueError.
        """
        chosen: dict[str, Any] = {
            "max_concurrent_reconciles": max_concurrent_reconciles,
            "rate_limiter": rate_limiter,
            "max_retries": max_retries,
            "reconcile_timeout_seconds": reconcile_timeout_seconds,
            "blocked_after_seconds": blocked_after_seconds,
            "own_write_timeout_seconds": own_write_timeout_seconds,
            "cache_sync_timeout_seconds": cache_sync_timeout_seconds,
            "needs_leader_election": needs_leader_election,
        }
        given = {name: value for name, value in chosen.items() if value is not MANAGERS}
        self._options = replace(self._manager.controller_options, **given)
        return self

    def writes(self, kind: type[Kind], *verbs: str, subresource: str = "") -> Self:
        """
        Declare what the reconciler writes: `.writes(ConfigMap, "create", "patch")`.

        An apply needs create and patch, and get, which comes with patch: see AppliedFields. A kind that is
        watched, too, gets it with any verb: see OwnWrites. Watches, and Events in the controller's name, are
        declared already.

        Args: subresource as in `.writes(Foo, "update", subresource="status")`.
        Raises: ValueError without a verb, and for one that no server has.
        """
        if not verbs:
            raise ValueError(f'name the verbs: .writes({kind.__name__}, "create", "patch")')
        for verb in verbs:
            if verb not in VERBS:
                near = "".join(f": {one}?" for one in get_close_matches(verb, VERBS, 1)) or "."
                raise ValueError(f"{verb!r} is no verb of a resource{near} .declares(...) takes any verb")
        if not subresource:
            self._written.add(kind.resource)
        if "patch" in verbs and not subresource:
            verbs = (*verbs, "get")
        return self.declares(Access(resource=kind.resource, verbs=verbs, subresource=subresource))

    def declares(self, *access: Access) -> Self:
        """Declare other access that the reconciler needs: roles, preflight and doctor read it."""
        self._access = (*self._access, *access)
        return self

    def complete(self, reconciler: Reconciler[K] | ReconcileFunc[K]) -> Controller:
        """
        Make the controller and add it to the manager, before the manager runs.

        Args: reconciler gets the cached object and a Context. It is not called for an object that is gone,
        nor while a deletion waits for the garbage collector alone; see ByObject.
        Raises: BuilderError without a kind to reconcile; TypeError for a reconciler that cannot reconcile; as
        Manager.begin.
        """
        reconcile = function_of(reconciler, "obj")
        informers = self._informers()
        return self._complete(ByObject(informers[0].get, reconcile).reconcile, informers)

    def complete_by_name(self, reconciler: Reconciler[ObjectName] | ReconcileFunc[ObjectName]) -> Controller:
        """
        The same for a reconciler that gets an ObjectName, also of an object that is gone or going.

        It is not called for an object that exists and does not fit its type; see ByName.
        """
        reconcile = function_of(reconciler, "name")
        informers = self._informers()
        return self._complete(ByName(informers[0].is_quarantined, reconcile).reconcile, informers)

    def _kind(self) -> type[Kind]:
        if self._for is None:
            raise BuilderError(f"controller {self._name}: there are no watches configured: call for_()")
        return self._for

    def _informers(self) -> list[MultiNamespaceInformer[Any]]:
        """Those of the watches, in their order: that of for_ comes first."""
        self._kind()
        self._manager.begin(self._name)
        made: dict[tuple[type[Any], Selection], MultiNamespaceInformer[Any]] = {}
        for kind, selection, *_ in self._watch_specs:
            if (kind, selection) not in made:
                labels, fields = selection.labels, selection.field_text
                made[kind, selection] = self._manager.informer_for(kind, labels=labels, fields=fields)
        return [made[kind, selection] for kind, selection, *_ in self._watch_specs]

    def _complete(
        self, reconcile: ReconcileFunc[ObjectName], informers: list[MultiNamespaceInformer[Any]]
    ) -> Controller:
        kind, queue, clock = self._kind(), self._new_queue(), self._manager.seams.clock
        caches = ControllerCaches(self._manager, dict.fromkeys(informers))
        writes = reconcile_writes(
            self._manager.client,
            caches.mirror,
            wake=queue.wake,
            tells=caches.watches,
            metrics=self._manager.own_write_metrics.for_controller(self._name),
            timeout_seconds=self._options.own_write_timeout_seconds,
            clock=clock,
        )
        own_writes = writes.own_writes
        owners = OwnerRecheck(
            kind,
            self._manager.client,
            informers[0],
            deleted_by_us=own_writes.has_deleted,
            clock=clock,
        )
        # the first of several of a kind, for another one's success would take its condition back
        if can_stall(kind) and kind not in self._manager.reconciled_kinds():
            reconcile = Stalling(informers[0].get, reconcile).reconcile
        rechecked = _Rechecked(reconcile, owners, informers[0], clock=clock)
        controller = self._new_controller(rechecked, queue, writes, caches)
        self._manager.add(controller)
        self._manager.declare_reconciled(kind)
        self._manager.declare(*self._implied_access(kind), *self._access)
        for asked, informer in zip(self._watch_specs, informers, strict=True):
            names_of = asked.names_of or OwnerNames(kind, informers[0], every_owner=asked.every_owner)
            watch = self._new_watch(
                informer, names_of, asked.predicates, writes=writes, owners=owners, queue=queue
            )
            controller.watch(watch)
        for kind, names, allowed in self._references:
            referred = ReferredObjects(
                kind,
                names,
                owners=informers[0],
                watcher=self._manager,
                sink=queue,
                observed=own_writes.observed,
                allowed=allowed,
            )
            caches.refer_to(referred)
            controller.watch(referred)
        for name, function in self._sources:
            self._manager.add(self._new_source(name, function, queue))
        return controller

    def _implied_access(self, kind: type[Kind]) -> list[Access]:
        """
        Watches, owning, Events of the controller, the condition Stalled, and two looks at the server: at an
        owner whose children disappear, and at an own write that a cache lacks.
        """
        owning = (
            [owner_access(kind.resource)] if any(one.names_of is None for one in self._watch_specs) else []
        )
        stalling = [Access(resource=kind.resource, verbs=("update",), subresource="status")]
        watched = [(asked.kind.resource, asked.selection.name) for asked in self._watch_specs]
        looked_up = [Access(resource=each, verbs=("get",)) for each, _ in watched if each in self._written]
        return [
            Access(resource=kind.resource, verbs=("get",)),
            *(stalling if can_stall(kind) else []),
            *(
                Access(resource=each, verbs=("list", "watch"), names=(name,) if name else ())
                for each, name in watched
            ),
            *looked_up,
            *(each.access for each in self._references if each.access),
            *owning,
            Access(resource=Event.resource, verbs=("create", "patch")),
        ]

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
        self,
        reconciler: Reconciler[ObjectName],
        queue: ReconcileQueue,
        writes: ReconcileWrites,
        caches: ControllerCaches,
    ) -> Controller:
        manager = self._manager
        return Controller(
            self._name,
            reconciler,
            kind=self._kind().resource.kind,
            queue=queue,
            writes=writes,
            metrics=self._new_metrics(),
            own_metrics=manager.own_write_metrics.for_controller(self._name),
            options=self._options,
            new_context=partial(
                Context,
                client=manager.client.telling(UndeclaredWrites(self._name, manager.access).accepted),
                listers=caches,
                applied=AppliedFields(
                    owned=[
                        each.kind.resource.group_resource
                        for each in self._watch_specs
                        if each.names_of is None
                    ]
                ),
                recorder=manager.recorder(self._name),
                clock=manager.seams.clock,
            ),
            seams=manager.seams,
        )

    def _new_source(self, name: str, function: SourceFunc, queue: ReconcileQueue) -> ExternalSource:
        return ExternalSource(
            name,
            function,
            controller=self._name,
            sink=queue,
            queued=lambda: queue.statistics().queued,
            needs_leader_election=self._options.needs_leader_election,
            seams=self._manager.seams,
        )

    def _new_metrics(self) -> ControllerMetrics:
        """The instruments of the controller; instruments of one name count together."""
        workers = self._options.max_concurrent_reconciles
        return self._manager.reconcile_metrics.for_controller(self._name, workers)

    def _new_watch(
        self,
        informer: MultiNamespaceInformer[Any],
        names_of: MapFunc[Any],
        predicates: Sequence[Predicate],
        *,
        writes: ReconcileWrites,
        owners: OwnerRecheck[Any],
        queue: ReconcileQueue,
    ) -> InformerSource[Any]:
        return InformerSource(
            informer,
            names_of,
            sink=queue,
            predicates=predicates,
            observed=writes.own_writes.observed,
            gone=owners.child_gone,
            panicked=self._new_metrics().panics.inc,
            dropped=self._manager.own_write_metrics.for_controller(self._name).dropped,
            recorder=self._manager.recorder(self._name) if names_of is own_name else None,
        )


def controller_for(manager: Manager, name: str) -> ControllerBuilder[Any]:
    """
    Begin a controller; its queue, logs, metrics and Events bear its name.

    Raises: as Manager.begin. A controller that is begun must be completed before the manager runs.
    """
    manager.begin(name)
    return ControllerBuilder(manager, name)
