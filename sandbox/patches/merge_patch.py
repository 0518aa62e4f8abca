"""
JSON merge patch as the API server applies it.

Follows: RFC 7386 and gopkg.in/evanphx/json-patch.v4 merge.go, which differs in one point: a list that
replaces an object keeps the nulls inside its elements.
"""

from __future__ import annotations

from typing import Any


def merge_patch(current: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The object with the patch merged in: null removes a member, objects merge, everything else replaces."""
    merged = dict(current)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
            continue
        old = merged.get(key)
        if not isinstance(old, dict):
            merged[key] = without_nulls(value)
        elif isinstance(value, dict):
            merged[key] = merge_patch(old, value)
        else:
            merged[key] = value
    return merged


def without_nulls(value: Any) -> Any:
    """A value without members that are null, at any depth; null elements of lists stay."""
    if isinstance(value, dict):
        return {key: without_nulls(child) for key, child in value.items() if child is not None}
    if isinstance(value, list):
        return [without_nulls(child) for child in value]
    return value
