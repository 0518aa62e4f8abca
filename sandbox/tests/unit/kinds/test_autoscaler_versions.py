"""Autoscalers of v1 and v2. What a real server makes of them is in tests/contract, in a file of this name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handloop_sandbox.kinds.autoscaler_versions import as_v1, as_v2, normal_v1, with_status_of

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
}
_MEMORY = {
    "type": "Resource",
    "resource": {"name": "memory", "target": {"type": "AverageValue", "averageValue": "1Mi"}},
}
_NOW = {
    "type": "Resource",
    "resource": {"name": "cpu", "current": {"averageUtilization": 9, "averageValue": "9m"}},
}


def _v2(metrics: Any, **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "autoscaling/v2",
        "metadata": {"name": "a"},
        "spec": {"maxReplicas": 5, "metrics": metrics},
        "status": {"desiredReplicas": 0, "currentMetrics": None, **status},
    }


def _v1(annotations: dict[str, str], **spec: Any) -> dict[str, Any]:
    metadata = {"name": "a", "annotations": annotations}
    return {
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": spec,
        "status": {"desiredReplicas": 0},
    }


@pytest.mark.parametrize(
    "autoscaler",
    [
        _v2([_CPU]),
        _v2([_MEMORY]),
        _v2([_MEMORY, _CPU], currentMetrics=[_NOW], currentReplicas=2),
        _v2([_CPU], conditions=[{"type": "AbleToScale", "status": "True"}]),
    ],
)
def test_nothing_is_lost_on_the_way(autoscaler: dict[str, Any]) -> None:
    """To v1 and back: the same, as long as the metric that v1 has a field for comes last."""
    assert as_v2(as_v1(autoscaler)) == autoscaler


def test_a_second_utilization_of_the_cpu_is_lost() -> None:
    """The v1 form has one field, and its annotation does not repeat it."""
    assert as_v2(as_v1(_v2([_CPU, _MEMORY, _CPU])))["spec"]["metrics"] == [_MEMORY, _CPU]


@pytest.mark.parametrize("text", ["{", "3", "null", "[3]", '{"a": 1}'])
def test_a_text_that_is_no_list_of_metrics_is_ignored(text: str) -> None:
    """Whatever stands in an annotation, there is the default."""
    (metric,) = as_v2(_v1({f"{_PREFIX}metrics": text}))["spec"]["metrics"]
    assert metric["resource"]["target"]["averageUtilization"] == 80


def test_a_behavior_survives_in_gos_names() -> None:
    """With null for unset fields."""
    behavior = {
        "scaleUp": {"selectPolicy": "Max", "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]},
        "scaleDown": {"stabilizationWindowSeconds": 60, "selectPolicy": "Disabled", "policies": []},
    }
    autoscaler = _v2([_CPU])
    autoscaler["spec"]["behavior"] = behavior
    converted = as_v1(autoscaler)
    told = json.loads(converted["metadata"]["annotations"][f"{_PREFIX}behavior"])
    assert told["ScaleUp"]["StabilizationWindowSeconds"] is None
    assert told["ScaleUp"]["Policies"] == [{"Type": "Pods", "Value": 4, "PeriodSeconds": 15}]
    assert as_v2(converted)["spec"]["behavior"] == behavior


def test_a_usage_without_its_annotation_is_a_metric() -> None:
    """The field of v1 alone is enough to show how busy the cpu is."""
    autoscaler = _v1({}, maxReplicas=5)
    autoscaler["status"]["currentCPUUtilizationPercentage"] = 44
    now = {"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": 44}}}
    assert as_v2(autoscaler)["status"]["currentMetrics"] == [now]


def test_a_clients_status_does_not_count() -> None:
    """Conditions and current metrics come from the object before, other annotations from the new one."""
    conditions, metrics = f"{_PREFIX}conditions", f"{_PREFIX}current-metrics"
    given = _v1({conditions: "[]", "x": "y"}, maxReplicas=5)
    assert normal_v1(given)["metadata"]["annotations"] == {"x": "y"}
    merged = with_status_of(given, _v1({metrics: "[1]", "old": "gone"}))
    assert merged["metadata"]["annotations"] == {"x": "y", metrics: "[1]"}
