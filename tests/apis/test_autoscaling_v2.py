"""The view of HorizontalPodAutoscaler."""

from __future__ import annotations

from typing import Any

import msgspec

from handloop.apis.autoscaling_v2 import (
    HorizontalPodAutoscaler,
    HorizontalPodAutoscalerSpec,
    MetricSpec,
    MetricTarget,
    ResourceMetricSource,
)
from handloop.apis.meta import decode_hook

WIRE: dict[str, Any] = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "a"},
    "spec": {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"},
        "minReplicas": 2,
        "maxReplicas": 5,
        "metrics": [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
            }
        ],
    },
}


def test_what_is_owned_survives_a_round_trip() -> None:
    """Target, bounds and metrics are decoded and encoded as they were."""
    decoded = msgspec.convert(WIRE, HorizontalPodAutoscaler, dec_hook=decode_hook)
    assert msgspec.json.decode(msgspec.json.encode(decoded)) == WIRE


def test_metrics_of_other_types_are_distinguished() -> None:
    """One that we have no fields for is still unlike ours."""
    other = {"type": "Pods", "pods": {"metric": {"name": "x"}, "target": {"type": "AverageValue"}}}
    spec = msgspec.convert({"metrics": [other]}, HorizontalPodAutoscalerSpec)
    target = MetricTarget(type="Utilization", average_utilization=80)
    ours = MetricSpec(type="Resource", resource=ResourceMetricSource(name="cpu", target=target))
    assert spec.metrics == (MetricSpec(type="Pods"),)
    assert spec.metrics != (ours,)
