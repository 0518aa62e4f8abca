"""
Converts HorizontalPodAutoscalers between autoscaling/v1 and v2. They are stored as v2.

Annotations contain the data for which v1 has no field.
Follows: kubernetes pkg/apis/autoscaling/v1/conversion.go, v1/defaults.go, annotations.go.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

Object = dict[str, Any]

V1: Final = "autoscaling/v1"
V2: Final = "autoscaling/v2"

SCALE_UP: Final[Object] = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
SCALE_DOWN: Final[Object] = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
DEFAULT_UTILIZATION: Final = 80

_PREFIX: Final = "autoscaling.alpha.kubernetes.io/"
_METRICS: Final = f"{_PREFIX}metrics"
_BEHAVIOR: Final = f"{_PREFIX}behavior"
_CURRENT_METRICS: Final = f"{_PREFIX}current-metrics"
_CONDITIONS: Final = f"{_PREFIX}conditions"
_OF_SPEC: Final = (_METRICS, _BEHAVIOR)
_OF_STATUS: Final = (_CURRENT_METRICS, _CONDITIONS)

METRIC_MEMBERS: Final = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
    "External": "external",
}
"""The metric types, each with the member that contains its details."""
_RULES: Final = ("StabilizationWindowSeconds", "SelectPolicy", "Policies", "Tolerance")


def _paths(side: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """
    Return, by metric type, the members of v1 in Go's order, each with its path in v2.

    side is `target` or `current`.
    """
    utilization = {f"{side}AverageUtilization": (side, "averageUtilization")}
    average = {f"{side}AverageValue": (side, "averageValue")}
    value = {f"{side}Value": (side, "value")}
    name, metric, selector = {"name": ("name",)}, {"metricName": ("metric", "name")}, ("metric", "selector")
    return {
        "Object": {
            "target": ("describedObject",),
            **metric,
            **value,
            "selector": selector,
            "averageValue": (side, "averageValue"),
        },
        "Pods": {**metric, **average, "selector": selector},
        "Resource": {**name, **utilization, **average},
        "ContainerResource": {**name, **utilization, **average, "container": ("container",)},
        "External": {**metric, "metricSelector": selector, **value, **average},
    }


_TARGET: Final = _paths("target")
_CURRENT: Final = _paths("current")
_ZERO: Final = {"Object": ("targetValue", "currentValue"), "External": ("currentValue",)}
"""The quantities that v1 never omits."""


def as_v1(obj: Object) -> Object:
    """Return a v2 autoscaler converted to v1."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    metrics, current = spec.pop("metrics", None) or [], status.pop("currentMetrics", None) or []
    behavior, conditions = spec.pop("behavior", None), status.pop("conditions", None)
    if (target := _cpu(metrics, "target")) is not None:
        spec["targetCPUUtilizationPercentage"] = target
    if (usage := _cpu(current, "current")) is not None:
        status["currentCPUUtilizationPercentage"] = usage
    others = [metric for metric in metrics if _cpu([metric], "target") is None]
    told = {
        _METRICS: [_metric_as_v1(metric, _TARGET) for metric in others],
        _CURRENT_METRICS: [_metric_as_v1(metric, _CURRENT) for metric in current],
        _CONDITIONS: conditions,
        _BEHAVIOR: behavior and _behavior_as_v1(behavior),
    }
    notes = {name: json.dumps(value, separators=(",", ":")) for name, value in told.items() if value}
    status = {"currentReplicas": 0, **status}
    return {**_annotated(obj, notes), "apiVersion": V1, "spec": spec, "status": status}


def as_v2(obj: Object) -> Object:
    """Return a v1 autoscaler converted to v2. Annotations with invalid JSON are ignored."""
    notes = _annotations(obj)
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    target = spec.pop("targetCPUUtilizationPercentage", None)
    usage = status.pop("currentCPUUtilizationPercentage", None)
    metrics = [_metric_as_v2(metric, _TARGET) for metric in _objects(notes, _METRICS)]
    if target is None and not metrics:
        target = DEFAULT_UTILIZATION
    if target is not None:
        utilization = {"type": "Utilization", "averageUtilization": target}
        metrics.append({"type": "Resource", "resource": {"name": "cpu", "target": utilization}})
    current = [_metric_as_v2(metric, _CURRENT) for metric in _objects(notes, _CURRENT_METRICS)]
    if usage is not None and not current:
        now = {"averageUtilization": usage}
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": now}}]
    spec["metrics"] = metrics
    if behavior := _parsed(notes, _BEHAVIOR, dict):
        spec["behavior"] = _behavior_as_v2(behavior)
    if conditions := _objects(notes, _CONDITIONS):
        status["conditions"] = conditions
    status["currentMetrics"] = current or None
    if not status.get("currentReplicas"):
        status.pop("currentReplicas", None)
    return {**_annotated(obj, {}), "apiVersion": V2, "spec": spec, "status": status}


