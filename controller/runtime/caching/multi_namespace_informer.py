"""
The informers of one kind behind one interface: one informer for all namespaces, or one for each of several.

A watch covers one namespace or all of them, so a controller for several namespaces has an informer in each.
With a namespace selector, informers come and go. A restriction limits the objects that an informer may store;
when the restriction changes, objects also come and go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec

from handloop.apis.meta import Kind
from handloop.controller.runtime.reconcile import WaitError
from handloop.informers.handlers import ResourceEventHandler
from handloop.informers.indexer import Indexers
from handloop.informers.keys import DeletedFinalStateUnknown, ObjectName, final_state, namespace_of_key
from handloop.informers.lister import Cache, Lister, MergedCache, NamespaceNotWatched
from handloop.informers.quarantine import UndecodableCallback
from handloop.informers.reflector import ReflectorStatistics
from handloop.informers.restriction import Restriction
from handloop.informers.selection import EVERYTHING, Selection
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.seams.locks import new_lock

T = TypeVar("T", bound=Kind)

_NOT_CONVERTED: Final = "conversion webhook for "
_REFUSALS: Final = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)

_MOST_FILLED: Final = 1000
"""The largest size of _filled. It needs a limit, because a read can name any string as its namespace."""

RECONCILED: Final[ContextVar[str]] = ContextVar("RECONCILED", default="")
"""The namespace of the name that this thread is reconciling, or "" if it reconciles none."""


class Synced(Protocol):
    """A handler that was added."""

    def has_synced(self) -> bool:
        """Return whether the handler has returned from every add of the initial list."""


class ChangingNamespaces(NamedTuple):
    """
    A changing set of namespaces.

    Fields: text, the labels that the namespaces have in common; known, which returns whether the first list
    of namespaces has arrived; model, an informer that is never started. New indexes are added to model first,
    so that an invalid index is refused even if there is no namespace yet.
    """

    text: str
    known: Callable[[], bool]
    model: SharedIndexInformer[Any] | None


class _Gate(Generic[T]):
    """
    Passes one namespace's events to a handler, until the namespace leaves. Implements
    handloop.informers.handlers.ResourceEventHandler.

    It also drops an event whose object the restriction no longer admits. If a namespace leaves while the
    handler runs, the handler's NamespaceNotWatched is ignored.
    """

    def __init__(self, handler: ResourceEventHandler[T], restriction: Restriction[T]) -> None:
        self._handler = handler
        self._restriction = restriction
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
        return self.has_left or (state is not None and not self._restriction.holds(state))


class _Registration(Generic[T]):
    """A handler that was added to all parts, and will be added to each part that joins later."""

    def __init__(
        self,
        handler: ResourceEventHandler[T],
        resync_seconds: float | None,
        *,
        changing: bool,
    ) -> None:
        """Args: changing is whether namespaces come and go."""
        self._handler = handler
        self._resync_seconds = resync_seconds
        self._changing = changing
        self._gates: dict[str, _Gate[T]] = {}
        self._parts: dict[str, tuple[SharedIndexInformer[T], Synced]] = {}

    def join(self, namespace: str, part: SharedIndexInformer[T]) -> None:
        """Add the handler to a part."""
        handler = self._handler
        if self._changing or part.restriction.restricts:
            handler = self._gates[namespace] = _Gate(handler, part.restriction)
        added = part.add_event_handler(handler, resync_seconds=self._resync_seconds)
        self._parts = {**self._parts, namespace: (part, added)}

    def mute(self, namespace: str) -> None:
        """Drop the events that the namespace's informer has not delivered yet."""
        self._gates[namespace].has_left = True

    def leave(self, namespace: str) -> None:
        """Forget the part, which its factory stops."""
        self._gates.pop(namespace).has_left = True
        self._parts = {name: part for name, part in self._parts.items() if name != namespace}

    def has_synced(self) -> bool:
        """Return whether the handler has received the first list of each awaited part; see _awaited."""
        awaited = _awaited([part for part, _ in self._parts.values()], changing=self._changing)
        return all(added.has_synced() for part, added in self._parts.values() if part in awaited)


