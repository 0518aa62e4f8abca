"""
Reading the cache of an informer: by name, by namespace, by label selector.

A cache may be older than the server's state, and is incomplete until the informer has synced.
Follows: client-go tools/cache/listers.go, listers/generic_helpers.go, differs: a lister of some namespaces
answers for no other.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Mapping
from typing import Generic, Protocol, TypeVar

import structlog

from handloop.apis.labels import Selector, everything
from handloop.apis.meta import Object
from handloop.apis.resource import Resource
from handloop.client.errors import new_not_found
from handloop.informers.indexer import NAMESPACE_INDEX, IndexNotFound
from handloop.informers.keys import ObjectName
from handloop.workqueue.step_trace import TRACE

log = structlog.get_logger("lister")

T = TypeVar("T", bound=Object)


S = TypeVar("S")


class Cache(Protocol[S]):
    """A lister's source: an Indexer, or several as one."""

    def list(self) -> builtins.list[S]:
        """All objects."""

    def get_by_key(self, key: str) -> S | None:
        """The object with that store key, or None."""

    def by_index(self, name: str, value: str) -> builtins.list[S]:
        """
        The objects with that value under an index.

        Raises: IndexNotFound.
        """


class NamespaceNotWatched(LookupError):  # noqa: N818 - as handloop.client.errors.NotFound
    """A cache of some namespaces was asked about another one, which it knows nothing of."""

    def __init__(self, what: str, namespace: str, watched: Iterable[str]) -> None:
        super().__init__(
            f'unable to {what} from the cache: namespace "{namespace}" is not watched, but '
            f"{', '.join(watched)}: name it among the namespaces to watch, or ask the server with a client"
        )
        self.namespace = namespace


class MergedCache(Generic[T]):
    """
    The stores of some namespaces, read as one. Threads: any.

    Follows: controller-runtime pkg/cache/multi_namespace_cache.go.
    """

    def __init__(self, stores: Mapping[str, Cache[T]], resource: Resource) -> None:
        """Args: stores by namespace; errors name resource."""
        self._stores = dict(stores)
        self._resource = resource

    def list(self) -> builtins.list[T]:
        """All objects of the namespaces that are watched."""
        return [obj for store in self._stores.values() for obj in store.list()]

    def get_by_key(self, key: str) -> T | None:
        """
        The object with that store key, or None.

        Raises: NamespaceNotWatched.
        """
        namespace = key.rpartition("/")[0]
        store = self._stores.get(namespace)
        if store is None:
            what = f'get {self._resource.group_resource} "{key}"'
            raise NamespaceNotWatched(what, namespace, self._stores)
        return store.get_by_key(key)

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """
        The objects with that value under an index.

        Raises: IndexNotFound; NamespaceNotWatched for the index of namespaces.
        """
        if name != NAMESPACE_INDEX:
            return [obj for store in self._stores.values() for obj in store.by_index(name, value)]
        store = self._stores.get(value)
        if store is None:
            raise NamespaceNotWatched(f"list {self._resource.group_resource}", value, self._stores)
        return store.by_index(name, value)


class Lister(Generic[T]):
    """
    The objects of one kind in all namespaces that are watched.

    Threads: any. Objects are the cached ones, shared and immutable; lists are the caller's own, in no order.
    """

    def __init__(self, indexer: Cache[T], resource: Resource) -> None:
        """Read from indexer; a NotFound names resource."""
        self._indexer = indexer
        self._resource = resource

    def list(self, selector: Selector = everything()) -> list[T]:  # noqa: B008 - immutable
        """The objects whose labels match."""
        if selector.nothing:
            return []
        return _matching(self._indexer.list(), selector)

    def get(self, name: str) -> T:
        """
        The cluster-scoped object of this name.

        Raises: handloop.client.errors.NotFound; NamespaceNotWatched.
        """
        return self._get(ObjectName("", name))

    def namespace(self, namespace: str) -> NamespaceLister[T]:
        """The objects in one namespace; "" for all that are watched."""
        return NamespaceLister(self._indexer, self._resource, namespace)

    def _get(self, name: ObjectName) -> T:
        # (9) get object by key
        obj = self._indexer.get_by_key(str(name))
        if TRACE.on:
            TRACE.tell(9, self._resource.plural, name, found=obj is not None)
        if obj is None:
            raise new_not_found(self._resource, name.name)
        return obj


class NamespaceLister(Lister[T]):
    """The objects of one kind in one namespace."""

    def __init__(self, indexer: Cache[T], resource: Resource, namespace: str) -> None:
        """As Lister; namespace "" stands for all that are watched."""
        super().__init__(indexer, resource)
        self._namespace = namespace

    def list(self, selector: Selector = everything()) -> builtins.list[T]:  # noqa: B008 - immutable
        """
        The objects of the namespace whose labels match: by the namespace index, else by looking at all.

        Raises: NamespaceNotWatched.
        """
        if not self._namespace:
            return super().list(selector)
        if selector.nothing:
            return []
        try:
            objects = self._indexer.by_index(NAMESPACE_INDEX, self._namespace)
        except IndexNotFound as error:
            log.warning("Can not retrieve list of objects using index", err=str(error))
            objects = [obj for obj in self._indexer.list() if obj.metadata.namespace == self._namespace]
        return _matching(objects, selector)

    def get(self, name: str) -> T:
        """
        The object of this name in the namespace.

        Raises: handloop.client.errors.NotFound; NamespaceNotWatched.
        """
        return self._get(ObjectName(self._namespace, name))


def _matching(objects: list[T], selector: Selector) -> list[T]:
    if selector.everything:
        return objects
    return [obj for obj in objects if selector.matches(obj.metadata.labels)]
