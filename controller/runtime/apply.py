"""
Server-side apply of what a controller owns of an object, and whether there is anything to apply.

What a typed view does not say is left to others; what it said before and does not say any more is removed by
the server. An apply that changes nothing is still a request: is_applied spares it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar

import msgspec

from handloop.apis.meta import Kind
from handloop.apis.quantity import same_quantity
from handloop.client.resource_client import PatchType, ResourceClient

T = TypeVar("T", bound=Kind)

# what the server writes; an apply that names a version or UID is a precondition, and none is meant
_SERVERS: Final = (
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
)
# the way to a value: whether the kind is a built-in one, then fields; map keys and list places are left out
_Way = tuple[str, ...]
_BUILT_IN: Final = "built-in"
_CUSTOM: Final = "custom"

# the built-in groups with a dot, without .k8s.io
_GROUPS: Final = frozenset(
    {
        "admissionregistration",
        "apiextensions",
        "apiregistration",
        "authentication",
        "authorization",
        "certificates",
        "coordination",
        "discovery",
        "events",
        "flowcontrol.apiserver",
        "internal.apiserver",
        "networking",
        "node",
        "rbac.authorization",
        "resource",
        "scheduling",
        "storage",
        "storagemigration",
    }
)

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
# lists that an apply merges, and by what: these keys, or () the elements themselves; all others it replaces
_MERGED: Final[dict[_Way, tuple[str, ...]]] = {
    ("metadata", "ownerReferences"): ("uid",),
    ("metadata", "finalizers"): (),
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
# maps that an apply replaces as a whole, besides matchLabels, which belong to a selector that it replaces
_REPLACED_MAPS: Final = {("spec", "selector"), ("spec", "nodeSelector")}
# maps that everybody writes into: wanting none of one's own says nothing of the others
_SHARED_MAPS: Final = {("metadata", "labels"), ("metadata", "annotations")}
# what holds quantities, which the server stores in its own spelling
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


def owned_fields(obj: Kind) -> dict[str, Any]:
    """What to apply: the object as JSON, without status and what the server writes."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj))
    fields.pop("status", None)
    fields["metadata"] = {key: value for key, value in fields["metadata"].items() if key not in _SERVERS}
    return fields


def apply(client: ResourceClient[T], obj: T, *, field_manager: str, force: bool = True) -> T:
    """
    Create the object, or make the server's have the fields of this one.

    Args: force takes fields over that another manager set; without it that is a Conflict.
    Returns: what the server stored; its resource version is the old one when nothing changed.
    Raises: as ResourceClient.patch.
    """
    return client.patch(
        obj.metadata.name,
        owned_fields(obj),
        namespace=obj.metadata.namespace,
        patch_type=PatchType.APPLY,
        field_manager=field_manager,
        force=force,
    )


def is_applied(desired: Kind, present: Kind) -> bool:
    """
    Whether an apply of desired would change nothing, as far as the two can tell.

    Lists and maps count as an apply treats them: what it replaces must be equal; of what it merges, all that
    is wanted must be there, lists in that order. Lists of custom kinds are taken for replaced. What is said
    to be empty must be empty, but for labels and annotations, which belong to many.

    What equals its type's default is not said (omit_defaults): no apply sets it, and it is not compared. Give
    what must be so no default. An entry of a merged list or map that is no longer wanted is not noticed,
    either: apply once per change of the owner.
    """
    whose = _BUILT_IN if _is_built_in(desired.resource.group) else _CUSTOM
    return _covers(present, desired, owned_fields(desired), (whose,))


def _is_built_in(group: str) -> bool:
    """Not every group of k8s.io is: gateway.networking.k8s.io holds custom kinds, as ours of Foo does."""
    return "." not in group or group.removesuffix(".k8s.io") in _GROUPS


def _covers(present: Any, desired: Any, said: Any, way: _Way) -> bool:
    """Args: said is desired as it is sent, which tells what of it counts."""
    if isinstance(desired, msgspec.Struct):
        return isinstance(present, type(desired)) and _covers_fields(present, desired, said, way)
    if isinstance(desired, dict | list | tuple) and not (present or desired):
        return True  # absent is as good as empty
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
    return [(field.name, field.encode_name) for field in msgspec.structs.fields(struct)]


def _covers_map(present: dict[Any, Any], desired: dict[Any, Any], said: dict[str, Any], way: _Way) -> bool:
    if _is_whole(desired, way) and present.keys() != desired.keys():
        return False
    pairs = zip(desired.items(), said.values(), strict=True)
    return all(_covers(present.get(key), value, sent, way) for (key, value), sent in pairs)


def _is_whole(desired: dict[Any, Any], way: _Way) -> bool:
    """Whether nothing may be in a map but what is wanted."""
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
    fields = msgspec.to_builtins(element)
    return tuple(fields.get(key) or _KEY_DEFAULTS.get(key) for key in keys)


def _is_amount(way: _Way) -> bool:
    return _is_known(way) and any(pair in _AMOUNTS for pair in pairwise(way))


def _is_known(way: _Way) -> bool:
    """Whether the tables tell: built-in kinds, and of all kinds the metadata."""
    return way[0] == _BUILT_IN or way[1] == "metadata"
