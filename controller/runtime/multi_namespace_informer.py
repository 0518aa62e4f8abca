"""
The informers of one kind, seen as one: of all namespaces, or of each of several.

A server can watch one namespace or all. A controller of several namespaces has an informer in each. With a
selector of namespaces they come and go. With shards so do the objects of one informer, slot by slot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from handloop.apis.meta import Kind
from handloop.informers.handlers import ResourceEventHandler
from handloop.informers.indexer import Indexers
from handloop.informers.informer_statistics import ReflectorStatistics
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName, final_state
from handloop.informers.lister import Cache, Lister, MergedCache, NamespaceNotWatched
from handloop.informers.quarantine import UndecodableCallback
from handloop.informers.selection import EVERYTHING, Selection
from handloop.informers.shards import ShardScope
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.locks import new_lock

T = TypeVar("T", bound=Kind)

RECONCILED: Final[ContextVar[str]] = ContextVar("RECONCILED", default="")
"""The namespace of the name that this thread reconciles, "" = none."""


class Synced(Protocol):
    """A handler that was added."""

    def has_synced(self) -> bool:
        """Whether the handler has returned from every add of the initial list."""


class ChangingNamespaces(NamedTuple):
    """
    Namespaces that come and go: what they have in common, in words, and whether the first are known.

    model is an informer that never starts: it gets the set-up of each namespace, and refuses what they would.
    """

    text: str
    known: Callable[[], bool]
    model: SharedIndexInformer[Any] | None


class _Gate(Generic[T]):
    """
    A handler of one namespace, until it leaves. Implements handloop.informers.handlers.ResourceEventHandler.

    With shards, a handler of the objects in the slots that are held when it is called. A call that is under
    way when a namespace or slot leaves may read what is watched no longer.
    """

    def __init__(self, handler: ResourceEventHandler[T], scope: ShardScope | None = None) -> None:
        self._handler = handler
        self._scope = scope
        self.has_left = False

    def on_add(self, obj: T, is_in_initial_list: bool) -> None:  # noqa: FBT001 - client-go's signature
        self._call(self._handler.on_add, obj, is_in_initial_list)

    def on_update(self, old: T, new: T) -> None:
        self._call(self._handler.on_update, old, new)

    def on_delete(self, obj: T | DeletedFinalStateUnknown[T]) -> None:
        self._call(self._handler.on_delete, obj)

    def _call(self, function: Callable[..., None], *event: Any) -> None:
        if self._is_shut(event[0]):
            return
        try:
            function(*event)
        except NamespaceNotWatched:
            if not self._is_shut(event[0]):
                raise

    def _is_shut(self, obj: T | DeletedFinalStateUnknown[T]) -> bool:
        state = final_state(obj)
        if self._scope is None or state is None:
            return self.has_left
        return not _is_held(self._scope, state)


class _Registration(Generic[T]):
    """A handler of all parts, also of those that come later."""

    def __init__(
        self,
        handler: ResourceEventHandler[T],
        resync_seconds: float | None,
        *,
        changing: bool,
        scope: ShardScope | None,
    ) -> None:
        """Args: changing = namespaces come and go; scope = the slots of which objects do, None = all stay."""
        self._handler = handler if scope is None else _Gate(handler, scope)
        self._resync_seconds = resync_seconds
        self._changing = changing
        self._gates: dict[str, _Gate[T]] = {}
        self._parts: dict[str, tuple[SharedIndexInformer[T], Synced]] = {}

    def join(self, namespace: str, part: SharedIndexInformer[T]) -> None:
        """Add the handler to a part."""
        handler = self._handler
        if self._changing:
            handler = self._gates[namespace] = _Gate(handler)
        added = part.add_event_handler(handler, resync_seconds=self._resync_seconds)
        self._parts = {**self._parts, namespace: (part, added)}

    def mute(self, namespace: str) -> None:
        """What the part has still to tell is not passed on."""
        self._gates[namespace].has_left = True

    def leave(self, namespace: str) -> None:
        """The part is stopped by its factory."""
        self._gates.pop(namespace).has_left = True
        self._parts = {name: part for name, part in self._parts.items() if name != namespace}

    def has_synced(self) -> bool:
        """Whether each part that is waited for has."""
        return all(added.has_synced() for part, added in self._parts.values() if not self._skips(part))

    def _skips(self, part: SharedIndexInformer[T]) -> bool:
        return self._changing and not part.has_synced() and failing(part) is not None


class MultiNamespaceInformer(Lister[T]):
    """
    One kind's informers by namespace ("" = all namespaces, or a cluster-scoped kind): a lister to listen to.

    Their factories start and stop them. A namespace that leaves is no deletion: no handler is called, reads
    of it raise NamespaceNotWatched, and `has_left` is True for it.
    Fields: kind; indexer, their stores, to read; scope, how the objects are restricted to slots, None = not.
    State: _parts, a mapping that is replaced; under _lock (6) what parts that come later get: _indexers,
    _callbacks and _registrations, and _on_left. Threads: any.
    """

    def __init__(
        self,
        kind: type[T],
        parts: Mapping[str, SharedIndexInformer[T]],
        *,
        selection: Selection = EVERYTHING,
        changing: ChangingNamespaces | None = None,
        fill: Callable[[MultiNamespaceInformer[Any], str], None] = lambda _informer, _namespace: None,
    ) -> None:
        """
        Args: changing None = parts are all there will be. fill is called with the namespace, "" = all, before
        get, list and by_index while the stores are not filled.
        """
        self.kind = kind
        self.scope = scope = next((part.scope for part in parts.values()), None)
        self._by_namespace = scope.held.namespaces if scope is not None and scope.by == "namespace" else None
        self._fill = fill
        self._changing = changing
        self.has_ended = False
        self._parts = dict(parts)
        self._lock = new_lock("MultiNamespaceInformer._lock", 6)
        self._indexers: list[Indexers[T]] = []
        self._callbacks: list[UndecodableCallback] = []
        self._registrations: list[_Registration[T]] = []
        self._on_left: list[Callable[[str], None]] = []
        stores = self._stores()
        watched = f"those with {changing.text}" if changing else ""
        self._merged = MergedCache(stores, kind.resource, watched=watched)
        self.indexer: Cache[T] = stores.get("", self._merged)
        super().__init__(self.indexer, kind.resource, selection)

    def __repr__(self) -> str:
        state = "synced" if self.has_synced() else "not synced"
        where = ", ".join(self._parts) if "" not in self._parts else "all namespaces"
        return f"<MultiNamespaceInformer of {self.kind.resource}{self.selection.suffix}, {where}, {state}>"

    @property
    def informers(self) -> tuple[SharedIndexInformer[T], ...]:
        """The parts that there are."""
        return tuple(self._parts.values())

    # namespaces that come and go

    def join(self, namespace: str, part: SharedIndexInformer[T]) -> None:
        """Take a namespace in, before its informer starts."""
        with self._lock:
            for indexers in self._indexers:
                part.add_indexers(indexers)
            for callback in self._callbacks:
                part.on_undecodable(callback)
            for registration in self._registrations:
                registration.join(namespace, part)
            self._replace_parts_locked({**self._parts, namespace: part})

    def mute(self, namespace: str) -> None:
        """Call no handler for a namespace any more, before it leaves the first kind: handlers read others."""
        with self._lock:
            for registration in self._registrations:
                registration.mute(namespace)

    def leave(self, namespace: str) -> None:
        """Let a namespace go, after mute; its factory stops its informer after that."""
        with self._lock:
            for registration in self._registrations:
                registration.leave(namespace)
            self._replace_parts_locked({name: p for name, p in self._parts.items() if name != namespace})
            callbacks = tuple(self._on_left)
        for callback in callbacks:
            callback(namespace)

    def on_left(self, callback: Callable[[str], None]) -> None:
        """Call callback with each namespace that leaves, after it has left."""
        with self._lock:
            self._on_left.append(callback)

    def has_left(self, namespace: str) -> bool:
        """Whether namespaces come and go, and this one is not watched now."""
        return self._changing is not None and self._part(namespace) is None

    def watches(self, namespace: str) -> bool:
        """Whether the stores know of a namespace."""
        return self._part(namespace) is not None and self._slot_version(namespace) is not None

    def _replace_parts_locked(self, parts: dict[str, SharedIndexInformer[T]]) -> None:
        self._parts = parts
        self._merged.stores = self._stores()

    def _stores(self) -> dict[str, Cache[T]]:
        return {namespace: part.cache for namespace, part in self._parts.items()}

    # the informers as one

    def has_synced(self, namespace: str = "") -> bool:
        """Whether every first list that troubles waits for is completely in its store."""
        return self._is_known() and not self._unfilled(namespace)

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add indexes to every store.

        Raises: as SharedIndexInformer.
        """
        with self._lock:
            model = self._changing.model if self._changing else None
            for informer in [model, *self.informers] if model else self.informers:
                informer.add_indexers(indexers)
            self._indexers.append(indexers)

    def on_undecodable(self, callback: UndecodableCallback) -> None:
        """Call callback for every object that does not fit its type, beginning with those known already."""
        with self._lock:
            for informer in self.informers:
                informer.on_undecodable(callback)
            self._callbacks.append(callback)

    def add_event_handler(
        self, handler: ResourceEventHandler[T], *, resync_seconds: float | None = None
    ) -> Synced:
        """Call handler for every change, on one thread per namespace."""
        changing = self._changing is not None
        registration = _Registration(handler, resync_seconds, changing=changing, scope=self.scope)
        with self._lock:
            for namespace, part in self._parts.items():
                registration.join(namespace, part)
            self._registrations.append(registration)
        return registration

    def stop(self) -> None:
        """End the informers, for good; does not wait. has_ended is True from here on."""
        self.has_ended = True
        for informer in self.informers:
            informer.stop()

    def _read(self, namespace: str = "") -> Cache[T]:
        """A read of all namespaces for an object of one needs that one, filled and watched."""
        if self._changing is not None and not namespace:
            namespace = RECONCILED.get()
            if namespace and namespace not in self._parts:
                what = f"list {self.kind.resource.group_resource}"
                raise NamespaceNotWatched(what, namespace, f"those with {self._changing.text}")
        if not self.has_synced(namespace):
            self._fill(self, namespace)
        return self.indexer

    def get_by_key(self, key: str) -> T | None:
        """The cached object with that store key; None also in a namespace or slot that is not watched."""
        part = self._part(key.rpartition("/")[0])
        found = None if part is None else part.indexer.get_by_key(key)
        if self.scope is not None and found is not None and not _is_held(self.scope, found):
            return None
        return found

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        """Whether the store has all changes of a namespace up to a version; True if it is not watched."""
        part = self._part(namespace)
        return part is None or part.has_seen(resource_version)

    def would_hold(self, body: bytes) -> bool:
        """
        Whether the selection, and a slot that is held, has an object.

        An object without labels, as in a deletion's Status, is in no selection by labels.

        Args: body = the object as the server sent it.
        Raises: msgspec.MsgspecError.
        """
        scope = next((part.scope for part in self.informers if part.scope is not None), None)
        if not self.selection and scope is None:
            return True
        obj = msgspec.json.decode(body)
        return self.selection.matches(obj) and (scope is None or scope.would_hold(obj))

    def is_quarantined(self, name: ObjectName) -> bool:
        """Whether an object exists and the store lacks it, as it does not fit its type, or did not before."""
        if not self.has_synced(name.namespace):
            self._fill(self, name.namespace)
        part = self._part(name.namespace)
        return part is not None and part.quarantine.is_quarantined(str(name))

    def why_unindexed(self, name: ObjectName) -> str:
        """Which indexes lack an object because their function failed on it, and why; "" when none does."""
        part = self._part(name.namespace)
        return "" if part is None else part.indexer.why_unindexed(str(name))

    def _part(self, namespace: str) -> SharedIndexInformer[T] | None:
        return self._parts.get(namespace) or self._parts.get("")

    def is_failing(self, namespace: str = "") -> bool:
        """Whether a first list that troubles waits for has failed, and is tried again."""
        return any(failing(part) for part in self._unfilled(namespace))

    def troubles(self, namespace: str = "") -> list[str]:
        """
        Why first lists are not complete yet, in words, one per informer that is not synced.

        Where namespaces come and go, one whose list fails, as before its role is bound, keeps no other
        waiting, but the given namespace is waited for, and for no other.
        """
        if self._changing is not None and not self._changing.known():
            plural = self.kind.resource.group_resource
            return [f"{plural}: it is not known yet which namespaces have {self._changing.text}"]
        return [_trouble(part) for part in self._unfilled(namespace)]

    def has_slots(self, version: int) -> bool:
        """Whether stores and handlers have had all objects of the slots as of a version of HeldSlots."""
        return self.scope is None or all(part.has_slots(version) for part in self.informers)

    def slot_troubles(self, version: int) -> list[str]:
        """Why has_slots is not True yet, in words; the last error, where a list fails."""
        if self.scope is None:
            return []
        return [_trouble(part) for part in self.informers if not part.has_slots(version)]

    def _slot_version(self, namespace: str) -> int | None:
        """Since which version the slot of a namespace is held; 0 = there are no slots; None = it is not."""
        if self._by_namespace is None or self.scope is None or not namespace:
            return 0
        return self.scope.held.now.since.get(self._by_namespace.slot_of(namespace))

    def _unfilled(self, namespace: str) -> list[SharedIndexInformer[T]]:
        """The awaited parts that lack their first list, or that of the namespace's slot."""
        unfilled = [part for part in self._awaited(namespace) if not part.has_synced()]
        if unfilled or self._by_namespace is None:  # every read of a lister asks
            return unfilled
        version = self._slot_version(namespace) or 0
        return [part for part in self._awaited(namespace) if not part.has_slots(version)] if version else []

    def _is_known(self) -> bool:
        return self._changing is None or self._changing.known()

    def _awaited(self, namespace: str) -> list[SharedIndexInformer[T]]:
        parts = self._parts
        if self._changing is None:
            return list(parts.values())
        if namespace in parts:
            return [parts[namespace]]
        return [part for part in parts.values() if part.has_synced() or not failing(part)]


def _is_held(scope: ShardScope, obj: Kind) -> bool:
    metadata = obj.metadata
    return scope.holds(metadata.namespace, metadata.uid, metadata.labels)


def failing(informer: SharedIndexInformer[Any]) -> ReflectorStatistics | None:
    """How a reflector is whose last list or watch failed; None without a failure."""
    reflector = informer.statistics().reflector
    return None if reflector is None or not reflector.last_error else reflector


def _trouble(informer: SharedIndexInformer[T]) -> str:
    reflector = failing(informer)
    if reflector is None:
        return f"{informer.name}: no complete list yet"
    fix = f" (fix: {reflector.fix})" if reflector.fix else ""
    return f"{informer.name}: {reflector.last_error}{fix}"
