"""
The usage of ResourceQuotas, and the controller that writes it to their status.

Follows: kubernetes pkg/controller/resourcequota, apiserver pkg/admission/plugin/resourcequota/controller.go.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, Final

from handloop_sandbox.cluster.cluster_controller import KeyedController, Pace, View, Write
from handloop_sandbox.cluster.pod_resources import Amounts, added
from handloop_sandbox.cluster.quota_usage import counted_collection, is_about, usage
from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.storage.state import State
from handloop_sandbox.storage.stored import Change, ChangeType, Object
from handloop_sandbox.wire.resource import GroupResource

QUOTAS: Final = GroupResource("", "resourcequotas")


def used(state: State, quota: Object, among: Container[str] | None = None) -> Amounts:
    """Return how much of a quota is used, by resource name. among, if given, restricts the names."""
    counted = (name for name in sorted(_hard(quota)) if among is None or name in among)
    names = {name: counted_collection(name) for name in counted}
    total: dict[str, str] = {name: "0" for name, collection in names.items() if collection is not None}
    for collection in {found for found in names.values() if found is not None}:
        objects = state.list(collection, quota["metadata"]["namespace"])
        amounts = added(usage(collection, obj) for obj in objects if is_about(quota, collection, obj))
        total |= {name: amount for name, amount in amounts.items() if names.get(name) == collection}
    return total


def exceeded(state: State, quota: Object, more: Amounts) -> Mapping[str, str] | None:
    """
    Check whether the additional use of `more` would exceed a quota.

    Returns: None if it would not; otherwise, the conflicting requested, used and limited amounts, as strings.
    """
    hard, present = _hard(quota), used(state, quota, among=more)  # no need to count pods for a ConfigMap
    beyond = [
        name
        for name, amount in sorted(more.items())
        if name in present
        and parse_quantity(present[name]) + parse_quantity(amount) > parse_quantity(str(hard[name]))
    ]
    if not beyond:
        return None
    amounts = {"requested": more, "used": present, "limited": hard}
    return {what: ",".join(f"{name}={of[name]}" for name in beyond) for what, of in amounts.items()}


def _hard(quota: Object) -> Mapping[str, Any]:
    hard: Mapping[str, Any] = (quota.get("spec") or {}).get("hard") or {}
    return hard


_REACTION_SECONDS = 0.1
_Key = tuple[str, str]


class ResourceQuotaController(KeyedController[_Key]):
    """
    Recalculates a quota's usage after any change in its namespace.

    State: _quotas holds the names of each namespace's quotas.
    """

    interests: frozenset[GroupResource] | None = None  # a quota can limit any collection

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
        # an update may change the usage too, for example when a pod finishes
        for name in self._quotas.get(namespace, ()):
            self._dirty.mark((namespace, name), now + self._pace.seconds(_REACTION_SECONDS))

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        del now
        quota = view.state.get(QUOTAS, *key)
        if quota is None:
            return []
        status = {"hard": _hard(quota), "used": used(view.state, quota)}
        if status == quota.get("status"):
            return []
        return [Write.of("update", QUOTAS, {**quota, "status": status}, subresource="status")]
