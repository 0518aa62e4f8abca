"""One version of one object, and the change that created it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from handloop_sandbox.wire.resource import GroupResource, ServedResource

Object = dict[str, Any]

_encode = msgspec.json.Encoder().encode


class ChangeType(StrEnum):
    """The kind of change to an object, as spelt in watch events."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


class Stored:
    """
    A stored object. It is never modified.

    object has the apiVersion of the storage version. tail is its JSON after `kind` and `apiVersion`
    (`"metadata":{...},...}`). Responses in any served version, list items and watch events are assembled from
    these bytes, so that no object is encoded twice. served caches the object in the version that was
    requested last; None in its place stands for this object itself. converted holds the conversion webhook's
    results, by version and by the definition's revision.
    """

    __slots__ = ("converted", "object", "rv", "served", "tail")

    def __init__(self, obj: Object, rv: int) -> None:
        self.object = obj
        self.rv = rv
        self.tail = tail_of(obj)
        self.served: tuple[ServedResource, Stored | None] | None = None
        self.converted: Mapping[tuple[Hashable, str], Stored | None] | None = None


def tail_of(obj: Object) -> bytes:
    """Return an object's JSON without the opening brace, the kind and the apiVersion."""
    rest = {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
    return _encode(rest)[1:]


def head_of(kind: str, api_version: str) -> bytes:
    """Return the JSON that precedes a tail."""
    return f'{{"kind":"{kind}","apiVersion":"{api_version}",'.encode()


def resource_head(resource: ServedResource) -> bytes:
    """Return the JSON that precedes the tail of a resource's objects."""
    return head_of(resource.kind, resource.api_version)


class Change:
    """
    One change in a collection's history.

    new is the object after the change. For DELETED, it is the last state with the deletion's resource
    version. old is the object before the change, or None for ADDED. Consecutive changes have consecutive
    resource versions.
    """

    __slots__ = ("group_resource", "name", "namespace", "new", "old", "rv", "type")

    def __init__(
        self, type_: ChangeType, group_resource: GroupResource, *, new: Stored, old: Stored | None
    ) -> None:
        metadata = new.object["metadata"]
        self.type = type_
        self.group_resource = group_resource
        self.namespace: str = metadata.get("namespace", "")
        self.name: str = metadata["name"]
        self.new = new
        self.old = old
        self.rv = new.rv

    @property
    def key(self) -> str:
        """The object's key in its collection."""
        return object_key(self.namespace, self.name)

    def __repr__(self) -> str:
        return f"Change({self.type} {self.group_resource} {self.key} @{self.rv})"


def object_key(namespace: str, name: str) -> str:
    """Return `namespace/name`, or only the name. Lists are in the order of these keys."""
    return f"{namespace}/{name}" if namespace else name