class MultiNamespaceInformer(Lister[T]):
    """
    The informers of one kind, called parts, by namespace ("" = all, or a cluster-scoped kind). The whole is a
    lister to which handlers can be added.

    Factories start and stop the informers. When a namespace leaves, its objects are not treated as deleted:
    no handler is called, reads raise NamespaceNotWatched, and `has_left` is True for the namespace.
    Fields: kind; indexer, which reads the informers' stores; restricts, whether a restriction admits only
    part of the kind.
    State: _parts, a mapping that is replaced, not changed; _filled, which makes reads faster if there is a
    single part: the restriction's `now`, and the stores of the namespaces that were filled at that time.
    Under _lock (6): _indexers, _callbacks and _registrations, which are given to parts that join later, and
    _on_left.
    Threads: any thread may call the methods.
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
        Args: changing is None if the parts never change. While the stores are not filled, get, list and
        by_index first call fill with the namespace that they read ("" = all).
        """
        self.kind = kind
        self.restricts = any(part.restriction.restricts for part in parts.values())
        self._fill = fill
        self._changing = changing
        self.has_ended = False
        self._parts = dict(parts)
        self._only = self._parts.get("") if len(parts) == 1 and changing is None else None
        self._filled: tuple[object, dict[str, Cache[T]]] = (None, {})
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
        """Add a namespace, before its informer starts."""
        with self._lock:
            for indexers in self._indexers:
                part.add_indexers(indexers)
            for callback in self._callbacks:
                part.on_undecodable(callback)
            for registration in self._registrations:
                registration.join(namespace, part)
            self._replace_parts_locked({**self._parts, namespace: part})

    def mute(self, namespace: str) -> None:
        """
        Stop passing a namespace's events to handlers.

        Call this for all kinds before any kind's leave, because a handler may also read other kinds.
        """
        with self._lock:
            for registration in self._registrations:
                registration.mute(namespace)

    def leave(self, namespace: str) -> None:
        """Remove a namespace, after mute. Its factory then stops its informer."""
        with self._lock:
            for registration in self._registrations:
                registration.leave(namespace)
            self._replace_parts_locked({name: p for name, p in self._parts.items() if name != namespace})
            callbacks = tuple(self._on_left)
        for callback in callbacks:
            callback(namespace)

    def on_left(self, callback: Callable[[str], None]) -> None:
        """Call callback with the name of each namespace that leaves, after it has left."""
        with self._lock:
            self._on_left.append(callback)

    def has_left(self, namespace: str) -> bool:
        """Return whether a namespace is not watched now. Always False if the namespaces cannot change."""
        return self._changing is not None and self._part(namespace) is None

    def watches(self, namespace: str) -> bool:
        """Return whether a namespace is watched, and admitted by the restriction."""
        part = self._part(namespace)
        return part is not None and part.restriction.version_of(namespace) is not None

    def _replace_parts_locked(self, parts: dict[str, SharedIndexInformer[T]]) -> None:
        self._parts = parts
        self._merged.stores = self._stores()

    def _stores(self) -> dict[str, Cache[T]]:
        return {namespace: part.cache for namespace, part in self._parts.items()}

    # the informers as one

    def has_synced(self, namespace: str = "") -> bool:
        """Return whether every awaited first list is complete and stored, so that troubles is empty."""
        return self._is_known() and not self._unfilled(namespace)

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add indexes to every store.

        Raises: the same errors as SharedIndexInformer.add_indexers.
        """
        with self._lock:
            model = self._changing.model if self._changing else None
            for informer in [model, *self.informers] if model else self.informers:
                informer.add_indexers(indexers)
            self._indexers.append(indexers)

    def on_undecodable(self, callback: UndecodableCallback) -> None:
        """
        Call callback for every object that does not fit its type, beginning with those already known.

        Blocks: until the calls for those known objects have returned.
        """
        with self._lock:
            self._callbacks.append(callback)
            informers = self.informers
        # Call the callback without holding the lock, because it may add an index or a handler. Informers that
        # join from now on already have it.
        for informer in informers:
            informer.on_undecodable(callback)

    def add_event_handler(
        self, handler: ResourceEventHandler[T], *, resync_seconds: float | None = None
    ) -> Synced:
        """Call handler for every change, on one thread per namespace. A handler cannot be removed."""
        changing = self._changing is not None
        registration = _Registration(handler, resync_seconds, changing=changing)
        with self._lock:
            for namespace, part in self._parts.items():
                registration.join(namespace, part)
            self._registrations.append(registration)
        return registration

    def stop(self) -> None:
        """End the informers, permanently, and set has_ended. Does not wait."""
        self.has_ended = True
        for informer in self.informers:
            informer.stop()

    def _read(self, namespace: str = "") -> Cache[T]:
        """Return the cache to read. If it is not filled yet for the namespace ("" = all), call fill first."""
        only = self._only
        if only is None or not namespace:
            return self._read_filled(namespace)
        now, (then, stores) = only.restriction.now, self._filled
        if now is then and (store := stores.get(namespace)) is not None:
            return store
        cache = self._read_filled(namespace)
        if only.restriction.version_of(namespace) is not None and self.has_synced(namespace):
            if now is not then or len(stores) >= _MOST_FILLED:
                stores = {}
                self._filled = now, stores
            stores[namespace] = only.indexer
        return cache

    def _read_filled(self, namespace: str) -> Cache[T]:
        if (self._changing is not None or len(self._parts) > 1) and not namespace:
            namespace = RECONCILED.get()
            if self._changing is not None and namespace and namespace not in self._parts:
                what = f"list {self.kind.resource.group_resource}"
                raise NamespaceNotWatched(what, namespace, f"those with {self._changing.text}")
        if not self.has_synced(namespace):
            self._fill(self, namespace)
        return self.indexer

    def get(self, name: ObjectName | str, *, namespace: str = "") -> T | None:
        """
        Return an object, like Lister.get.

        Returns: None only if the object does not exist.
        Raises: WaitError for an object that exists but does not fit its type.
        """
        found = super().get(name, namespace=namespace)
        if found is None:
            full = self._full_name(name, namespace)
            part = self._part(full.namespace)
            if part is not None and part.quarantine.is_quarantined(str(full)):
                raise WaitError(f"{self.kind.resource.kind} {full} does not fit its type")
        return found

    def held(self, name: ObjectName) -> T | None:
        """Like get, but returns None instead of raising WaitError if the object does not fit its type."""
        return super().get(name)

    def get_by_key(self, key: str) -> T | None:
        """Return the object with this store key; None if it is not cached or its namespace is not watched."""
        part = self._part(namespace_of_key(key))
        found = None if part is None else part.indexer.get_by_key(key)
        return None if part is None or found is None or not part.restriction.holds(found) else found

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        """Return True if a namespace's changes up to a version are stored, or if it is not watched."""
        part = self._part(namespace)
        return part is None or part.has_seen(resource_version)

    def would_hold(self, body: bytes) -> bool:
        """
        Return whether the selection includes an object, and the restriction admits it.

        A body without labels, such as the Status that answers a deletion, never matches a selection by
        labels.

        Args: body is the object as the server sent it.
        Raises: msgspec.MsgspecError for a body that is not valid JSON.
        """
        restricted = [part.restriction for part in self.informers if part.restriction.restricts]
        if not self.selection and not restricted:
            return True
        obj = msgspec.json.decode(body)
        return self.selection.matches(obj) and all(each.would_hold(obj) for each in restricted)

    def is_quarantined(self, name: ObjectName) -> bool:
        """Return True if the object exists but does not fit its type, or fits again but is not stored yet."""
        if not self.has_synced(name.namespace):
            self._fill(self, name.namespace)
        part = self._part(name.namespace)
        return part is not None and part.quarantine.is_quarantined(str(name))

    def why_unindexed(self, name: ObjectName) -> str:
        """Return which indexes lack the object, and why, as text; "" if every index has it."""
        part = self._part(name.namespace)
        return "" if part is None else part.indexer.why_unindexed(str(name))

    def _part(self, namespace: str) -> SharedIndexInformer[T] | None:
        return self._parts.get(namespace) or self._parts.get("")

    def is_failing(self, namespace: str = "") -> bool:
        """Return whether troubles(namespace) contains a failed list, which is being retried."""
        return any(failing(part) for part in self._unfilled(namespace))

    def troubles(self, namespace: str = "") -> list[str]:
        """
        Return why first lists are not complete yet: one text per informer that is not synced.

        If a namespace is given, only its list is reported. Otherwise, a list that the server refuses, for
        example before a role is bound, is omitted if another namespace is synced. If namespaces come and go,
        every list that fails is omitted.
        """
        if self._changing is not None and not self._changing.known():
            plural = self.kind.resource.group_resource
            return [f"{plural}: it is not known yet which namespaces have {self._changing.text}"]
        return [_trouble(part) for part in self._unfilled(namespace)]

    def has_listed(self, version: int) -> bool:
        """Return whether everything that this version of the restriction allows is in the stores."""
        return not self._unlisted(version)

    def listing_troubles(self, version: int) -> list[str]:
        """Return the reasons why has_listed is not True yet, with the last error of each failed list."""
        return [_trouble(part) for part in self._unlisted(version)]

    def _unlisted(self, version: int) -> list[SharedIndexInformer[T]]:
        return [p for p in self.informers if p.restriction.restricts and not p.has_listed(version)]

    def _unfilled(self, namespace: str) -> list[SharedIndexInformer[T]]:
        """Return the awaited parts that have not listed all objects of a namespace ("" = all)."""
        awaited = self._awaited(namespace)
        unfilled = [part for part in awaited if not part.has_synced()]
        if unfilled or not self.restricts or not namespace:  # every read of a lister calls this
            return unfilled
        return [p for p in awaited if not p.has_listed(p.restriction.version_of(namespace) or 0)]

    def _is_known(self) -> bool:
        return self._changing is None or self._changing.known()

    def _awaited(self, namespace: str) -> list[SharedIndexInformer[T]]:
        parts = self._parts
        if namespace in parts:
            return [parts[namespace]]
        return _awaited(list(parts.values()), changing=self._changing is not None)


