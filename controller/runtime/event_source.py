"""
From events of a kind to names to reconcile.

    informer --> EventSource: predicates --> names of an event --> ReconcileQueue, with cause and priority

What the first list holds, and a resync, waits behind fresh events. Both states of an update are asked for
names: the former owner is told that it is none any more. A predicate that raises lets its event through, a
map function that raises loses only the names of that state: one odd object keeps no controller from starting.
Follows: controller-runtime pkg/handler, pkg/internal/source, differs: an owner must match by UID, too; what
predicates and map functions raise is logged and counted, and ends nothing.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

import structlog

from handloop.apis.meta import Kind, OwnerReference, controller_of
from handloop.controller.runtime.causes import Cause
from handloop.controller.runtime.predicates import Predicate, all_of
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    ObjectName,
    deletion_handling_object_to_name,
    final_state,
    object_name,
)
from handloop.workqueue.priority import DEFAULT_PRIORITY, LOW_PRIORITY

log = structlog.get_logger("source")

T = TypeVar("T", bound=Kind)

MapFunc = Callable[[T], Iterable[ObjectName]]
"""An object to the names that are about it. Pure but for reading caches; runs on a listener thread."""

Observed = Callable[[type[Kind], ObjectName], None]
"""Told of every event, whatever the predicates say."""

Gone = Callable[[Kind], None]
"""Told of every object that is gone, whatever the predicates say, before names are queued because of it."""

Panicked = Callable[[], None]
"""Counts what a predicate or a map function raised."""

ADDED: Final = "added"
LISTED: Final = "listed"
UPDATED: Final = "updated"
DELETED: Final = "deleted"
RESYNCED: Final = "resynced"


class Sink(Protocol):
    """Where names go: a ReconcileQueue."""

    def add(self, name: ObjectName, cause: Cause, *, priority: int = DEFAULT_PRIORITY) -> None:
        """Reconcile a name."""


class OwnerCache(Protocol):
    """The cache of the kind that owns."""

    def get_by_key(self, key: str) -> Kind | None:
        """The cached object with that store key."""


def own_name(obj: Kind) -> tuple[ObjectName]:
    """An object is about itself."""
    return (object_name(obj),)


class OwnerNames:
    """
    A map function: the name of the object of a kind that controls another, or those of all that own it.

    An owner must be in its cache with the UID that the reference carries: a reference to a former object of
    that name leads nowhere. One that is not in the cache yet is told of by its own add.
    """

    def __init__(self, owner: type[Kind], cache: OwnerCache, *, every_owner: bool = False) -> None:
        """Args: every_owner = those that do not control it, too."""
        self._resource = owner.resource
        self._cache = cache
        self._every_owner = every_owner

    def __call__(self, obj: Kind) -> tuple[ObjectName, ...]:
        """None, one, or with every_owner several."""
        if self._every_owner:
            return tuple(name for each in obj.metadata.owner_references for name in self._names(obj, each))
        reference = controller_of(obj)
        return () if reference is None else self._names(obj, reference)

    def _names(self, obj: Kind, reference: OwnerReference) -> tuple[ObjectName, ...]:
        if reference.kind != self._resource.kind:
            return ()
        if reference.api_version.rpartition("/")[0] != self._resource.group:
            return ()
        name = ObjectName(obj.metadata.namespace if self._resource.namespaced else "", reference.name)
        owner = self._cache.get_by_key(str(name))
        if owner is None or owner.metadata.uid != reference.uid:
            log.debug("Ignore orphaned object", v=4, object=object_name(obj), owner=name)
            return ()
        return (name,)


class EventSource(Generic[T]):
    """
    One watch of a controller. Implements handloop.informers.handlers.ResourceEventHandler.

    Threads: one listener thread per informer.
    """

    def __init__(
        self,
        kind: type[T],
        names_of: MapFunc[T],
        *,
        sink: Sink,
        predicates: Sequence[Predicate] = (),
        observed: Observed,
        gone: Gone = lambda _obj: None,
        panicked: Panicked = lambda: None,
    ) -> None:
        self.kind = kind
        self._names_of = names_of
        self._sink = sink
        self._predicate = all_of(*predicates)
        self._observed = observed
        self._gone = gone
        self._panicked = panicked

    def on_add(self, obj: T, is_in_initial_list: bool) -> None:  # noqa: FBT001 - client-go's signature
        """An object is new to the cache."""
        name = object_name(obj)
        self._observed(self.kind, name)
        if self._passes(name, partial(self._predicate.create, obj)):
            self._enqueue(LISTED if is_in_initial_list else ADDED, name, obj)

    def on_update(self, old: T, new: T) -> None:
        """An object was replaced; two states with one resource version are a resync."""
        name = object_name(new)
        if new.metadata.uid != old.metadata.uid:
            self._gone(old)
        self._observed(self.kind, name)
        if not self._passes(name, partial(self._concerns, old, new)):
            return
        if old.metadata.resource_version == new.metadata.resource_version:
            self._enqueue(RESYNCED, name, new)
        else:
            self._enqueue(UPDATED, name, old, new)

    def _concerns(self, old: T, new: T) -> bool:
        """Whether a change passes; another UID: one object went and another one came while nobody looked."""
        if old.metadata.uid != new.metadata.uid:
            return self._predicate.delete(old) or self._predicate.create(new)
        return self._predicate.update(old, new)

    def on_delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        """An object is gone; a tombstone without a state at least names it."""
        state = final_state(obj)
        name = deletion_handling_object_to_name(obj)
        if state is not None:
            # first: whoever observes the deletion forgets that it was ours
            self._gone(state)
        self._observed(self.kind, name)
        if state is not None:
            if self._passes(name, partial(self._predicate.delete, state)):
                self._enqueue(DELETED, name, state)
        elif self._names_of is own_name:
            self._add(name, DELETED, name)

    def _enqueue(self, verb: str, event_of: ObjectName, *states: T) -> None:
        for name in dict.fromkeys(name for state in states for name in self._names(event_of, state)):
            self._add(name, verb, event_of)

    def _passes(self, name: ObjectName, ask: Callable[[], bool]) -> bool:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001 - a needless reconcile does no harm, a lost event does
            self._report("Predicate failed, event let through", name, error)
            return True

    def _names(self, event_of: ObjectName, state: T) -> tuple[ObjectName, ...]:
        try:
            return _checked(self._names_of(state))
        except Exception as error:  # noqa: BLE001 - the other state, and other objects, still count
            self._report("Map function failed", event_of, error)
            return ()

    def _report(self, what: str, name: ObjectName, error: Exception) -> None:
        self._panicked()
        kind = self.kind.resource.kind
        log.error(what, kind=kind, object=name, err=repr(error))
        stack = "".join(traceback.format_exception(error))
        log.debug("Observed a panic in a watch", v=4, kind=kind, object=name, stack=stack)

    def _add(self, name: ObjectName, verb: str, event_of: ObjectName) -> None:
        cause = Cause(self.kind.resource.kind, verb, str(event_of), is_resync=verb == RESYNCED)
        priority = LOW_PRIORITY if verb in (LISTED, RESYNCED) else DEFAULT_PRIORITY
        self._sink.add(name, cause, priority=priority)


def _checked(names: Iterable[Any]) -> tuple[ObjectName, ...]:
    """Raises: TypeError for what would be queued and is no name, such as a key."""
    found = tuple(names)
    for name in found:
        if not isinstance(name, ObjectName):
            raise TypeError(f"a map function makes ObjectNames, not {name!r}")
    return found
