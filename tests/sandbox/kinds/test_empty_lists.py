from __future__ import annotations

from typing import Any

from handloop.sandbox.kinds.empty_lists import as_stored
from support.builtin import builtin

_ROLES = builtin("rbac.authorization.k8s.io", "roles")
_RANGES = builtin("", "limitranges")
_DEFINITIONS = builtin("apiextensions.k8s.io", "customresourcedefinitions")


def test_empty_lists_are_none() -> None:
    """What Go never omits is null when it is empty; nothing else changes."""
    role: dict[str, Any] = {"metadata": {}, "rules": []}
    assert as_stored(_ROLES, role) == {"metadata": {}, "rules": None}
    assert role["rules"] == []
    assert as_stored(_RANGES, {"spec": {"limits": []}}) == {"spec": {"limits": None}}
    full = {"rules": [{"verbs": ["get"]}]}
    assert as_stored(_ROLES, full) is full


def test_definitions_keep_theirs() -> None:
    """A definition is stored as JSON."""
    definition: dict[str, Any] = {"spec": {"versions": []}}
    assert as_stored(_DEFINITIONS, definition) is definition
