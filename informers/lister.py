"""
Reads an informer's cache by name, by namespace or by label selector.

A cache may be older than the server's state, and is incomplete until the informer has synced. All readers
share the cached objects. They are frozen, whereas in Go only a convention keeps readers from changing them.
Follows: client-go tools/cache/listers.go, listers/generic_helpers.go. Differs: a lister of some namespaces
raises an error if it is asked for another one. For an object that is not in the cache, it returns None
instead of raising NotFound, which would look like a response of the server. `list` and `get` have a
namespace argument; there is no separate lister for one namespace.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from handloop.apis.grammar.labels import Selector, everything, parse_selector
from handloop.apis.label_selector import SelectingStruct
from handloop.apis.meta import Object
from handloop.apis.resource import Resource
from handloop.informers.indexer import NAMESPACE_INDEX, IndexNotFound
from handloop.informers.keys import ObjectName, namespace_of_key, parse_object_name
from handloop.informers.selection import EVERYTHING, Selection
from handloop.seams.logs import get_logger
from handloop.seams.step_trace import TRACE

log = get_logger("lister")

T = TypeVar("T", bound=Object)


S = TypeVar("S")


class Cache(Protocol[S]):
    """The store that a lister reads: one Indexer, or several that act as one."""

    def list(self) -> builtins.list[S]:
        """Return all objects."""

    def get_by_key(self, key: str) -> S | None:
        """Return the object with this store key, or None."""

    def by_index(self, name: str, value: str) -> builtins.list[S]:
        """
        Return the objects that have this value in an index.

        Raises: IndexNotFound if the index does not exist.
        """


class NamespaceNotWatched(LookupError):  # noqa: N818 - like handloop.client.errors.NotFound
    """A cache of some namespaces was asked for another namespace, about which it has no data."""

    def __init__(self, what: str, namespace: str, watched: str) -> None:
        super().__init__(
            f'unable to {what} from the cache: namespace "{namespace}" is not watched (watched: {watched}): '
            "watch it as well, or read from the server with a client"
        )
        self.namespace = namespace


class MergedCache(Generic[T]):
    """
    The stores of several namespaces, read as one.

    Fields: stores maps each namespace to its store. The mapping can be replaced, but is never modified
    in place.
    Threads: usable from any thread.
    Follows: controller-runtime pkg/cache/multi_namespace_cache.go.
    """

    def __init__(self, stores: Mapping[str, Cache[T]], resource: Resource, *, watched: str = "") -> None:
        """Args: resource and watched appear in errors; if watched is "", the namespaces appear instead."""
        self.stores = stores
        self._resource = resource
        self._watched = watched

    def list(self) -> builtins.list[T]:
        """Return all objects in the watched namespaces."""
        return [obj for store in self.stores.values() for obj in store.list()]

    def get_by_key(self, key: str) -> T | None:
        """
        Return the object with this store key, or None.

        Raises: NamespaceNotWatched if the key's namespace is not watched.
        """
        return self._store(namespace_of_key(key), f'get {self._resource.group_resource} "{key}"').get_by_key(
            key
        )

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """
        Return the objects that have this value in an index.

        Raises: IndexNotFound if the index does not exist; NamespaceNotWatched if this is the namespace index
        and the namespace is not watched.
        """
        if name != NAMESPACE_INDEX:
            return [obj for store in self.stores.values() for obj in store.by_index(name, value)]
        return self._store(value, f"list {self._resource.group_resource}").by_index(name, value)

    def _store(self, namespace: str, what: str) -> Cache[T]:
        stores = self.stores
        if namespace not in stores:
            raise NamespaceNotWatched(what, namespace, self._watched or ", ".join(stores))
        return stores[namespace]


class Lister(Generic[T]):
    """
    Reads the cached objects of one kind, in all watched namespaces or within a selection.

    Threads: usable from any thread. The objects are shared with the cache, and immutable. Lists belong to
    the caller and are unordered.
    """

    def __init__(self, indexer: Cache[T], resource: Resource, selection: Selection = EVERYTHING) -> None:
        """
        Args: indexer is the cache to read; resource appears in errors; selection says what the cache
        contains.
        """
        self._indexer = indexer
        self._resource = resource
        self.selection = selection

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._resource}{self.selection.suffix}>"

    def get(self, name: ObjectName | str, *, namespace: str = "") -> T | None:
        """
        Return the object, or None if it does not exist or its labels or fields are outside the selection.

        Args: name is an ObjectName, a string "namespace/name", or a plain name in the given namespace. For a
        cluster-scoped kind, namespace is ignored.
        Raises: ValueError if the namespace is missing, or is not that of the ObjectName; NamespaceNotWatched
        if the namespace is not watched; OutsideSelection if the selection excludes the name.
        """
        # (9) get object by key
        name = self._full_name(name, namespace)
        if self.selection:
            self.selection.check_name(f'get {self._resource.group_resource} "{name}"', name)
        obj = self._read(name.namespace).get_by_key(str(name))
        if TRACE.on:
            facts = {} if obj is None else {"version": obj.metadata.resource_version}
            TRACE.tell(9, self._resource.plural, name, found=bool(facts), worker=TRACE.has_key(), **facts)
        return obj

    def list(
        self,
        selector: Selector | SelectingStruct | str = everything(),  # noqa: B008 - immutable
        *,
        namespace: str = "",
    ) -> builtins.list[T]:
        """
        Return the objects whose labels match the selector.

        Args: selector can be a string, such as "app=web,tier!=cache", or a LabelSelector. An empty namespace
        means all watched namespaces; for a cluster-scoped kind, namespace is ignored.
        Raises: SelectorError if selector cannot be parsed; NamespaceNotWatched if the namespace is not
        watched; OutsideSelection if the selection excludes the labels.
        """
        if isinstance(selector, str):
            selector = parse_selector(selector)
        elif isinstance(selector, SelectingStruct):
            selector = selector.selector()
        if selector.nothing:
            return []
        chosen = namespace if self._resource.namespaced else ""
        if self.selection:
            self.selection.check_list(f"list {self._resource.group_resource}", selector, chosen)
        objects = self._of_namespace(chosen) if chosen else self._read().list()
        return objects if selector.everything else [o for o in objects if selector.matches(o.metadata.labels)]

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """
        Return the objects that have this value in an index.

        Raises: IndexNotFound if the index does not exist.
        """
        return self._read().by_index(name, value)

    def __contains__(self, name: ObjectName | str) -> bool:
        """Return whether an object with this name is in the cache. Arguments and errors are those of get."""
        return self.get(name) is not None

    def __iter__(self) -> Iterator[T]:
        """Return an iterator over the objects that are in the cache now."""
        return iter(self.list())

    def _read(self, namespace: str = "") -> Cache[T]:  # noqa: ARG002 - for subclasses that fill it first
        """Return the cache. Every read method calls this with its namespace, or with "" for all."""
        return self._indexer

    def _of_namespace(self, namespace: str) -> builtins.list[T]:
        """Return a namespace's objects, from the namespace index or, without one, by checking all objects."""
        try:
            return self._read(namespace).by_index(NAMESPACE_INDEX, namespace)
        except IndexNotFound as error:
            log.warning("Can not retrieve list of objects using index", err=str(error))
            return [obj for obj in self._read().list() if obj.metadata.namespace == namespace]

    def _full_name(self, name: ObjectName | str, namespace: str) -> ObjectName:
        if isinstance(name, str):
            # With a namespace, name may have that namespace as a prefix. No valid name contains a slash.
            plain = name.removeprefix(f"{namespace}/")
            name = ObjectName(namespace, plain) if namespace else parse_object_name(name)
        if not self._resource.namespaced:
            return ObjectName("", name.name)
        if namespace and name.namespace not in ("", namespace):
            raise ValueError(f"{self._resource.kind} {name} is not in namespace {namespace}")
        name = ObjectName(name.namespace or namespace, name.name)
        if not name.namespace:
            raise ValueError(f'a {self._resource.kind} is in a namespace: get("{name}", namespace=...)')
        return name
