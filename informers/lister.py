"""
Read the cache of an informer: by name, by namespace, by label selector.

A cache can be older than the server's state, and is incomplete until the informer has synced. All readers
share its objects, which are frozen; in Go, only a convention keeps readers from changing them.
Follows: client-go tools/cache/listers.go, listers/generic_helpers.go, differs: a lister of some namespaces
answers for no other. For an object that is not in the cache it returns None and raises no NotFound, which
would mean an answer of the server. `list` and `get` take the namespace; there is no lister of one.
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
    """The source of a lister: an Indexer, or several that act as one."""

    def list(self) -> builtins.list[S]:
        """Return all objects."""

    def get_by_key(self, key: str) -> S | None:
        """Return the object with that store key, or None."""

    def by_index(self, name: str, value: str) -> builtins.list[S]:
        """
        Return the objects with that value under an index.

        Raises: IndexNotFound.
        """


class NamespaceNotWatched(LookupError):  # noqa: N818 - as handloop.client.errors.NotFound
    """A cache of some namespaces was asked about another namespace, which it knows nothing about."""

    def __init__(self, what: str, namespace: str, watched: str) -> None:
        super().__init__(
            f'unable to {what} from the cache: namespace "{namespace}" is not watched, but {watched}: '
            "have it watched, too, or ask the server with a client"
        )
        self.namespace = namespace


class MergedCache(Generic[T]):
    """
    The stores of some namespaces, read as one.

    Fields: stores by namespace, a mapping that is replaced but never changed. Threads: any.
    Follows: controller-runtime pkg/cache/multi_namespace_cache.go.
    """

    def __init__(self, stores: Mapping[str, Cache[T]], resource: Resource, *, watched: str = "") -> None:
        """Args: errors name resource, and watched, which is "" for the names of the namespaces."""
        self.stores = stores
        self._resource = resource
        self._watched = watched

    def list(self) -> builtins.list[T]:
        """Return all objects of the namespaces that are watched."""
        return [obj for store in self.stores.values() for obj in store.list()]

    def get_by_key(self, key: str) -> T | None:
        """
        Return the object with that store key, or None.

        Raises: NamespaceNotWatched.
        """
        return self._store(namespace_of_key(key), f'get {self._resource.group_resource} "{key}"').get_by_key(
            key
        )

    def by_index(self, name: str, value: str) -> builtins.list[T]:
        """
        Return the objects with that value under an index.

        Raises: IndexNotFound; NamespaceNotWatched for the index of namespaces.
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
    The objects of one kind in all watched namespaces, or those in a selection.

    Threads: any. Objects are the cached ones, shared and immutable. Lists are the caller's, and unordered.
    """

    def __init__(self, indexer: Cache[T], resource: Resource, selection: Selection = EVERYTHING) -> None:
        """Read from indexer; errors name resource. Args: selection = what the indexer holds."""
        self._indexer = indexer
        self._resource = resource
        self.selection = selection

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._resource}{self.selection.suffix}>"

    def get(self, name: ObjectName | str, *, namespace: str = "") -> T | None:
        """
        Return the object of that name, or None: also if its labels or fields are outside the selection.

        Args: name is an ObjectName, the text "namespace/name", or a name in the given namespace, which is
        ignored for a cluster-scoped kind.
        Raises: ValueError for a name that lacks the namespace, and for an ObjectName of
        another one; NamespaceNotWatched; OutsideSelection for a name that the selection
        excludes.
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
        Return the objects whose labels match.

        Args: selector can be text, such as "app=web,tier!=cache", or a LabelSelector; namespace "" = all that
        are watched; for a cluster-scoped kind it is ignored.
        Raises: SelectorError; NamespaceNotWatched; OutsideSelection for labels that the selection excludes.
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
        Return the objects with that value under an index.

        Raises: IndexNotFound.
        """
        return self._read().by_index(name, value)

    def __contains__(self, name: ObjectName | str) -> bool:
        """Return whether an object of that name exists; as get."""
        return self.get(name) is not None

    def __iter__(self) -> Iterator[T]:
        """Return all objects, as they are now."""
        return iter(self.list())

    def _read(self, namespace: str = "") -> Cache[T]:  # noqa: ARG002 - for those that fill it first
        """Return the cache. Every read of a namespace ("" = of all) calls this."""
        return self._indexer

    def _of_namespace(self, namespace: str) -> builtins.list[T]:
        """Use the namespace index if it exists, otherwise look at all objects."""
        try:
            return self._read(namespace).by_index(NAMESPACE_INDEX, namespace)
        except IndexNotFound as error:
            log.warning("Can not retrieve list of objects using index", err=str(error))
            return [obj for obj in self._read().list() if obj.metadata.namespace == namespace]

    def _full_name(self, name: ObjectName | str, namespace: str) -> ObjectName:
        if isinstance(name, str):
            # With a namespace this is a name, perhaps from a user. No valid name contains a slash.
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