def normal_v1(obj: Object) -> Object:
    """Return a v1 autoscaler with its defaults and the annotations that a conversion from v2 adds."""
    return as_v1(as_v2(obj))


def without_status(obj: Object) -> Object:
    """Return an autoscaler without its status annotations."""
    return _without(obj, _OF_STATUS)


def with_status_of(new: Object, old: Object) -> Object:
    """Return the new v1 autoscaler with the status annotations of the old one."""
    notes = _annotations(old)
    kept = {name: notes[name] for name in _OF_STATUS if name in notes}
    given = _annotations(_without(new, _OF_STATUS))
    return _with_annotations(new, {**given, **kept})


def _cpu(metrics: Iterable[Object], side: str) -> int | None:
    """Return the first average CPU utilization, the only metric with a field in v1, or None."""
    for metric in metrics:
        resource = metric.get("resource") or {}
        utilization: int | None = (resource.get(side) or {}).get("averageUtilization")
        if metric.get("type") == "Resource" and resource.get("name") == "cpu" and utilization is not None:
            return utilization
    return None


def _metric_as_v1(metric: Object, paths: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Object:
    kind = metric.get("type", "")
    member = METRIC_MEMBERS.get(kind, "")
    found = {name: _at(metric.get(member), path) for name, path in paths.get(kind, {}).items()}
    for name in _ZERO.get(kind, ()):
        if name in found and found[name] is None:
            found[name] = "0"
    return {"type": kind, member: {name: value for name, value in found.items() if value is not None}}


def _metric_as_v2(metric: Object, paths: Mapping[str, Mapping[str, tuple[str, ...]]]) -> Object:
    kind = metric.get("type", "")
    member = METRIC_MEMBERS.get(kind, "")
    source: Object = {}
    for name, path in paths.get(kind, {}).items():
        value = (metric.get(member) or {}).get(name)
        if value is not None:
            inner = source
            for step in path[:-1]:
                inner = inner.setdefault(step, {})
            inner[path[-1]] = value
    if paths is _TARGET:
        source["target"] = _typed(source.get("target") or {})
    return {"type": kind, member: source}


def _typed(target: Object) -> Object:
    """Return a v2 target with the type that matches its value, because v1 has no field for the type."""
    if "averageUtilization" in target:
        return {"type": "Utilization", "averageUtilization": target["averageUtilization"]}
    if "averageValue" in target:
        return {"type": "AverageValue", "averageValue": target["averageValue"]}
    return {"type": "Value", **target}


def _at(value: Any, path: tuple[str, ...]) -> Any:
    for name in path:
        value = (value or {}).get(name)
    return value


def _behavior_as_v1(behavior: Object) -> Object:
    """Return the behavior with the field names of Go's internal type, which has no JSON names."""
    return {
        _upper(name): rules and {rule: _uppered(rules.get(_lower(rule))) for rule in _RULES}
        for name, rules in ((name, behavior.get(name)) for name in ("scaleUp", "scaleDown"))
    }


def _behavior_as_v2(behavior: Object) -> Object:
    given = _lowered(behavior)
    return {"scaleUp": given.get("scaleUp") or SCALE_UP, "scaleDown": given.get("scaleDown") or SCALE_DOWN}


def _uppered(value: Any) -> Any:
    if isinstance(value, list):
        return [{_upper(name): member for name, member in policy.items()} for policy in value]
    return value


def _lowered(value: Any) -> Any:
    if isinstance(value, list):
        return [_lowered(entry) for entry in value]
    if isinstance(value, dict):
        return {_lower(name): _lowered(member) for name, member in value.items() if member is not None}
    return value


def _upper(name: str) -> str:
    return name[:1].upper() + name[1:]


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]


def _objects(annotations: Mapping[str, str], name: str) -> list[Object]:
    found = _parsed(annotations, name, list) or []
    return found if all(isinstance(entry, dict) for entry in found) else []


def _parsed(annotations: Mapping[str, str], name: str, kind: type) -> Any:
    try:
        value = json.loads(annotations.get(name, "null"))
    except ValueError:
        return None
    return value if isinstance(value, kind) else None


def _annotated(obj: Object, notes: Mapping[str, str]) -> Object:
    """Return an object whose conversion annotations are replaced by the given ones."""
    given = _annotations(_without(obj, (*_OF_SPEC, *_OF_STATUS)))
    return _with_annotations(obj, {**given, **notes})


def _without(obj: Object, names: Iterable[str]) -> Object:
    given = _annotations(obj)
    dropped = frozenset(names)
    return _with_annotations(obj, {name: given[name] for name in given if name not in dropped})


def _annotations(obj: Object) -> Object:
    return (obj.get("metadata") or {}).get("annotations") or {}


def _with_annotations(obj: Object, annotations: Object) -> Object:
    metadata = {key: value for key, value in (obj.get("metadata") or {}).items() if key != "annotations"}
    if annotations:
        metadata["annotations"] = annotations
    return {**obj, "metadata": metadata}
