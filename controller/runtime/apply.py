"""
Server-side apply of the fields that a controller owns, and whether there is anything to apply.

An apply leaves fields that the typed view does not set to other managers. A field that an earlier apply set
and this one does not, the server removes. An apply that changes nothing is still a request: is_applied spares
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar

import msgspec

from handloop.apis.declaration import fields_of, is_built_in
from handloop.apis.meta import Kind, encode_hook
from handloop.apis.quantity import same_quantity
from handloop.client.resource_client import PatchType, ResourceClient

T = TypeVar("T", bound=Kind)

# fields that the server writes; a version or UID in an apply would be a precondition
_SERVERS: Final = (
    "resourceVersion",
    "uid",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
)
NO_PRECONDITION: Final[Mapping[str, str]] = {}
ABSENT: Final[Mapping[str, str]] = {"resourceVersion": "1"}
"""
The precondition of an apply that creates: there is no object.

No object has that version, for an API server's first write makes a later one; of an object that it creates,
the server ignores the version.
"""

# the way to a value: built-in or custom kind, then field names; map keys and list indexes are left out
_Way = tuple[str, ...]
_BUILT_IN: Final = "built-in"
_CUSTOM: Final = "custom"

_CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")
# lists that an apply merges, with their keys, () = the elements themselves; it replaces all other lists
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
# maps that an apply replaces as a whole, besides matchLabels: an apply replaces their whole selector
_REPLACED_MAPS: Final = {("spec", "selector"), ("spec", "nodeSelector")}
# maps that many managers write into: an empty map here does not demand that foreign entries go
_SHARED_MAPS: Final = {("metadata", "labels"), ("metadata", "annotations")}
# fields that hold quantities, which the server stores in its own spelling
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
    """The fields to apply: the object as JSON, without status and the fields that the server writes."""
    fields: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(obj, enc_hook=encode_hook))
    fields.pop("status", None)
    fields["metadata"] = {key: value for key, value in fields["metadata"].items() if key not in _SERVERS}
    return fields


def apply(
    client: ResourceClient[T],
    obj: T,
    *,
    field_manager: str,
    force: bool = True,
    precondition: Mapping[str, str] = NO_PRECONDITION,
) -> T:
    """
    Create the object, or set these fields in the server's object.

    Args: force takes over fields of other managers; without it such a field is a Conflict. precondition is
    ABSENT, or the uid or resourceVersion that the server's object must have.
    Returns: the stored object; its resource version is the old one when nothing changed.
    Raises: as ResourceClient.patch; for an unmet precondition Conflict, or Invalid for an object of another
    uid.
    """
    fields = owned_fields(obj)
    fields["metadata"] |= precondition
    return client.patch(
        obj.metadata.name,
        fields,
        namespace=obj.metadata.namespace,
        patch_type=PatchType.APPLY,
        field_manager=field_manager,
        force=force,
    )


def is_applied(desired: Kind, present: Kind) -> bool:
    """
    Whether an apply of desired would change nothing, as far as the two can tell.

    Lists and maps are compared as an apply treats them. A list or map that it replaces must be equal. In one
    that it merges, all desired entries must be present, lists in that order. Lists of custom kinds count as
    replaced. An empty list or map must be empty in present, except labels and annotations, which many
    managers share.

    Unsent values are not compared: None, empty values, and the defaults of a type that leaves them out. An
    entry of a merged list or map that is no longer desired is not noticed, either: Context.apply notices it,
    by AppliedFields.
    """
    whose = _BUILT_IN if is_built_in(desired.resource.group) else _CUSTOM
    return _covers(present, desired, owned_fields(desired), (whose,))


def _covers(present: Any, desired: Any, said: Any, way: _Way) -> bool:
    """Args: said is desired as JSON, which holds the fields that count."""
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
    """Whether a map may hold nothing but the desired entries."""
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
    """Whether the tables above apply: to built-in kinds, and to the metadata of all kinds."""
    return way[0] == _BUILT_IN or way[1] == "metadata"