def _awaited(parts: list[SharedIndexInformer[T]], *, changing: bool) -> list[SharedIndexInformer[T]]:
    """
    Return the parts whose first lists must be complete before the informers count as synced.

    Parts whose list fails are omitted if namespaces come and go. Otherwise, parts whose list is refused are
    omitted if another part is synced.
    """
    if changing:
        return [part for part in parts if part.has_synced() or not failing(part)]
    left = [part for part in parts if part.has_synced() or not is_refused(part)]
    return left if any(part.has_synced() for part in left) else parts


def is_refused(informer: SharedIndexInformer[Any]) -> bool:
    """Return whether the server refused the last list or watch, for example because a role is missing."""
    reflector = failing(informer)
    return reflector is not None and reflector.last_code in _REFUSALS


def waits_for_conversion(informer: SharedIndexInformer[Any]) -> bool:
    """
    Return whether the informer fails because the server cannot convert a stored object, or does not serve the
    version yet.

    The server does not serve the version until a definition with this version and our conversion is applied.
    """
    reflector = failing(informer)
    if reflector is None:
        return False
    is_missing = reflector.last_code == HTTPStatus.NOT_FOUND and hasattr(informer.kind, "from_previous")
    return is_missing or _NOT_CONVERTED in reflector.last_error


def failing(informer: SharedIndexInformer[Any]) -> ReflectorStatistics | None:
    """Return the reflector's statistics if its last list or watch failed; otherwise None."""
    reflector = informer.statistics().reflector
    return None if reflector is None or not reflector.last_error else reflector


def _trouble(informer: SharedIndexInformer[T]) -> str:
    reflector = failing(informer)
    if reflector is None:
        return f"{informer.name}: no complete list yet"
    fix = f" (fix: {reflector.fix})" if reflector.fix else ""
    return f"{informer.name}: {reflector.last_error}{fix}"
