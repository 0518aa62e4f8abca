from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cluster.autoscaler_metrics import failure

_NO_METRICS = (
    "unable to fetch metrics from resource metrics API: the server could not find the requested resource "
    "(get pods.metrics.k8s.io)"
)
_NO_CUSTOM = (
    "unable to fetch metrics from custom metrics API: "
    "no custom metrics API (custom.metrics.k8s.io) registered"
)
_SERVICE = {"kind": "Service", "name": "s"}
_RPS = {"name": "rps"}
_SELECTED_RPS = {"name": "rps", "selector": {"matchLabels": {"a": "b"}}}
_NO_CPU = f"failed to get cpu utilization: unable to get metrics for resource cpu: {_NO_METRICS}"
_NO_MEMORY = f"failed to get memory usage: unable to get metrics for resource memory: {_NO_METRICS}"
_NO_EXTERNAL = (
    "unable to fetch metrics from external metrics API: "
    "the server could not find the requested resource (get rps.external.metrics.k8s.io)"
)
_GO_SELECTOR = (
    "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}"
)


@pytest.mark.parametrize(
    ("kind", "metric", "message", "what"),
    [
        (
            "Resource",
            {"name": "cpu", "target": {"averageUtilization": 50}},
            _NO_CPU,
            "cpu resource metric value",
        ),
        (
            "Resource",
            {"name": "memory", "target": {"averageValue": "1Gi"}},
            _NO_MEMORY,
            "memory resource metric value",
        ),
        (
            "ContainerResource",
            {"name": "cpu", "container": "nginx", "target": {"averageUtilization": 50}},
            _NO_CPU,
            "nginx container metric value",
        ),
        (
            "Pods",
            {"metric": _RPS, "target": {"averageValue": "10"}},
            f"unable to get metric rps: {_NO_CUSTOM}",
            "pods metric value",
        ),
        (
            "Object",
            {"metric": _RPS, "describedObject": _SERVICE, "target": {"type": "Value", "value": "10"}},
            f"unable to get metric rps: Service on n s/{_NO_CUSTOM}",
            "object metric value",
        ),
        (
            "External",
            {"metric": _RPS, "target": {"value": "10"}},
            f"unable to get external metric n/rps/nil: {_NO_EXTERNAL}",
            "rps external metric value: failed to get external metric rps",
        ),
        (
            "External",
            {"metric": _SELECTED_RPS, "target": {"averageValue": "10"}},
            f"unable to get external metric n/rps/{_GO_SELECTOR}: {_NO_EXTERNAL}",
            "rps external metric value: failed to get rps external metric",
        ),
    ],
)
def test_without_metrics_each_kind_fails_in_its_words(
    kind: str, metric: dict[str, Any], message: str, what: str
) -> None:
    """The texts of conditions and events, as a kube-controller-manager without metrics APIs has them."""
    found = failure("n", {"type": kind, kind[0].lower() + kind[1:]: metric})
    assert found == (f"FailedGet{kind}Metric", message, f"failed to get {what}: {message}")
