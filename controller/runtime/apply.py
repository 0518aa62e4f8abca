"""
Server-side apply of what a controller owns of an object, and whether there is anything to apply.

What a typed view does not say is left to others; what it said before and does not say any more is removed by
the server. An apply that changes nothing is still a request: is_applied spares it.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import msgspec

from apis.meta import Kind
from client.resource_client import PatchType, ResourceClient

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
# lists in which the API tells elements by one of these keys; in others the place counts
_LIST_KEYS: Final = ("name", "containerPort", "port", "type", "uid", "mountPath", "ip")


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
    Whether every field that desired says has that value already; fields it does not say do not count.

    A field that desired no longer says is not noticed: say it empty, or apply once per change of the owner.
    """
    return _covers(owned_fields(present), owned_fields(desired))


def _covers(present: Any, desired: Any) -> bool:
    if isinstance(desired, dict) and isinstance(present, dict):
        return all(key in present and _covers(present[key], value) for key, value in desired.items())
    if isinstance(desired, list) and isinstance(present, list):
        return _covers_list(present, desired)
    return bool(present == desired)


def _covers_list(present: list[Any], desired: list[Any]) -> bool:
    key = _list_key(desired)
    if key is None:
        return len(present) == len(desired) and all(map(_covers, present, desired))
    by_key = {element.get(key): element for element in present if isinstance(element, dict)}
    return all(element[key] in by_key and _covers(by_key[element[key]], element) for element in desired)


def _list_key(elements: list[Any]) -> str | None:
    for key in _LIST_KEYS:
        if elements and all(isinstance(element, dict) and key in element for element in elements):
            return key
    return None
