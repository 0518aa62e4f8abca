"""What the API reads: the state between two commits."""

from __future__ import annotations

import builtins
from collections.abc import Collection as AnyCollection
from typing import Protocol

from handloop.sandbox.storage.collection import Collection
from handloop.sandbox.storage.stored import Object, Stored
from handloop.sandbox.wire.resource import GroupResource


class State(Protocol):
    """Read access to everything stored; objects handed out are shared and must not be changed."""

    @property
    def resource_version(self) -> int:
        """The version of the newest change; the next one is one higher."""

    @property
    def compacted(self) -> int:
        """Versions below this one are gone, as after an etcd compaction."""

    def get(self, group_resource: GroupResource, namespace: str, name: str) -> Object | None:
        """One object, None when there is none."""

    def list(self, group_resource: GroupResource, namespace: str = "") -> builtins.list[Object]:
        """Every object of a kind in key order."""

    def count(self, group_resource: GroupResource) -> int:
        """How many objects of a kind there are."""

    def group_resources(self) -> AnyCollection[GroupResource]:
        """The collections that hold or held objects."""

    def by_owner(self, uid: str) -> builtins.list[tuple[GroupResource, Object]]:
        """The objects with an owner reference to that uid."""

    def by_uid(self, uid: str) -> tuple[GroupResource, Object] | None:
        """The object with that uid."""

    def stored(self, group_resource: GroupResource, namespace: str, name: str) -> Stored | None:
        """One object with its bytes."""

    def collection(self, group_resource: GroupResource) -> Collection:
        """A collection with its history; an empty one where nothing was ever stored."""
