"""
Validation rules for node affinity, with which pods and volumes select nodes.

Follows: kubernetes pkg/apis/core/validation/validation.go (validateNodeAffinity, ValidateNodeSelector).
"""

from __future__ import annotations

from typing import Final

from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, required
from handloop_sandbox.wire.field_rules import Object, all_invalid, entries, part
from handloop_sandbox.wire.status import Cause

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_HIGHEST_WEIGHT: Final = 100


def node_affinity(path: str, found: Object) -> list[Cause]:
    """Return the validation errors for a pod's node affinity."""
    causes: list[Cause] = []
    if (needed := found.get(_REQUIRED)) is not None:
        causes += node_selector(f"{path}.{_REQUIRED}", needed)
    for index, weighted in enumerate(entries(found, _PREFERRED)):
        at, weight = f"{path}.{_PREFERRED}[{index}]", weighted.get("weight", 0)
        if not 1 <= weight <= _HIGHEST_WEIGHT:
            causes.append(invalid_value(f"{at}.weight", weight, "must be in the range 1-100"))
        causes += _term(f"{at}.preference", part(weighted, "preference"))
    return causes


def node_selector(path: str, selector: Object) -> list[Cause]:
    """Return the validation errors for a node selector, which needs at least one term."""
    terms = entries(selector, "nodeSelectorTerms")
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    return [
        cause
        for index, term in enumerate(terms)
        for cause in _term(f"{path}.nodeSelectorTerms[{index}]", term)
    ]


def _term(path: str, term: Object) -> list[Cause]:
    causes: list[Cause] = []
    for index, entry in enumerate(entries(term, "matchExpressions")):
        causes += _expression(f"{path}.matchExpressions[{index}]", entry)
    for index, entry in enumerate(entries(term, "matchFields")):
        causes += _field(f"{path}.matchFields[{index}]", entry)
    return causes


def _expression(path: str, entry: Object) -> list[Cause]:
    operator, values, key = entry.get("operator", ""), entries(entry, "values"), entry.get("key", "")
    causes: list[Cause] = []
    match operator:
        case "In" | "NotIn" if not values:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            causes.append(required(f"{path}.values", text))
        case "Exists" | "DoesNotExist" if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.append(forbidden_field(f"{path}.values", text))
        case "Gt" | "Lt" if len(values) != 1:
            text = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            causes.append(required(f"{path}.values", text))
        case "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt":
            pass
        case _:
            causes.append(invalid_value(f"{path}.operator", operator, "not a valid selector operator"))
    return causes + all_invalid(f"{path}.key", key, names.qualified_name(key))


def _field(path: str, entry: Object) -> list[Cause]:
    operator, values, key = entry.get("operator", ""), entries(entry, "values"), entry.get("key", "")
    causes: list[Cause] = []
    if operator not in {"In", "NotIn"}:
        causes.append(invalid_value(f"{path}.operator", operator, "not a valid selector operator"))
    elif len(values) != 1:
        text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        causes.append(required(f"{path}.values", text))
    if key != "metadata.name":
        return [*causes, invalid_value(f"{path}.key", key, "not a valid field selector key")]
    for index, value in enumerate(values):
        causes += all_invalid(f"{path}.values[{index}]", value, names.dns_1123_subdomain(value))
    return causes
