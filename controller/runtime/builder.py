"""
Declare a controller in a few words.

    controller_for(manager, "myapp").for_(MyApp, predicates=(GenerationChanged(),)).owns(Deployment)
        .watches(Secret, names_of_apps).with_options(max_concurrent_reconciles=2)
        .complete(reconciler)

Follows: controller-runtime pkg/builder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Final, Generic, Literal, Self, TypeVar, cast

from handloop.apis.immutable import mutable_parts
from handloop.apis.meta import Kind
from handloop.apis.partial_metadata import metadata_of
from handloop.controller.runtime.assembly import Assembly
from handloop.controller.runtime.controller_spec import (
    ControllerSpec,
    ReferenceSpec,
    WatchSpec,
    checked_kind,
    checked_predicates,
)
from handloop.controller.runtime.manager import Manager
from handloop.controller.runtime.rbac.access import VERBS, Access
from handloop.controller.runtime.reconciling.controller import Controller
from handloop.controller.runtime.reconciling.reconciler import (
    ByName,
    ByObject,
    ReconcileFunc,
    Reconciler,
    function_of,
)
from handloop.controller.runtime.sources.external_source import SourceFunc
from handloop.controller.runtime.sources.informer_source import MapFunc, own_name
from handloop.controller.runtime.sources.predicates import Predicate
from handloop.controller.runtime.sources.referred_objects import NamesFunc
from handloop.informers.informer_errors import MutableKind
from handloop.informers.keys import ObjectName
from handloop.informers.selection import Labels, selection_of
from handloop.workqueue.rate_limiters import RateLimiter

K = TypeVar("K", bound=Kind)
T = TypeVar("T", bound=Kind)


class BuilderError(Exception):
    """The builder lacks something that a controller needs, or was given something twice."""


class _Managers:
    def __repr__(self) -> str:
        return "the manager's"


MANAGERS: Final[Any] = _Managers()
"""The value of an omitted option."""


class ControllerBuilder(Generic[K]):
    """Collects the watches and options of a controller for kind K. `complete` creates the controller."""

    def __init__(self, manager: Manager, name: str) -> None:
        self._manager = manager
        self._name = name
        self._has_kind = False
        self._spec = ControllerSpec(name, manager.controller_options)

    def for_(
        self,
        kind: type[T],
        *,
        predicates: Sequence[Predicate] = (),
        labels: Labels = "",
        fields: str = "",
    ) -> ControllerBuilder[T]:
        """
        Reconcile the objects of a kind. Call this method exactly once.

        Args: labels and fields (also in owns and watches) limit the cache to the objects that they select, as
        in Manager.informer_for. An object that no longer matches looks deleted.
        Raises: BuilderError for a second call; TypeError for a value that is not a kind or a predicate;
        SelectorError for a selector that the server would refuse. owns and watches raise the last two.
        """
        if self._has_kind:
            raise BuilderError(f"controller {self._name}: for_() can only be called once")
        selection = selection_of(checked_kind(kind), labels=labels, fields=fields)
        self._spec.watches.insert(
            0, WatchSpec(kind, selection, own_name, checked_predicates(kind, predicates))
        )
        self._has_kind = True
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
        Watch a kind of child. When a child changes, reconcile its controlling owner.

        With labels or fields, a child that no longer matches looks deleted. If a child is missing from the
        cache, Context.apply asks the server about it and does not create a second one. A reconciler that
        creates children in another way has to ask the server itself.

        Args: with every_owner, owners that do not control the object are also reconciled. With
        only="metadata", only PartialObjectMetadata[kind] is cached, and Context.apply reads from the server.
        labels and fields work as in for_. See owner_access for the necessary permissions.
        """
        if only not in (None, "metadata"):
            raise ValueError(f'only is "metadata" or None, and not {only!r}')
        kind = metadata_of(checked_kind(kind)) if only else checked_kind(kind)
        selection = selection_of(kind, labels=labels, fields=fields)
        self._spec.watches.append(
            WatchSpec(kind, selection, None, checked_predicates(kind, predicates), every_owner)
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
        Watch a kind. When one of its objects changes, reconcile the names that map_func returns for it.

        Args: labels and fields work as in for_. `fields="metadata.name=settings"` selects one object, and the
        generated role then names that object.
        Raises: TypeError if map_func is not callable; see also for_.
        """
        if not callable(map_func):
            raise TypeError(f"a map function takes an object and returns ObjectNames, not {map_func!r}")
        selection = selection_of(checked_kind(kind), labels=labels, fields=fields)
        self._spec.watches.append(WatchSpec(kind, selection, map_func, checked_predicates(kind, predicates)))
        return self

    def refers_to(self, kind: type[Kind], names: NamesFunc, *, allowed: Sequence[str] | None = None) -> Self:
        """
        Cache only those objects of a kind that the reconciled objects refer to by name.

        When one of them is created, changed or deleted, the objects that refer to it are reconciled. Their
        reconciles read it with Context.referred. While an object is referred to, it has its own watch.

        Args: names, a pure function, returns the names that an object refers to: strings for its own
        namespace, or ObjectNames; "" is ignored. If allowed is given, only those names may be referred to,
        and the generated role lists them.
        Raises: TypeError for an argument of the wrong type; MutableKind for a kind with mutable parts;
        BuilderError for a second call with the same kind.
        """
        if not callable(names):
            raise TypeError(f"names must be a function that takes an object and returns names, not {names!r}")
        if isinstance(allowed, str):
            raise TypeError(f"allowed must be a sequence of names, such as ({allowed!r},), not a str")
        if any(each.kind is kind for each in self._spec.references):
            raise BuilderError(f"one refers_to({checked_kind(kind).__name__}, ...) returns all names")
        if parts := mutable_parts(checked_kind(kind)):
            raise MutableKind(kind, parts)
        self._spec.references.append(
            ReferenceSpec(checked_kind(kind), names, None if allowed is None else tuple(allowed))
        )
        return self

    def source(self, name: str, function: SourceFunc) -> Self:
        """
        Add a source outside the cluster. When something happens there, function names the objects to
        reconcile.

        Args: name appears in logs and causes. function runs on its own thread. It receives wake, which queues
        an ObjectName and blocks while too many names are waiting, and a threading.Event that is set when
        function must return.
        Raises: TypeError if function is not callable.
        """
        if not callable(function):
            raise TypeError(f"a source must be a function that takes wake and stop, not {function!r}")
        self._spec.sources.append((name, function))
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
        pauses_deletion: bool = MANAGERS,
        plannable: bool = MANAGERS,
    ) -> Self:
        """
        Set the controller's options; see ControllerOptions. Omitted options keep the manager's values.

        Raises: ValueError for an invalid value.
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
            "pauses_deletion": pauses_deletion,
            "plannable": plannable,
        }
        given = {name: value for name, value in chosen.items() if value is not MANAGERS}
        self._spec.options = replace(self._manager.controller_options, **given)
        return self

    def writes(self, kind: type[Kind], *verbs: str, subresource: str = "") -> Self:
        """
        Declare what the reconciler writes: `.writes(ConfigMap, "create", "patch")`.

        An apply needs create, patch and get. Declaring patch also declares get; see AppliedFields. For a kind
        that is also watched, any verb also declares get; see OwnWrites. The access for the controller's
        watches and its own Events is declared automatically.

        Args: subresource is used as in `.writes(Foo, "patch", subresource="status")`. For a status, declaring
        "update", which a client's update_status needs, also declares the "patch" that Context.update_status
        needs.
        Raises: ValueError if no verb is given, or if no server has such a verb.
        """
        if not verbs:
            raise ValueError(f'name the verbs: .writes({kind.__name__}, "create", "patch")')
        for verb in verbs:
            if verb not in VERBS:
                near = "".join(f": {one}?" for one in get_close_matches(verb, VERBS, 1)) or "."
                raise ValueError(f"{verb!r} is not a verb of a resource{near} .declares(...) takes any verb")
        if not subresource:
            self._spec.written[kind] = None
        if "patch" in verbs and not subresource:
            verbs = (*verbs, "get")
        if "update" in verbs and subresource == "status":
            verbs = (*verbs, "patch")
        return self.declares(Access(resource=kind.resource, verbs=verbs, subresource=subresource))

    def declares(self, *access: Access) -> Self:
        """Declare other access that the reconciler needs. Generated roles, preflight and doctor use it."""
        self._spec.access += access
        return self

    def complete(self, reconciler: Reconciler[K] | ReconcileFunc[K]) -> Controller:
        """
        Create the controller and add it to the manager. Call this before the manager runs.

        Args: reconciler receives the cached object and a Context. It is not called for an object that is
        gone, or whose deletion waits only for the garbage collector; see ByObject.
        Raises: BuilderError if no kind is reconciled; TypeError if reconciler cannot be called as
        reconcile(obj, context); the same errors as Manager.begin.
        """
        reconcile = function_of(reconciler, "obj")
        assembly = self._assembly()
        return assembly.complete(ByObject(assembly.informer.held, reconcile).reconcile)

    def complete_by_name(self, reconciler: Reconciler[ObjectName] | ReconcileFunc[ObjectName]) -> Controller:
        """
        Like complete, for a reconciler that receives an ObjectName, and also runs when the object is gone.

        If the object exists but does not fit its type, the reconciler is not called; see ByName.
        Raises: the same errors as complete and Share.refuse_names.
        """
        self._manager.replica.refuse_names(self._name)
        reconcile = function_of(reconciler, "name")
        assembly = self._assembly()
        return assembly.complete(ByName(assembly.informer.is_quarantined, reconcile).reconcile)

    def _assembly(self) -> Assembly:
        if not self._has_kind:
            raise BuilderError(f"controller {self._name}: there are no watches configured: call for_()")
        return Assembly(self._manager, self._spec)


def controller_for(manager: Manager, name: str) -> ControllerBuilder[Any]:
    """
    Start building a controller. Its queue, logs, metrics and Events carry its name.

    Complete the controller before the manager runs.
    Raises: the same errors as Manager.begin.
    """
    manager.begin(name)
    return ControllerBuilder(manager, name)
