"""
The aggregation of cluster roles. A role receives the rules of all roles that its aggregationRule selects.

Follows: kubernetes pkg/controller/clusterroleaggregation. Differs: it writes with updates, not with
server-side apply.
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.cluster.cluster_controller import KeyedController, View, Write
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.wire.label_selector import matches
from handloop_sandbox.wire.resource import GroupResource

CLUSTER_ROLES: Final = GroupResource("rbac.authorization.k8s.io", "clusterroles")
_REACTION_SECONDS: Final = 0.1


class RoleAggregationController(KeyedController[str]):
    """Updates the rules of aggregated roles after any cluster role has changed."""

    name = "clusterrole-aggregation-controller"
    interests: frozenset[GroupResource] | None = frozenset({CLUSTER_ROLES})

    def _observe(self, view: View, change: Change, now: float) -> None:
        del change
        for role in view.state.list(CLUSTER_ROLES):
            if role.get("aggregationRule"):
                self._dirty.mark(role["metadata"]["name"], now + self._pace.seconds(_REACTION_SECONDS))

    def _sync(self, view: View, key: str, now: float) -> list[Write]:
        del now
        role = view.state.get(CLUSTER_ROLES, "", key)
        selectors = ((role or {}).get("aggregationRule") or {}).get("clusterRoleSelectors") or []
        if role is None or not selectors:
            return []
        rules = _aggregated(view, key, selectors)
        if rules == (role.get("rules") or []) or not (rules or self._has_written(role)):
            return []
        return [Write.of("update", CLUSTER_ROLES, {**role, "rules": rules or None})]

    def _has_written(self, role: Object) -> bool:
        """Return whether this controller wrote the rules. Others' rules remain until a role is selected."""
        managers = role["metadata"].get("managedFields") or ()
        return any(entry["manager"] == self.name for entry in managers)


def _aggregated(view: View, name: str, selectors: list[Any]) -> list[Any]:
    """Return the selected roles' rules without duplicates, in the order of selectors and role names."""
    found: list[Any] = []
    for selector in selectors:
        for role in view.state.list(CLUSTER_ROLES):
            if role["metadata"]["name"] != name and matches(selector, role["metadata"].get("labels")):
                for rule in role.get("rules") or ():
                    if rule not in found:
                        found.append(rule)
    return found
