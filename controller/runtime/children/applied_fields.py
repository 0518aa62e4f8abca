"""
Decide whether to send an apply, given the desired object, the stored object, and the controller's last apply.

A cached object shows its fields, but not which manager set each of them. Besides the desired keys, it can
contain a key that we applied earlier, such as a revoked key of a Secret. The server records the managers in
managedFields, but caches drop managedFields because they are as large as the object. A controller therefore
remembers what it applied last. If an earlier process applied an object, the controller reads the object from
the server once.

The remembered apply also shows when another apply would change nothing although the stored object differs
from the desired one: the server may have omitted zeros or normalized a value, or an admission policy may have
changed it. In these cases, the object has not changed since the last apply.

When the stored object changes, it is read from the server again, because a delayed write by a former leader
or an earlier process may have restored a revoked key.
Decision: A controller removes the fields that it no longer wants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec
from cachetools import LRUCache

from handloop.apis.declaration import fields_of, is_built_in
from handloop.apis.grammar.quantity import same_quantity
from handloop.apis.meta import Kind, encode_hook
from handloop.apis.resource import Resource
from handloop.apis.unstructured import Unstructured, json_of
from handloop.client.errors import Forbidden, NotFound
from handloop.client.resource_client import Client
from handloop.informers.keys import ObjectName
from handloop.seams.locks import new_lock

# The server writes these fields, so an apply omits them. A version or UID would be a precondition.
_SERVERS: Final = (
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
)
Fields: TypeAlias = dict[str, Any]
"""The fields that an apply sends: an object as JSON, without status and the fields that the server writes."""


# The path to a value: built-in or custom kind, then field names, without map keys and list indexes.
_Way = tuple[str, ...]
_BUILT_IN: Final = "built-in"
_CUSTOM: Final = "custom"

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
# An apply merges these lists by the given keys (or by whole elements if () is given). It replaces all other
# lists.
_MERGED: Final[dict[_Way, tuple[str, ...]]] = {
    ("metadata", "ownerReferences"): ("uid",),
    ("metadata", "finalizers"): (),
    ("built-in", "webhooks"): ("name",),
    ("webhooks", "matchConditions"): ("name",),
    ("spec", "matchConditions"): ("name",),
    ("spec", "validationActions"): (),
    **{("spec", name): ("name",) for name in _CONTAINERS},
    **{
        ("spec", name): ("name",)
        for name in ("volumes", "imagePullSecrets", "resourceClaims", "schedulingGates")
    },
    ("spec", "hostAliases"): ("ip",),
    ("spec", "topologySpreadConstraints"): ("topologyKey", "whenUnsatisfiable"),
    **{(name, "env"): ("name",) for name in _CONTAINERS},
    **{(name, "ports"): ("containerPort", "protocol") for name in _CONTAINERS},
    **{(name, "volumeMounts"): ("mountPath",) for name in _CONTAINERS},
    **{(name, "volumeDevices"): ("devicePath",) for name in _CONTAINERS},
    ("resources", "claims"): ("name",),
    ("exitCodes", "values"): (),
    ("onExitCodes", "values"): (),
    ("spec", "ports"): ("port", "protocol"),
    (_BUILT_IN, "secrets"): ("name",),
}
_KEY_DEFAULTS: Final = {"protocol": "TCP"}
# An apply replaces these maps as a whole. matchLabels is not listed, because its whole selector is replaced.
_REPLACED_MAPS: Final = {("spec", "selector"), ("spec", "nodeSelector"), ("scheduling", "nodeSelector")}
# Many managers write to these maps, so an empty wanted map does not remove the others' entries.
_SHARED_MAPS: Final = {("metadata", "labels"), ("metadata", "annotations")}
# These fields contain quantities, which the server stores in its own spelling.
_AMOUNTS: Final = {
    ("resources", "limits"),
    ("resources", "requests"),
    *(("limits", name) for name in ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")),
    ("spec", "hard"),
    ("spec", "capacity"),
    ("spec", "overhead"),
    ("overhead", "podFixed"),
    ("emptyDir", "sizeLimit"),
    ("resourceFieldRef", "divisor"),
    ("target", "value"),
    ("target", "averageValue"),
}

REMEMBERED: Final = 50_000
"""How many objects a controller remembers. It reads a forgotten object from the server again."""

_ABSENT: Final = object()


class LastApply(NamedTuple):
    """
    One apply: the name whose reconcile sent it, and the UID of the object that it was sent to.

    Fields: resource_version, the version that the server stored; wanted, a hash of the fields that were sent;
    made, a hash of their stored values; left, a hash of the whole stored object.
    """

    reconciled: ObjectName
    uid: str
    wanted: int
    resource_version: str
    made: int
    left: int

    def was_of(self, said: Fields) -> bool:
        """Return whether exactly these fields were sent."""
        return self.wanted == _digest(said)

    def has_made(self, said: Fields, present: Kind) -> bool:
        """Return whether the stored values of these fields are still the ones that the apply produced."""
        return self._is_version_of(present) or self.made == _digest_of_ours(said, owned_fields(present))

    def is_all_of(self, present: Kind) -> bool:
        """
        Return True if no field has been written since the apply.

        A new resource version alone does not count, because a status update creates one, too.
        """
        return self._is_version_of(present) or self.left == _digest_of_all(present)

    def _is_version_of(self, present: Kind) -> bool:
        return self.resource_version == present.metadata.resource_version


class AppliedFields:
    """
    The last apply that one controller sent to each object.

    State, under _lock: _last, which maps each object to its last apply; _owned, those kinds given to owns()
    whose applies have all named an owner so far. Threads: the workers call the methods.
    Locks: _lock is a leaf: no other lock is acquired while it is held.
    """

    def __init__(self, *, owned: Iterable[str] = ()) -> None:
        """Args: owned are the kinds given to owns(), as `plural.group`."""
        self._lock = new_lock("AppliedFields._lock", 95)
        self._last: LRUCache[tuple[str, str, str], LastApply] = LRUCache(REMEMBERED)
        self._owned = set(owned)

    def lacks_owner(self, resource: str) -> bool:
        """Record an apply without an owner. Return True for the first one of each kind given to owns()."""
        with self._lock:
            is_first = resource in self._owned
            self._owned.discard(resource)
        return is_first

    def remember(self, wanted: Kind, stored: Kind, *, reconciled: ObjectName) -> None:
        """Record that the server applied `wanted`, a child of `reconciled`, and returned `stored`."""
        metadata, said = stored.metadata, owned_fields(wanted)
        applied = LastApply(
            reconciled,
            metadata.uid,
            _digest(said),
            metadata.resource_version,
            _digest_of_ours(said, owned_fields(stored)),
            _digest_of_all(stored),
        )
        with self._lock:
            self._last[_place(wanted)] = applied

    def forget_names(self, gone: Callable[[ObjectName], bool]) -> None:
        """Forget the children of names that another replica takes over, because it may apply them, too."""
        with self._lock:
            entries = list(self._last.items())
        # Call gone without holding the lock, because it may acquire a lock itself.
        places = [place for place, last in entries if gone(last.reconciled)]
        with self._lock:
            for place in places:
                self._last.pop(place, None)

    def forget(self, wanted: Kind) -> None:
        """Record that an apply failed. Afterwards, it is unknown which fields were applied last."""
        with self._lock:
            self._last.pop(_place(wanted), None)

    def is_as_wanted(
        self, wanted: Kind, present: Kind, *, client: Client, manager: str, reconciled: ObjectName
    ) -> bool:
        """
        Return True if it is known that applying `wanted` to `present` would change nothing.

        Returns: False, too, if the object must be read from the server, but is missing or may not be read.
        Raises: the other errors of ResourceClient.get.
        Blocks: for one request, if this process has not applied the object, or if another client has changed
        it since.
        """
        said = owned_fields(wanted)
        with self._lock:
            last = self._last.get(_place(wanted))
        if last is not None and last.uid != present.metadata.uid:
            last = None
        if not holds(present, wanted, said):
            # The server spells a value differently, or a policy changed it and would change it again.
            return last is not None and last.was_of(said) and last.has_made(said, present)
        if last is not None:
            if not last.was_of(said):
                return False  # the apply has to remove a field of ours
            if last.is_all_of(present):
                return True
        if not _are_all_wanted(said, _live_fields(wanted, client, manager)):
            return False
        self.remember(wanted, present, reconciled=reconciled)
        return True


def _live_fields(wanted: Kind, client: Client, manager: str) -> list[Mapping[str, Any]] | None:
    """Return the fields that the manager applied, according to the server, or None if they cannot be read."""
    metadata = wanted.metadata
    objects = client.for_resource(wanted.resource)
    try:
        live = objects.get(metadata.name, namespace=metadata.namespace).content()
    except (Forbidden, NotFound):
        return None
    return [
        entry.get("fieldsV1", {})
        for entry in live["metadata"].get("managedFields", ())
        if entry.get("manager") == manager and entry.get("operation") == "Apply"
    ]


def _are_all_wanted(said: Fields, applied: list[Mapping[str, Any]] | None) -> bool:
    return applied is not None and not any(leaves_out(said, owned) for owned in applied)


def leaves_out(said: Any, owned: Mapping[str, Any]) -> bool:
    """
    Return whether the desired fields lack a field that a manager owns.

    Args: said contains the desired fields as JSON. owned has the format FieldsV1: `f:` marks a field, `k:` a
    list entry that is identified by its keys, and `v:` an entry of a set.
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
        # In another version of the kind, the entries may be other than maps.
        maps = (entry for entry in entries if isinstance(entry, dict))
        # An omitted key has its default value, for example a port's protocol.
        same = (entry for entry in maps if all(entry.get(name, keys[name]) == keys[name] for name in keys))
        return next(same, _ABSENT)
    return said


