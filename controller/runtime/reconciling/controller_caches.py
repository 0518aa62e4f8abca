"""
The caches that one controller reads.

If the controller watches a kind, it reads the caches of its own watches. It reads all other kinds from the
manager's caches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar

from handloop.apis.meta import Kind
from handloop.controller.runtime.caching.multi_namespace_informer import MultiNamespaceInformer
from handloop.controller.runtime.guards.own_writes import Mirror
from handloop.controller.runtime.sources.referred_objects import ReferredObjects
from handloop.informers.history_guard import is_older
from handloop.informers.keys import ObjectName
from handloop.informers.lister import Lister
from handloop.informers.selection import Labels, MetadataOnly, SeveralSelections

K = TypeVar("K", bound=Kind)


class SharedCaches(Protocol):
    """The caches of the process: a Manager."""

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """Return a lister for the cached objects of a selection; see Manager.lister_for."""

    def informer_of(self, group_resource: str) -> MultiNamespaceInformer[Any] | None:
        """Return the cache of all objects of a kind; see Manager.informer_of."""


class ControllerCaches:
    """Implements handloop.controller.runtime.reconciling.context.Listers. Threads: any thread can read."""

    def __init__(self, shared: SharedCaches, watched: Iterable[MultiNamespaceInformer[Any]]) -> None:
        """Args: watched has an informer for each kind and selection that the controller watches."""
        self._shared = shared
        self._referred: dict[type[Kind], ReferredObjects[Any]] = {}
        self._watched: dict[str, list[MultiNamespaceInformer[Any]]] = {}
        for informer in watched:
            self._watched.setdefault(informer.kind.resource.group_resource, []).append(informer)

    def lister_for(self, kind: type[K], *, labels: Labels = "", fields: str = "") -> Lister[K]:
        """
        Return a lister for the objects of a kind that the controller watches, or for a selection of a kind.

        Raises: SeveralSelections if the controller watches several selections of the kind but not all its
        objects, and the call gives neither labels nor fields; MetadataOnly if the controller watches only the
        metadata; any error that Manager.lister_for raises.
        """
        watched = self._watched.get(kind.resource.group_resource, ())
        own = [each for each in watched if each.kind is kind]
        if not own and any(getattr(each.kind, "whole", None) is kind for each in watched):
            raise MetadataOnly(kind)
        if labels or fields or not own:
            return self._shared.lister_for(kind, labels=labels, fields=fields)
        whole = [each for each in own if not each.selection]
        if len(own) > 1 and not whole:
            raise SeveralSelections(kind, own)
        return (whole or own)[0]

    def listers_of(self, kind: type[K]) -> Sequence[Lister[Any]]:
        """Return the controller's caches of a kind or, if it does not watch the kind, the manager's cache."""
        watched: Sequence[Lister[Any]] = self._watched.get(kind.resource.group_resource, ())
        return watched or [self._shared.lister_for(kind)]

    def refer_to(self, referred: ReferredObjects[Any]) -> None:
        """Add a kind to which the controller's objects refer."""
        self._referred[referred.kind] = referred

    def keep_cached(self) -> None:
        """Stop watching the objects to which no cached object refers anymore."""
        for referred in self._referred.values():
            referred.keep_cached()

    def referred(self, kind: type[K], name: ObjectName, *, owner: ObjectName) -> K | None:
        """
        Return the object with that name, to which owner refers, or None if it does not exist.

        Raises: LookupError if refers_to was not called for the kind; any error that ReferredObjects.get
        raises.
        Blocks: until the first list of the object has arrived, or for one request.
        """
        found: ReferredObjects[K] | None = self._referred.get(kind)
        if found is None:
            raise LookupError(f"the builder lacks a reference to this kind: .refers_to({kind.__name__}, ...)")
        return found.get(owner, name)

    def mirror(self, group_resource: str) -> Mirror | None:
        """Return the cache from which the controller reads a kind, or None if no cache has it."""
        own = self._watched.get(group_resource)
        if own is None:
            named = [each for each in self._referred.values() if _is_of(each.kind, group_resource)]
            return named[0] if named else self._shared.informer_of(group_resource)
        return own[0] if len(own) == 1 else _Several(own)

    def watches(self, group_resource: str) -> bool:
        """Return whether watch events of a kind reach the controller."""
        return group_resource in self._watched or any(_is_of(kind, group_resource) for kind in self._referred)


def _is_of(kind: type[Kind], group_resource: str) -> bool:
    return kind.resource.group_resource == group_resource


class _Several:
    """Several caches of a kind, each with a selection. They can hold different versions of one object."""

    def __init__(self, parts: Sequence[MultiNamespaceInformer[Any]]) -> None:
        self.kind = parts[0].kind
        self._parts = parts

    def get_by_key(self, key: str) -> Kind | None:
        """Return the oldest version of an object in these caches. None of the others has an older one."""
        oldest: Kind | None = None
        for found in filter(None, (part.get_by_key(key) for part in self._parts)):
            version = found.metadata.resource_version
            if oldest is None or is_older(version, oldest.metadata.resource_version):
                oldest = found
        return oldest

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        """Return whether all of these caches have seen the version."""
        return all(part.has_seen(namespace, resource_version) for part in self._parts)

    def would_hold(self, body: bytes) -> bool:
        """Return whether at least one of these caches would store the object."""
        return any(part.would_hold(body) for part in self._parts)
