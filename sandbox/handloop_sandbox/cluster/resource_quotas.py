"""
ResourceQuotas: the count of objects, by `count/PLURAL.GROUP` or an older name, and its controller.

`exceeded` shows a create whether a quota allows it. The controller writes the used amounts into the status.
Follows: kubernetes pkg/controller/resourcequota, pkg/quota/v1/evaluator/core, apiserver's generic object
count evaluator. Differs: cpu, memory, storage and the kinds of Services are not counted; quotas with scopes
count nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.cluster.workloads import PODS, is_pod_finished
from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource

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
    """The collection that a resource name of a quota counts; None for a name that is not counted here."""
    if name in _OLDER_NAMES:
        return GroupResource("", name)
    if not name.startswith(_PREFIX):
        return None
    plural, _, group = name.removeprefix(_PREFIX).partition(".")
    return GroupResource(group, plural)


def used(state: State, namespace: str, quota: Object) -> dict[str, int]:
    """The count of everything that the quota names, by name in order."""
    names = sorted((quota.get("spec") or {}).get("hard") or {}) if _is_general(quota) else []
    collections = ((name, counted_collection(name)) for name in names)
    return {
        name: _count(state, namespace, name, collection)
        for name, collection in collections
        if collection is not None
    }


def exceeded(state: State, namespace: str, quota: Object, created: GroupResource) -> dict[str, str] | None:
    """
    The names for which one more object of a collection would be too many.

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
    # the older name leaves out finished pods, the newer one counts them
    left_out = collection == PODS and not name.startswith(_PREFIX)
    return sum(1 for obj in found if not (left_out and is_pod_finished(obj)))


_REACTION_SECONDS = 0.1
_Key = tuple[str, str]


class ResourceQuotaController(KeyedController[_Key]):
    """
    Counts again after changes in a namespace with quotas.

    State: _quotas has the names of the quotas of each namespace.
    """

    interests: frozenset[GroupResource] | None = None  # a quota may count any collection

    def __init__(self, pace: Pace) -> None:
        super().__init__(pace)
        self._quotas: dict[str, set[str]] = {}

    def _observe(self, view: View, change: Change, now: float) -> None:
        del view
        namespace = change.namespace
        if change.group_resource == QUOTAS:
            names = self._quotas.setdefault(namespace, set())
            if change.type is ChangeType.DELETED:
                names.discard(change.name)
            else:
                names.add(change.name)
        # a pod that was changed may have finished
        for name in self._quotas.get(namespace, ()):
            self._dirty.mark((namespace, name), now + self._pace.seconds(_REACTION_SECONDS))

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        del now
        quota = view.state.get(QUOTAS, *key)
        if quota is None:
            return []
        counts = {name: str(count) for name, count in used(view.state, key[0], quota).items()}
        status = {"hard": (quota.get("spec") or {}).get("hard") or {}, "used": counts}
        if status == quota.get("status"):
            return []
        return [Write.of("update", QUOTAS, {**quota, "status": status}, subresource="status")]
