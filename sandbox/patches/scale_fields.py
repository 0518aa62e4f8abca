"""
Who owns the replicas: the managedFields of an object as its Scale has them, and the way back.

Follows: apimachinery pkg/util/managedfields/scalehandler.go. As there, a manager who got the replicas through
the Scale has no time, and of two entries of one manager that differ in nothing else one is lost at the next
write.
"""

from __future__ import annotations

from typing import Any

from handloop.sandbox.patches.field_set import FieldSet, difference, field_element, insert, intersection
from handloop.sandbox.patches.managed_fields import Managed, Owned, decode, encode

Entries = list[dict[str, Any]]

_SCALE_VERSION = "autoscaling/v1"
_IN_SCALE: FieldSet = {"f:spec": {"f:replicas": {}}}


def to_scale(entries: Any, path: str) -> Entries:
    """The managedFields of the Scale: who owns the field at path (`.spec.replicas`) owns its replicas."""
    wanted = _fields(path)
    owners = {
        manager: owned._replace(fields=_IN_SCALE, api_version=_SCALE_VERSION)
        for manager, owned in _decoded(entries).items()
        if intersection(owned.fields, wanted)
    }
    return encode(owners)


def to_parent(entries: Any, scale_entries: Any, path: str, api_version: str) -> Entries:
    """The managedFields of the object after a write of its Scale left scale_entries there."""
    wanted, parent, scale = _fields(path), _decoded(entries), _decoded(scale_entries)
    after: Managed = {}
    for manager, owned in parent.items():
        kept = owned
        if manager not in scale and intersection(owned.fields, wanted):
            kept = owned._replace(fields=difference(owned.fields, wanted))
        if kept.fields:
            after[manager] = kept
    new = {manager: Owned(wanted, api_version, None) for manager in scale if manager not in parent}
    return encode({**after, **new})


def _decoded(entries: Any) -> Managed:
    try:
        return decode(entries)
    except (AttributeError, ValueError):
        return {}


def _fields(path: str) -> FieldSet:
    fields: FieldSet = {}
    insert(fields, [field_element(part) for part in path.removeprefix(".").split(".")])
    return fields