def _place(obj: Kind) -> tuple[str, str, str]:
    resource: Resource = obj.resource
    return resource.group_resource, obj.metadata.namespace, obj.metadata.name


def _digest(said: Fields) -> int:
    return hash(msgspec.json.encode(said, order="sorted"))


def _digest_of_all(obj: Kind) -> int:
    """Return a digest of all fields that an apply can send, and of generation, which reflects the others."""
    return hash((_digest(owned_fields(obj)), obj.metadata.generation))


def _digest_of_ours(said: Fields, there: Fields) -> int:
    """
    Return a digest of the live values of the wanted fields.

    Other fields of the same object or list entry are omitted: a scheduler or another controller sets them,
    and an apply does not change them. An apply must not send them either, because the server may refuse them,
    or store a port with protocol "" as a new entry every time.
    """
    return _digest(_ours(said, there))


def _ours(said: Any, there: Any) -> Any:
    """Return `there` with only the fields that `said` has. A list of a different length is kept whole."""
    if isinstance(said, dict) and isinstance(there, dict):
        return {key: _ours(value, there[key]) for key, value in said.items() if key in there}
    if isinstance(said, list) and isinstance(there, list) and len(said) == len(there):
        return [_ours(*pair) for pair in zip(said, there, strict=True)]
    return there


