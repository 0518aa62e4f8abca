"""
Evictions: a pod is deleted if its disruption budget can spare it.

Follows: kubernetes pkg/registry/core/pod/storage/eviction.go.
"""

from __future__ import annotations

from typing import Any, Final

from handloop.sandbox.cluster.workloads import is_pod_ready
from handloop.sandbox.requests.call import Call
from handloop.sandbox.requests.request import Response
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.verbs import pods
from handloop.sandbox.verbs.deletion import remove
from handloop.sandbox.wire.label_selector import matches
from handloop.sandbox.wire.options import delete_options
from handloop.sandbox.wire.resource import GroupResource
from handloop.sandbox.wire.status import StatusError, failure, success

_BUDGETS: Final = GroupResource("policy", "poddisruptionbudgets")
_NOT_GUARDED: Final = ("Failed", "Pending", "Succeeded")
_VIOLATION: Final = "Cannot evict pod as it would violate the pod's disruption budget."
_TOO_MANY: Final = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
)
_RETRY_SECONDS: Final = 10


def evict(call: Call) -> Response:
    """Delete the pod if its disruption budget allows it, else answer 429."""
    eviction = pods.sent(call)
    before = pods.existing(call)
    options = delete_options(call.request.query, eviction.get("deleteOptions"))
    transaction = call.transaction(dry_run=options.dry_run)
    spent = _spent(_budget(call, before.object), before.object)
    if spent is not None:
        transaction.put(_BUDGETS, spent)
    remove(call, transaction, before, options)
    call.commit(transaction)
    return call.answer_value(success(code=201), 201)


def _budget(call: Call, pod: Object) -> Object | None:
    """The budget that guards a pod; one that is not running yet, or no more, needs none."""
    if pod["metadata"].get("deletionTimestamp") or (pod.get("status") or {}).get("phase") in _NOT_GUARDED:
        return None
    labels = pod["metadata"].get("labels") or {}
    budgets: list[Object] = call.state.list(_BUDGETS, call.namespace)
    found = [budget for budget in budgets if matches((budget.get("spec") or {}).get("selector"), labels)]
    if len(found) > 1:
        raise StatusError(failure(500, "", _TOO_MANY))
    return found[0] if found else None


def _spent(budget: Object | None, pod: Object) -> Object | None:
    """
    The budget with one disruption less; None when it does not have to allow this one.

    Raises: StatusError 429 when it has none left, or has not been looked at since it changed.
    """
    if budget is None:
        return None
    status = budget.get("status") or {}
    if not is_pod_ready(pod) and _spares_unready(budget, status):
        return None
    if status.get("observedGeneration", 0) < budget["metadata"].get("generation", 0):
        raise _unknown_yet(budget)
    left = status.get("disruptionsAllowed", 0)
    if not left:
        raise _too_disruptive(budget, status)
    return {**budget, "status": {**status, "disruptionsAllowed": left - 1}}


def _spares_unready(budget: Object, status: dict[str, Any]) -> bool:
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired, healthy = int(status.get("desiredHealthy", 0)), int(status.get("currentHealthy", 0))
    return 0 < desired <= healthy


def _unknown_yet(budget: Object) -> StatusError:
    text = f"The disruption budget {budget['metadata']['name']} is still being processed by the server."
    details = {
        "causes": [{"reason": "DisruptionBudget", "message": text}],
        "retryAfterSeconds": _RETRY_SECONDS,
    }
    return StatusError(failure(429, "TooManyRequests", _VIOLATION, details=details))


def _too_disruptive(budget: Object, status: dict[str, Any]) -> StatusError:
    needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    text = (
        f"The disruption budget {budget['metadata']['name']} needs {needed} healthy pods "
        f"and has {healthy} currently"
    )
    cause = {"reason": "DisruptionBudget", "message": text}
    return StatusError(failure(429, "TooManyRequests", _VIOLATION, details={"causes": [cause]}))
