"""
Validation rules for ResourceQuotas: their resource names, amounts and scopes.

Follows: kubernetes pkg/apis/core/validation/validation.go (ValidateResourceQuota), pkg/apis/core/helper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from handloop_sandbox.grammar.quantity import parse_quantity
from handloop_sandbox.wire import names, quantity
from handloop_sandbox.wire.causes import invalid_value, required
from handloop_sandbox.wire.field_rules import IMMUTABLE, NEGATIVE, Object, all_invalid, entries, part
from handloop_sandbox.wire.status import Cause

_COUNTED: Final = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
_COMPUTED: Final = tuple(
    f"{prefix}{name}"
    for prefix in ("", "requests.", "limits.")
    for name in ("cpu", "memory", "ephemeral-storage")
)
STANDARD: Final = frozenset({*_COUNTED, *_COMPUTED, "requests.storage", "storage"})
"""The resource names that are valid without a domain prefix."""
_HUGE: Final = ("hugepages-", "requests.hugepages-")
_OF_PODS: Final = frozenset({"pods", *(name for name in _COMPUTED if "ephemeral" not in name)})
_SCOPES: Final[Mapping[str, frozenset[str]]] = {
    "BestEffort": frozenset({"pods"}),
    "NotBestEffort": _OF_PODS,
    "Terminating": _OF_PODS,
    "NotTerminating": _OF_PODS,
    "CrossNamespacePodAffinity": _OF_PODS,
    "PriorityClass": _OF_PODS,
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""Each quota scope, with the resources to which it applies."""
_PAIRS: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_MUST_EXIST: Final = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or "
    "ResourceQuotaScopeCrossNamespacePodAffinity"
)
_NO_SCOPE: Final = "unsupported scope"
_NOT_FOR_IT: Final = "unsupported scope applied to resource"
_SOME: Final = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
_NONE: Final = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"


def quota(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a ResourceQuota or its status."""
    if subresource == "status":
        return _amounts("status.hard", part(new, "status", "hard"))
    spec = part(new, "spec")
    hard, scopes = part(spec, "hard"), list(entries(spec, "scopes"))
    causes = _amounts("spec.hard", hard) + _scopes(scopes, hard)
    for term in entries(part(spec, "scopeSelector"), "matchExpressions"):
        causes += _term("spec.scopeSelector.matchExpressions", term, hard, part(spec, "scopeSelector"))
    if old is not None and set(scopes) != set(entries(part(old, "spec"), "scopes")):
        causes.append(invalid_value("spec.scopes", scopes or None, IMMUTABLE))
    return causes


def resource_name(path: str, name: str) -> list[Cause]:
    """Return the errors for a resource name, which must be well known or have a domain prefix."""
    causes = all_invalid(path, name, names.qualified_name(name))
    if causes or "/" in name or name in STANDARD or name.startswith(_HUGE):
        return causes
    return [invalid_value(path, name, "must be a standard resource type or fully qualified")]


def _amounts(path: str, hard: Object) -> list[Cause]:
    causes: list[Cause] = []
    for name, given in hard.items():
        at, amount = f"{path}[{name}]", parse_quantity(str(given))
        causes += resource_name(at, name)
        if "/" not in name and not _is_of_quotas(name):
            causes.append(invalid_value(at, name, "must be a standard resource for quota"))
        if amount < 0:
            causes.append(invalid_value(at, str(given), NEGATIVE))
        elif name in _COUNTED and amount.denominator != 1:
            causes.append(invalid_value(at, quantity.canonical(given), "must be an integer"))
    return causes


def _is_of_quotas(name: str) -> bool:
    return (name in STANDARD and name != "storage") or name.startswith(_HUGE)


def _scopes(scopes: Sequence[str], hard: Object) -> list[Cause]:
    causes: list[Cause] = []
    for scope in scopes:
        if scope not in _SCOPES:
            causes.append(invalid_value("spec.scopes", scopes, _NO_SCOPE))
        causes += [invalid_value("spec.scopes", scopes, _NOT_FOR_IT) for _ in _others(scope, hard)]
    return causes + [
        invalid_value("spec.scopes", scopes, "conflicting scopes")
        for pair in _PAIRS
        if set(pair) <= set(scopes)
    ]


def _others(scope: str, hard: Object) -> list[str]:
    """Return the resources of a quota to which the scope does not apply."""
    meant = _SCOPES.get(scope)
    return [] if meant is None else [name for name in hard if _is_of_quotas(name) and name not in meant]


def _term(path: str, term: Object, hard: Object, selector: Object) -> list[Cause]:
    scope, operator, values = term.get("scopeName", ""), term.get("operator", ""), entries(term, "values")
    causes = [] if scope in _SCOPES else [invalid_value(f"{path}.scopeName", scope, _NO_SCOPE)]
    causes += [invalid_value(path, _as_go(selector), _NOT_FOR_IT) for _ in _others(scope, hard)]
    if scope in _SCOPES and not scope.endswith("Class") and operator != "Exists":
        causes.append(invalid_value(f"{path}.operator", operator, _MUST_EXIST))
    if operator in {"In", "NotIn"}:
        return causes if values else [*causes, required(f"{path}.values", _SOME)]
    if operator in {"Exists", "DoesNotExist"}:
        return [*causes, invalid_value(f"{path}.values", list(values), _NONE)] if values else causes
    return [*causes, invalid_value(f"{path}.operator", operator, "not a valid selector operator")]


def _as_go(selector: Object) -> dict[str, Any]:
    terms = [
        {"ScopeName": term.get("scopeName"), "Operator": term.get("operator"), "Values": term.get("values")}
        for term in entries(selector, "matchExpressions")
    ]
    return {"MatchExpressions": terms}
