"""
Validation rules for HorizontalPodAutoscalers and PodDisruptionBudgets.

Follows: kubernetes pkg/apis/autoscaling/validation and pkg/apis/policy/validation.
"""

from __future__ import annotations

from typing import Any, Final

from handloop_sandbox.kinds import autoscaler_versions
from handloop_sandbox.kinds.autoscaler_versions import METRIC_MEMBERS
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import (
    Object,
    all_invalid,
    at_most_100_percent,
    entries,
    int_or_percent,
    label_selector,
    nonnegative,
    one_of,
    part,
)
from handloop_sandbox.wire.status import Cause

_POLICIES: Final = ("Percent", "Pods")
_SELECT: Final = ("Disabled", "Max", "Min")
_MAX_PERIOD: Final = 1800
_MAX_WINDOW: Final = 3600


def autoscaler(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a HorizontalPodAutoscaler of either API version."""
    del old
    if new.get("apiVersion") == autoscaler_versions.V1:
        new = autoscaler_versions.as_v2(dict(new))
    if subresource == "status":
        return nonnegative("status", part(new, "status"), "currentReplicas", "desiredReplicas")
    spec = part(new, "spec")
    least, most = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    causes = []
    if least is not None and least < 1:
        causes.append(invalid_value("spec.minReplicas", least, "must be greater than or equal to 1"))
    if most == 0:
        causes.append(required("spec.maxReplicas", "must be set and greater than 0"))
    elif most < 0:
        causes.append(invalid_value("spec.maxReplicas", most, "must be greater than or equal to 1"))
    if least is not None and most < least:
        causes.append(
            invalid_value("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
        )
    causes += _target(part(spec, "scaleTargetRef"))
    metrics = entries(spec, "metrics")
    for index, metric in enumerate(metrics):
        causes += _metric(f"spec.metrics[{index}]", metric)
    if least == 0 and not any(metric.get("type") in {"Object", "External"} for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        causes.append(forbidden_field("spec.metrics", text))
    return causes + _behavior(part(spec, "behavior"))


def _behavior(behavior: Object) -> list[Cause]:
    causes = []
    for name in ("scaleUp", "scaleDown"):
        window = part(behavior, name).get("stabilizationWindowSeconds")
        path = f"spec.behavior.{name}.stabilizationWindowSeconds"
        if window is not None and window < 0:
            causes.append(invalid_value(path, window, "must be greater than or equal to zero"))
        elif window is not None and window > _MAX_WINDOW:
            causes.append(invalid_value(path, window, f"must be less than or equal to {_MAX_WINDOW}"))
        causes += _policies(f"spec.behavior.{name}", part(behavior, name))
    return causes


def _policies(path: str, rules: Object) -> list[Cause]:
    if not rules:
        return []
    causes = [] if rules.get("selectPolicy") is None else _selected(path, rules["selectPolicy"])
    if not entries(rules, "policies"):
        return [*causes, required(f"{path}.policies", "must specify at least one Policy")]
    for index, policy in enumerate(entries(rules, "policies")):
        at, kind = f"{path}.policies[{index}]", policy.get("type", "")
        causes += [] if kind in _POLICIES else [not_supported(f"{at}.type", kind, _POLICIES)]
        for name in ("value", "periodSeconds"):
            if policy.get(name, 0) <= 0:
                causes.append(invalid_value(f"{at}.{name}", policy.get(name, 0), "must be greater than zero"))
        if policy.get("periodSeconds", 0) > _MAX_PERIOD:
            text = f"must be less than or equal to {_MAX_PERIOD}"
            causes.append(invalid_value(f"{at}.periodSeconds", policy["periodSeconds"], text))
    return causes


def _selected(path: str, policy: str) -> list[Cause]:
    return [] if policy in _SELECT else [not_supported(f"{path}.selectPolicy", policy, _SELECT)]


def _target(target: Object) -> list[Cause]:
    causes: list[Cause] = []
    for name in ("kind", "name"):
        value = target.get(name, "")
        path = f"spec.scaleTargetRef.{name}"
        causes += all_invalid(path, value, names.path_segment(value)) if value else [required(path)]
    version = target.get("apiVersion", "")
    if "/" not in version:
        text = "apiVersion must specify API group"
        causes.append(invalid_value("spec.scaleTargetRef.apiVersion", version, text))
    return causes


def _metric(path: str, metric: Object) -> list[Cause]:
    kind = metric.get("type", "")
    if kind not in METRIC_MEMBERS:
        unknown = not_supported(f"{path}.type", kind, sorted(METRIC_MEMBERS))
        missing = [] if kind else [required(f"{path}.type", "must specify a metric source type")]
        given = [
            cause
            for member in METRIC_MEMBERS.values()
            if metric.get(member) is not None
            for cause in _metric_target(f"{path}.{member}", member, metric[member])
        ]
        return [*missing, unknown, *given, unknown]
    member = METRIC_MEMBERS[kind]
    source = metric.get(member)
    if source is None:
        return [required(f"{path}.{member}", "must populate information for the given metric source")]
    return _metric_target(f"{path}.{member}", member, source)


def _metric_target(path: str, member: str, source: Object) -> list[Cause]:
    causes = []
    if member in {"resource", "containerResource"} and not source.get("name"):
        causes.append(required(f"{path}.name", "must specify a resource name"))
    target = part(source, "target")
    kind = target.get("type", "")
    kinds = ("Utilization", "Value", "AverageValue")
    if not kind:
        causes.append(required(f"{path}.target.type", "must specify a metric target type"))
    if kind not in kinds:
        text = "must be either Utilization, Value, or AverageValue"
        causes.append(invalid_value(f"{path}.target.type", kind, text))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        causes.append(
            invalid_value(f"{path}.target.averageUtilization", utilization, "must be greater than 0")
        )
    if member == "resource" and utilization is None and target.get("averageValue") is None:
        text = "must set either a target raw value or a target utilization"
        causes.append(required(f"{path}.target.averageUtilization", text))
    if utilization is not None and target.get("averageValue") is not None:
        text = "may not set both a target raw value and a target utilization"
        causes.append(forbidden_field(f"{path}.target.averageValue", text))
    return causes


def disruption_budget(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a PodDisruptionBudget."""
    del old
    if subresource == "status":
        members = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
        return nonnegative("status", part(new, "status"), *members)
    spec = part(new, "spec")
    causes = []
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        causes.append(
            invalid_value("spec", _internal(spec), "minAvailable and maxUnavailable cannot be both set")
        )
    for name in ("minAvailable", "maxUnavailable"):
        if spec.get(name) is not None:
            causes += int_or_percent(f"spec.{name}", spec[name]) + at_most_100_percent(
                f"spec.{name}", spec[name]
            )
    causes += label_selector("spec.selector", spec.get("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    policies = ("AlwaysAllow", "IfHealthyBudget")
    return causes + (
        one_of("spec.unhealthyPodEvictionPolicy", policy, policies) if policy is not None else []
    )


def _internal(spec: Object) -> dict[str, Any]:
    """Return a PodDisruptionBudget's spec as Go prints it: all fields, with capitalized names."""
    members = ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy")
    return {name[0].upper() + name[1:]: spec.get(name) for name in members}
