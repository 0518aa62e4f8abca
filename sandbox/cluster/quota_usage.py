"""
What a ResourceQuota counts: objects, by `count/PLURAL.GROUP` or one of the older names.

Follows: kubernetes pkg/quota/v1/evaluator/core and apiserver's generic object count evaluator; differs: cpu,
memory, storage and the kinds of Services are not counted, quotas with scopes count nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handloop.apis.quantity import parse_quantity
from handloop.sandbox.cluster.workloads import PODS, is_pod_finished
from handloop.sandbox.storage.state import State
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.wire.resource import GroupResource

QUOTAS: Final = GroupResource("", "resourcequotas")
_PREFIX: Final = "count/"
_OLDER_NAMES: Final = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
    }
)


def counted_collection(name: str) -> GroupResource | None:
    """The collection that a resource name of a quota counts; None for one that is not counted here."""
    if name in _OLDER_NAMES:
        return GroupResource("", name)
    if not name.startswith(_PREFIX):
        return None
    plural, _, group = name.removeprefix(_PREFIX).partition(".")
    return GroupResource(group, plural)


def used(state: State, namespace: str, quota: Object) -> dict[str, int]:
    """How many there are of everything the quota counts, by name in order."""
    names = sorted((quota.get("spec") or {}).get("hard") or {}) if _is_general(quota) else []
    collections = ((name, counted_collection(name)) for name in names)
    return {
        name: _count(state, namespace, name, collection)
        for name, collection in collections
        if collection is not None
    }


def exceeded(state: State, namespace: str, quota: Object, created: GroupResource) -> dict[str, str] | None:
    """
    What one more object of a collection would be too many for.

    Returns: None when it may be created, else requested, used and limited amounts as texts.
    """
    hard: Mapping[str, Any] = (quota.get("spec") or {}).get("hard") or {}
    counts = {
        name: count
        for name, count in used(state, namespace, quota).items()
        if counted_collection(name) == created and count + 1 > parse_quantity(str(hard[name]))
    }
    if not counts:
        return None
    return {
        "requested": ",".join(f"{name}=1" for name in counts),
        "used": ",".join(f"{name}={count}" for name, count in counts.items()),
        "limited": ",".join(f"{name}={hard[name]}" for name in counts),
    }


def _is_general(quota: Object) -> bool:
    spec = quota.get("spec") or {}
    return not spec.get("scopes") and not spec.get("scopeSelector")


def _count(state: State, namespace: str, name: str, collection: GroupResource) -> int:
    found = state.list(collection, namespace)
    # finished pods do not count by the older name, all of them do by the newer one
    left_out = collection == PODS and not name.startswith(_PREFIX)
    return sum(1 for obj in found if not (left_out and is_pod_finished(obj)))
