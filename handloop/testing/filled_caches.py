"""Caches filled with a test's objects, for a reconciler without a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from handloop.apis.meta import Kind
from handloop.apis.unstructured import json_of
from handloop.informers.indexer import NAMESPACE_INDEX, Indexer, Indexers, namespace_index_func
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Lister
from handloop.informers.selection import Labels, selection_of

K = TypeVar("K", bound=Kind)


class FilledCaches:
    """
    Implements handloop.controller.runtime.reconciling.context.Listers.

    The cache of a kind without objects is empty.

    Threads: usable from any thread.
    """

    def __init__(self) -> None:
        self._stores: dict[type[Kind], Indexer[Any]] = {}

    def add(self, *objects: Kind) -> None:
        """Add objects to the caches. An object replaces a cached object of the same name."""
        for obj in objects:
            self._store(type(obj)).add(obj)

    def delete(self, *objects: Kind) -> None:
        """Remove objects."""
        for obj in objects:
            self._store(type(obj)).delete(obj)

    def add_indexers(self, kind: type[K], indexers: Indexers[K]) -> None:
        """
        Index a kind's objects, as a set-up does with MultiNamespaceInformer.add_indexers.

        Raises: the same errors as Indexer.add_indexers.
        """
        self._store(kind).add_indexers(indexers)

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """Return a lister for a kind. With labels or fields, it omits objects that are added later."""
        selection, store = selection_of(kind, labels=labels, fields=fields), self._store(kind)
        if selection:
            chosen = [obj for obj in store.list() if selection.matches(msgspec.json.decode(json_of(obj)))]
            store = caches(*chosen)._store(kind)  # noqa: SLF001 - it is of this class
        return Lister(store, kind.resource, selection)

    def listers_of(self, kind: type[K]) -> Sequence[Lister[K]]:
        """Return the lister of lister_for."""
        return [self.lister_for(kind)]

    def referred(self, kind: type[K], name: ObjectName, *, owner: ObjectName) -> K | None:  # noqa: ARG002
        """Return the object with this name, whatever its owner is."""
        return self._store(kind).get_by_key(str(name))

    def _store(self, kind: type[Kind]) -> Indexer[Any]:
        made: Indexer[Any] = Indexer(indexers={NAMESPACE_INDEX: namespace_index_func})
        return self._stores.setdefault(kind, made)


def caches(*objects: Kind) -> FilledCaches:
    """Return caches with these objects: `Context(listers=caches(greeting, config_map))`."""
    filled = FilledCaches()
    filled.add(*objects)
    return filled
