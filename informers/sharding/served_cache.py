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
    """A cache was asked about a namespace that another process serves."""

    def __init__(self, what: str, namespace: str, slot: int, count: int) -> None:
        LookupError.__init__(
            self,
            f'unable to {what} from the cache: namespace "{namespace}" is in slot {slot} of {count}, which '
            "another replica has: relate objects of one namespace only, or ask the server with a client",
        )
        self.namespace = namespace


class ServedCache(Generic[T]):
    """An informer's store for the namespaces in this process's slots. Threads: usable from any thread."""

    def __init__(self, store: Cache[T], resource: Resource, scope: ShardScope) -> None:
        """Args: errors name resource."""
        self._store = store
        self._resource = resource
        self._scope = scope

    def list(self) -> builtins.list[T]:
        """Return all objects in the namespaces that are served."""
        return self._store.list()

    def get_by_key(self, key: str) -> T | None:
        """
        Return the object with that store key, or None.

        Raises: NamespaceNotServed.
        """
        self._check(namespace_of_key(key), f'get {self._resource.group_resource} "{key}"')
        return self._store.get_by_key(key)

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """
        Return the objects with that value under an index.

        Raises: IndexNotFound; NamespaceNotServed for the namespace index.
        """
        if name == NAMESPACE_INDEX:
            self._check(value, f"list {self._resource.group_resource}")
        return self._store.by_index(name, value)

    def _check(self, namespace: str, what: str) -> None:
        # A held slot that is not completely listed yet can already be read by handlers while its objects
        # arrive.
        if not self._scope.holds(namespace, "", {}):
            held = self._scope.held
            raise NamespaceNotServed(what, namespace, held.namespaces.slot_of(namespace), held.count)
