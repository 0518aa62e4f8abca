"""
The disruption controller: it calculates how many pods of a PodDisruptionBudget can be evicted.

Follows: kubernetes pkg/controller/disruption. Differs: percentages and maxUnavailable refer to the existing
pods, not to the number of replicas that their controllers want; evicted pods are not tracked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from handloop_sandbox.cluster.cluster_controller import KeyedController, View, Write
from handloop_sandbox.cluster.workloads import PODS, condition, is_pod_active, is_pod_ready
from handloop_sandbox.grammar.times import format_time
from handloop_sandbox.storage.stored import Change, Object
from handloop_sandbox.wire.label_selector import matches
from handloop_sandbox.wire.resource import GroupResource

BUDGETS = GroupResource("policy", "poddisruptionbudgets")

_REACTION_SECONDS = 0.05
_Key = tuple[str, str]


class DisruptionController(KeyedController[_Key]):
    """Updates a budget's status after the budget or one of its pods has changed."""

    interests: frozenset[GroupResource] | None = frozenset({BUDGETS, PODS})

    def _observe(self, view: View, change: Change, now: float) -> None:
        due = now + self._pace.seconds(_REACTION_SECONDS)
        if change.group_resource == BUDGETS:
            self._dirty.mark((change.namespace, change.name), due)
            return
        versions = [version.object for version in (change.new, change.old) if version]
        for budget in view.state.list(BUDGETS, change.namespace):
            selector = budget["spec"].get("selector")
            if any(matches(selector, version["metadata"].get("labels")) for version in versions):
                self._dirty.mark((change.namespace, budget["metadata"]["name"]), due)

    def _sync(self, view: View, key: _Key, now: float) -> list[Write]:
        budget = view.state.get(BUDGETS, *key)
        if budget is None:
            return []
        pods = [pod for pod in view.state.list(PODS, key[0]) if _is_covered(budget, pod)]
        status = _status(budget, pods, format_time(now))
        if status == budget.get("status"):
            return []
        return [Write.of("update", BUDGETS, {**budget, "status": status}, subresource="status")]


def _is_covered(budget: Object, pod: Object) -> bool:
    selected = matches(budget["spec"].get("selector"), pod["metadata"].get("labels"))
    return selected and is_pod_active(pod)


def _status(budget: Object, pods: Sequence[Object], now: str) -> dict[str, Any]:
    expected = len(pods)
    healthy = sum(1 for pod in pods if is_pod_ready(pod))
    desired = _desired(budget["spec"], expected)
    allowed = max(0, healthy - desired)
    return {
        "observedGeneration": budget["metadata"].get("generation", 0),
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": expected,
        "conditions": [_condition(budget, allowed=allowed > 0, now=now)],
    }


def _desired(spec: Object, expected: int) -> int:
    """Return how many pods must stay healthy."""
    if spec.get("maxUnavailable") is not None:
        return max(0, expected - _share(spec["maxUnavailable"], expected))
    return _share(spec.get("minAvailable", 1), expected)


def _share(value: int | str, of: int) -> int:
    """Return a number unchanged, or a percentage of `of`, rounded up."""
    return math.ceil(int(value[:-1]) * of / 100) if isinstance(value, str) else value


def _condition(budget: Object, *, allowed: bool, now: str) -> dict[str, Any]:
    status = "True" if allowed else "False"
    before = condition(budget, "DisruptionAllowed")
    since = before["lastTransitionTime"] if before and before["status"] == status else now
    return {
        "type": "DisruptionAllowed",
        "status": status,
        "observedGeneration": budget["metadata"].get("generation", 0),
        "lastTransitionTime": since,
        "reason": "SufficientPods" if allowed else "InsufficientPods",
        "message": "",
    }
