"""The store that listers read when replicas share the namespaces."""

from __future__ import annotations

import builtins
from typing import Generic, TypeVar

from handloop.apis.resource import Resource
from handloop.informers.indexer import NAMESPACE_INDEX
from handloop.informers.keys import namespace_of_key
from handloop.informers.lister import Cache, NamespaceNotWatched
from handloop.informers.sharding.shard_scope import ShardScope

T = TypeVar("T")


class NamespaceNotServed(NamespaceNotWatched):
    """A cache was read for a namespace that another process serves."""

    def __init__(self, what: str, namespace: str, slot: int, count: int) -> None:
        LookupError.__init__(
            self,
            f'unable to {what} from the cache: namespace "{namespace}" is in slot {slot} of {count}, which '
            "another replica holds: map objects only within one namespace, or read them with a client",
        )
        self.namespace = namespace


class ServedCache(Generic[T]):
    """An informer's store for the namespaces in this process's slots. Threads: usable from any thread."""

    def __init__(self, store: Cache[T], resource: Resource, scope: ShardScope) -> None:
        """Args: resource appears in errors."""
        self._store = store
        self._resource = resource
        self._scope = scope

    def list(self) -> builtins.list[T]:
        """Return all objects in the namespaces that this process serves."""
        return self._store.list()

    def get_by_key(self, key: str) -> T | None:
        """
        Return the object with this store key, or None.

        Raises: NamespaceNotServed if another process serves its namespace.
        """
        self._check(namespace_of_key(key), f'get {self._resource.group_resource} "{key}"')
        return self._store.get_by_key(key)

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """
        Return the objects that have this value in an index.

        Raises: IndexNotFound if the index does not exist; NamespaceNotServed if this is the namespace index
        and another process serves the namespace.
        """
        if name == NAMESPACE_INDEX:
            self._check(value, f"list {self._resource.group_resource}")
        return self._store.by_index(name, value)

    def _check(self, namespace: str, what: str) -> None:
        # A held slot may be read before its list is complete, because handlers read it while its objects
        # arrive.
        if not self._scope.holds(namespace, "", {}):
            held = self._scope.held
            raise NamespaceNotServed(what, namespace, held.namespaces.slot_of(namespace), held.count)