def owned_fields(obj: Kind) -> Fields:
    """Return the fields to apply: the object as JSON, without status and the server's own fields."""
    fields: Fields = msgspec.json.decode(json_of(obj))
    fields.pop("status", None)
    fields["metadata"] = {key: value for key, value in fields["metadata"].items() if key not in _SERVERS}
    return fields


def is_applied(desired: Kind, present: Kind) -> bool:
    """
    Return whether applying desired would change nothing, as far as the two objects show.

    Lists and maps are compared as an apply treats them. If an apply replaces a list or map, the two must be
    equal. If it merges them, all desired entries must be present, and list entries in the same order. Lists
    of custom kinds are treated as replaced. An empty list or map must be empty in present, except for labels
    and annotations, which many managers share.

    Values that are not sent are not compared: None, empty values, and the defaults of a type that omits them.
    An entry of a merged list or map that is no longer desired is not detected here either. Context.apply
    detects it with AppliedFields.
    """
    return holds(present, desired, owned_fields(desired))


def holds(present: Kind, desired: Kind, said: Fields) -> bool:
    """Return the same as is_applied. Args: said is the result of owned_fields(desired)."""
    whose = _BUILT_IN if is_built_in(desired.resource.group) else _CUSTOM
    if not isinstance(desired, Unstructured) or not isinstance(present, Unstructured):
        return _covers(present, desired, said, (whose,))
    there = present.content()
    return _covers(present.metadata, desired.metadata, said["metadata"], (whose, "metadata")) and all(
        _covers(there.get(key), value, value, (whose, key))
        for key, value in said.items()
        if key != "metadata"
    )


