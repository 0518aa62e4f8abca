"""
Fields that a controller applied earlier and wants no longer, such as a revoked key of a Secret.

A cached object shows fields, not who wants them: beside a wanted key there may be one of ours from
before. The server knows, in managedFields, which caches leave out: they are as large as the object. So a
controller remembers what it applied last, and asks the server once for each object of an earlier process.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from cachetools import LRUCache

from handloop.apis.meta import Kind
from handloop.apis.resource import Resource
from handloop.client.errors import Forbidden, NotFound
from handloop.client.resource_client import Client
from handloop.controller.runtime.apply import owned_fields
from handloop.seams.locks import new_lock

REMEMBERED: Final = 50_000
"""Objects that a controller remembers; for one that it forgot it asks again."""

_ABSENT: Final = object()


class AppliedFields:
    """
    The last apply of each object, by one controller.

    State, under _lock, a leaf: _last = object -> its UID and a hash of the applied fields; _owned, the kinds
    with owners of which every apply so far had one. Threads: workers.
    """

    def __init__(self, *, owned: Iterable[str] = ()) -> None:
        """Args: owned are the kinds with owners, as `plural.group`."""
        self._lock = new_lock("AppliedFields._lock", 95)
        self._last: LRUCache[tuple[str, str, str], tuple[str, int]] = LRUCache(REMEMBERED)
        self._owned = set(owned)

    def lacks_owner(self, resource: str) -> bool:
        """Whether an apply of that kind without an owner is the first one of a kind with owners."""
        with self._lock:
            is_first = resource in self._owned
            self._owned.discard(resource)
        return is_first

    def remember(self, wanted: Kind, uid: str) -> None:
        """The server has applied these fields to the object of that UID."""
        applied = uid, _digest(wanted)
        with self._lock:
            self._last[_place(wanted)] = applied

    def forget(self, wanted: Kind) -> None:
        """An apply has failed: without its answer the last applied fields are unknown."""
        with self._lock:
            self._last.pop(_place(wanted), None)

    def are_all_wanted(self, wanted: Kind, present: Kind, *, client: Client, manager: str) -> bool:
        """
        Whether no field that we applied to present earlier is missing in wanted.

        Raises: as ResourceClient.get. Without the permission to get the object the answer is no, once.
        Blocks: for one request, if this process has not applied the object.
        """
        uid = present.metadata.uid
        with self._lock:
            last = self._last.get(_place(wanted))
        if last is None or last[0] != uid:
            if not self._live_fields_are_wanted(wanted, client, manager):
                return False
            self.remember(wanted, uid)
            return True
        return last[1] == _digest(wanted)

    def _live_fields_are_wanted(self, wanted: Kind, client: Client, manager: str) -> bool:
        metadata = wanted.metadata
        objects = client.for_resource(wanted.resource)
        try:
            live = objects.get(metadata.name, namespace=metadata.namespace).content()
        except (Forbidden, NotFound):
            return False
        return not any(
            leaves_out(owned_fields(wanted), entry.get("fieldsV1", {}))
            for entry in live["metadata"].get("managedFields", ())
            if entry.get("manager") == manager and entry.get("operation") == "Apply"
        )


def leaves_out(said: Any, owned: Mapping[str, Any]) -> bool:
    """
    Whether fields lack one that is owned.

    Args: said is an object as JSON; owned is a FieldsV1: `f:` a field, `k:` an entry of a list by its keys,
    `v:` an entry of a set.
    """
    parts = ((_part(said, key), below) for key, below in owned.items() if key != ".")
    return any(part is _ABSENT or leaves_out(part, below) for part, below in parts)


def _part(said: Any, key: str) -> Any:
    how, _, what = key.partition(":")
    if how == "f":
        return said.get(what, _ABSENT) if isinstance(said, dict) else _ABSENT
    entries = said if isinstance(said, list) else []
    if how == "v":
        return next((entry for entry in entries if entry == msgspec.json.decode(what)), _ABSENT)
    if how == "k":
        keys = msgspec.json.decode(what)
        # a key that is left out has its default, such as the protocol of a port
        same = (entry for entry in entries if all(entry.get(name, keys[name]) == keys[name] for name in keys))
        return next(same, _ABSENT)
    return said


def _place(obj: Kind) -> tuple[str, str, str]:
    resource: Resource = obj.resource
    return resource.group_resource, obj.metadata.namespace, obj.metadata.name


def _digest(obj: Kind) -> int:
    return hash(msgspec.json.encode(owned_fields(obj), order="sorted"))
