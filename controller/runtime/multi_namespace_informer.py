"""
The informers of one kind, seen as one: of all namespaces, or of each of several.

A server can watch one namespace or all. A controller of several namespaces has an informer in each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

import msgspec

from handloop.apis.meta import Kind
from handloop.informers.handlers import ResourceEventHandler
from handloop.informers.indexer import Indexers
from handloop.informers.informer_statistics import ReflectorStatistics
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Cache, Lister, MergedCache
from handloop.informers.quarantine import UndecodableCallback
from handloop.informers.selection import EVERYTHING, Selection
from handloop.informers.shared_informer import SharedIndexInformer

T = TypeVar("T", bound=Kind)


class Synced(Protocol):
    """A handler that was added."""

    def has_synced(self) -> bool:
        """Whether the handler has returned from every add of the initial list."""


class _AllSynced:
    def __init__(self, parts: Sequence[Synced]) -> None:
        self._parts = parts

    def has_synced(self) -> bool:
        """Whether each part has."""
        return all(part.has_synced() for part in self._parts)


class MultiNamespaceInformer(Lister[T]):
    """
    One kind's informers by namespace ("" = all namespaces, or a cluster-scoped kind): a lister to listen to.

    Threads: any.

    Their factories start and stop them. Fields: kind; informers; indexer, their stores, to read.
    """

    def __init__(
        self,
        kind: type[T],
        parts: dict[str, SharedIndexInformer[T]],
        *,
        selection: Selection = EVERYTHING,
        fill: Callable[[MultiNamespaceInformer[Any]], None] = lambda _informer: None,
    ) -> None:
        """Args: fill is called before get, list and by_index while the stores are not filled."""
        self.kind = kind
        self._fill = fill
        self.informers = tuple(parts.values())
        self._parts = dict(parts)
        stores = {namespace: informer.indexer for namespace, informer in parts.items()}
        self.indexer: Cache[T] = stores[""] if "" in stores else MergedCache(stores, kind.resource)
        super().__init__(self.indexer, kind.resource, selection)

    def __repr__(self) -> str:
        state = "synced" if self.has_synced() else "not synced"
        where = ", ".join(self._parts) if "" not in self._parts else "all namespaces"
        return f"<MultiNamespaceInformer of {self.kind.resource}{self.selection.suffix}, {where}, {state}>"

    def has_synced(self) -> bool:
        """Whether every first list is completely in its store."""
        return all(informer.has_synced() for informer in self.informers)

    def add_indexers(self, indexers: Indexers[T]) -> None:
        """
        Add indexes to every store.

        Raises: as SharedIndexInformer.
        """
        for informer in self.informers:
            informer.add_indexers(indexers)

    def on_undecodable(self, callback: UndecodableCallback) -> None:
        """Call callback for every object that does not fit its type, beginning with those known already."""
        for informer in self.informers:
            informer.on_undecodable(callback)

    def add_event_handler(
        self, handler: ResourceEventHandler[T], *, resync_seconds: float | None = None
    ) -> Synced:
        """Call handler for every change, on one thread per namespace."""
        parts = self.informers
        return _AllSynced([part.add_event_handler(handler, resync_seconds=resync_seconds) for part in parts])

    def stop(self) -> None:
        """End the informers, for good; does not wait."""
        for informer in self.informers:
            informer.stop()

    def _read(self) -> Cache[T]:
        if not self.has_synced():
            self._fill(self)
        return self.indexer

    def get_by_key(self, key: str) -> T | None:
        """The cached object with that store key; None also in a namespace that is not watched."""
        part = self._part(key.rpartition("/")[0])
        return None if part is None else part.indexer.get_by_key(key)

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        """Whether the store has all changes of a namespace up to a version; True if it is not watched."""
        part = self._part(namespace)
        return part is None or part.has_seen(resource_version)

    def would_hold(self, body: bytes) -> bool:
        """
        Whether the selection has an object; an object without labels, as in a deletion's Status, is none.

        Args: body = the object as the server sent it.
        Raises: msgspec.MsgspecError.
        """
        return not self.selection or self.selection.matches(msgspec.json.decode(body))

    def is_quarantined(self, name: ObjectName) -> bool:
        """Whether an object exists and the store lacks it, as it does not fit its type, or did not before."""
        part = self._part(name.namespace)
        return part is not None and part.quarantine.is_quarantined(str(name))

    def why_unindexed(self, name: ObjectName) -> str:
        """Which indexes lack an object because their function failed on it, and why; "" when none does."""
        part = self._part(name.namespace)
        return "" if part is None else part.indexer.why_unindexed(str(name))

    def _part(self, namespace: str) -> SharedIndexInformer[T] | None:
        return self._parts.get(namespace) or self._parts.get("")

    def is_failing(self) -> bool:
        """Whether a first list has failed, and is tried again."""
        return any(failing(part) for part in self.informers if not part.has_synced())

    def troubles(self) -> list[str]:
        """Why first lists are not complete yet, in words, one per informer that is not synced."""
        return [_trouble(part) for part in self.informers if not part.has_synced()]


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