def _covers(present: Any, desired: Any, said: Any, way: _Way) -> bool:
    """
    Return whether `present` already has the values of `desired`, which is one part of an object.

    Args: said is desired as JSON, with exactly the fields to compare.
    """
    if isinstance(desired, msgspec.Struct):
        return isinstance(present, type(desired)) and _covers_fields(present, desired, said, way)
    if isinstance(desired, dict | list | tuple) and not (present or desired):
        return True  # absent counts as empty
    if isinstance(desired, dict):
        return isinstance(present, dict) and _covers_map(present, desired, said, way)
    if isinstance(desired, list | tuple):
        return isinstance(present, list | tuple) and _covers_list(present, desired, said, way)
    return bool(present == desired) or (_is_amount(way) and same_quantity(str(present), str(desired)))


def _covers_fields(present: Any, desired: msgspec.Struct, said: dict[str, Any], way: _Way) -> bool:
    return all(
        _covers(getattr(present, name), getattr(desired, name), said[key], (*way, key))
        for name, key in _names(desired)
        if key in said
    )


def _names(struct: msgspec.Struct) -> list[tuple[str, str]]:
    return [(field.name, field.encode_name) for field in fields_of(type(struct)).values()]


def _covers_map(present: dict[Any, Any], desired: dict[Any, Any], said: dict[str, Any], way: _Way) -> bool:
    if _is_whole(desired, way) and present.keys() != desired.keys():
        return False
    pairs = zip(desired.items(), said.values(), strict=True)
    return all(_covers(present.get(key), value, sent, way) for (key, value), sent in pairs)


def _is_whole(desired: dict[Any, Any], way: _Way) -> bool:
    """Return True if the map must contain exactly the desired entries."""
    if way[-2:] in _SHARED_MAPS:
        return False
    return not desired or way[-1] == "matchLabels" or (way[-2:] in _REPLACED_MAPS and _is_known(way))


def _covers_list(present: Sequence[Any], desired: Sequence[Any], said: list[Any], way: _Way) -> bool:
    keys = _MERGED.get(way[-2:]) if _is_known(way) else None
    if keys is not None and desired:
        wanted = [_key(each, keys) for each in desired]
        present = [each for each in present if _key(each, keys) in wanted]
        if [_key(each, keys) for each in present] != wanted:
            return False
    if len(present) != len(desired):
        return False
    return all(_covers(*each, way) for each in zip(present, desired, said, strict=True))


def _key(element: Any, keys: tuple[str, ...]) -> Any:
    if not keys:
        return element
    fields = msgspec.to_builtins(element, enc_hook=encode_hook)
    return tuple(fields.get(key) or _KEY_DEFAULTS.get(key) for key in keys)


def _is_amount(way: _Way) -> bool:
    return _is_known(way) and any(pair in _AMOUNTS for pair in pairwise(way))


def _is_known(way: _Way) -> bool:
    """Return whether the tables above apply: to values of built-in kinds, and of any kind's metadata."""
    return way[0] == _BUILT_IN or way[1] == "metadata"
