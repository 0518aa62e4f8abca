"""
Finding the events of one object: a field selector for list and watch.

Follows: client-go tools/events/helper.go (GetFieldSelector).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handloop.apis.resource import GroupVersionKind

_PREFIXES: Final[Mapping[str, str]] = {
    "v1": "involvedObject",
    "events.k8s.io/v1": "regarding",
    "events.k8s.io/v1beta1": "regarding",
}


def event_field_selector(
    api_version: str, *, kind: GroupVersionKind | None = None, name: str = "", uid: str = ""
) -> str:
    """
    Selects the events about what has that kind, name and UID; what is not said may be anything.

    Args: api_version is that of the events: `v1` or `events.k8s.io/v1`.
    Raises: ValueError for an api_version that has no events.
    """
    if api_version not in _PREFIXES:
        raise ValueError(f"unknown version {api_version}")
    fields = {
        "apiVersion": "" if kind is None else kind.api_version,
        "kind": "" if kind is None else kind.kind,
        "name": name,
        "uid": uid,
    }
    prefix = _PREFIXES[api_version]
    return ",".join(f"{prefix}.{field}={_escaped(value)}" for field, value in fields.items() if value)


def _escaped(value: str) -> str:
    return "".join(f"\\{character}" if character in "\\,=" else character for character in value)
