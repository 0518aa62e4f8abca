from __future__ import annotations

import random
from typing import Any

import pytest

from handloop.apis.meta import format_time
from handloop.sandbox.cluster.autoscaler_metrics import Findings, Workload, evaluate, quoted
from handloop.sandbox.cluster.cluster_controller import Pace, View
from handloop.sandbox.cluster.pod_usage import LOAD_ANNOTATIONS
from handloop.sandbox.cluster.scale_target import ScaleTarget
from handloop.sandbox.kinds.kinds import builtin_resources
from handloop.sandbox.storage.catalog import Catalog
from handloop.sandbox.storage.store import Store
from handloop.sandbox.storage.stored import Object

_NOW = 1_700_000_000.0
_NO_METRICS = (
    "unable to fetch metrics from resource metrics API: the server could not find the requested resource "
    "(get pods.metrics.k8s.io)"
)
_NO_CUSTOM_METRICS = (
    "unable to fetch metrics from custom metrics API: "
    "no custom metrics API (custom.metrics.k8s.io) registered"
)
_CPU: dict[str, Any] = {"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 50}}}


def _pod(name: str, **loads: str) -> Object:
    """A pod that has been running for an hour."""
    stamp = format_time(_NOW - 3600)
    resources = {"requests": {"cpu": "1", "memory": "1Gi"}}
    return {
        "metadata": {
            "name": name,
            "uid": name,
            "annotations": {LOAD_ANNOTATIONS[resource]: load for resource, load in loads.items()},
        },
        "spec": {"containers": [{"name": "main", "resources": resources}]},
        "status": {
            "phase": "Running",
            "startTime": stamp,
            "containerStatuses": [{"state": {"running": {}}}],
            "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": stamp}],
        },
    }


def _evaluate(*metrics: dict[str, Any], pods: list[Object], replicas: int = 1, **spec: Any) -> Findings:
    resource = next(r for r in builtin_resources() if r.plural == "deployments")
    metadata = {"name": "a", "namespace": "n", "uid": "a"}
    autoscaler = {"metadata": metadata, "spec": {"metrics": list(metrics), **spec}}
    target = ScaleTarget(resource, {"metadata": {"name": "w", "uid": "w"}}, replicas, replicas, "app=w")
    view = View(Store(), Catalog(()), random.Random(1))
    return evaluate(view, Workload(autoscaler, target, pods, _NOW, Pace()))


def test_utilization_of_cpu() -> None:
    """The percentage and the average are told, and what the number was computed from."""
    found = _evaluate(_CPU, pods=[_pod("a", cpu="1"), _pod("b", cpu="800m")], replicas=2)
    assert (found.replicas, found.errors) == (4, [])
    assert found.metric == "cpu resource utilization (percentage of request)"
    current = {"averageUtilization": 90, "averageValue": "900m"}
    assert found.statuses == [{"type": "Resource", "resource": {"name": "cpu", "current": current}}]


def test_average_of_memory() -> None:
    """An average value has no percentage; bytes are told in powers of 1024."""
    target = {"type": "AverageValue", "averageValue": "1Gi"}
    metric = {"type": "Resource", "resource": {"name": "memory", "target": target}}
    found = _evaluate(metric, pods=[_pod("a", memory="2560Mi")])
    assert (found.replicas, found.metric) == (3, "memory resource")
    status = {"name": "memory", "current": {"averageValue": "2560Mi"}}
    assert found.statuses == [{"type": "Resource", "resource": status}]


def test_utilization_of_a_container() -> None:
    """A container's metric names the container."""
    inner = {"name": "cpu", "container": "main", "target": {"averageUtilization": 50}}
    found = _evaluate({"type": "ContainerResource", "containerResource": inner}, pods=[_pod("a", cpu="1")])
    assert (found.replicas, found.metric) == (2, "cpu container resource utilization (percentage of request)")
    shown = {
        "name": "cpu",
        "container": "main",
        "current": {"averageUtilization": 100, "averageValue": "1"},
    }
    assert found.statuses == [{"type": "ContainerResource", "containerResource": shown}]


def test_the_highest_number_wins() -> None:
    """Of several metrics the one that asks for most decides and is named."""
    memory = {"type": "Resource", "resource": {"name": "memory", "target": {"averageUtilization": 10}}}
    found = _evaluate(_CPU, memory, pods=[_pod("a", cpu="1", memory="1Gi")])
    assert (found.replicas, found.metric) == (10, "memory resource utilization (percentage of request)")


def test_a_failing_metric_forbids_scaling_down_only() -> None:
    """With one metric unknown, the others may still ask for more."""
    unknown = {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": {"averageValue": "1"}}}
    up = _evaluate(unknown, _CPU, pods=[_pod("a", cpu="1")])
    assert (up.replicas, len(up.errors), up.statuses[0]) == (2, 1, {"type": ""})
    down = _evaluate(unknown, _CPU, pods=[_pod("a", cpu="1")], replicas=5)
    assert down.replicas is None


def test_tolerance_comes_from_the_behavior() -> None:
    """behavior.scaleUp.tolerance replaces the 10 %."""
    pods = [_pod("a", cpu="600m")]
    assert _evaluate(_CPU, pods=pods).replicas == 2
    assert _evaluate(_CPU, pods=pods, behavior={"scaleUp": {"tolerance": "0.2"}}).replicas == 1


_SERVICE = {"kind": "Service", "name": "s"}
_RPS = {"name": "rps"}
_SELECTED_RPS = {"name": "rps", "selector": {"matchLabels": {"a": "b"}}}
_NO_CPU = f"failed to get cpu utilization: unable to get metrics for resource cpu: {_NO_METRICS}"
_NO_MEMORY = f"failed to get memory usage: unable to get metrics for resource memory: {_NO_METRICS}"
_NO_EXTERNAL_METRICS = (
    "unable to fetch metrics from external metrics API: "
    "the server could not find the requested resource (get rps.external.metrics.k8s.io)"
)
_GO_SELECTOR = (
    "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}"
)


@pytest.mark.parametrize(
    ("kind", "metric", "message", "what"),
    [
        ("Resource", _CPU["resource"], _NO_CPU, "cpu resource metric value"),
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
            f"unable to get metric rps: {_NO_CUSTOM_METRICS}",
            "pods metric value",
        ),
        (
            "Object",
            {"metric": _RPS, "describedObject": _SERVICE, "target": {"type": "Value", "value": "10"}},
            f"unable to get metric rps: Service on n s/{_NO_CUSTOM_METRICS}",
            "object metric value",
        ),
        (
            "External",
            {"metric": _RPS, "target": {"value": "10"}},
            f"unable to get external metric n/rps/nil: {_NO_EXTERNAL_METRICS}",
            "rps external metric value: failed to get external metric rps",
        ),
        (
            "External",
            {"metric": _SELECTED_RPS, "target": {"averageValue": "10"}},
            f"unable to get external metric n/rps/{_GO_SELECTOR}: {_NO_EXTERNAL_METRICS}",
            "rps external metric value: failed to get rps external metric",
        ),
    ],
)
def test_without_metrics_each_kind_fails_in_its_words(
    kind: str, metric: dict[str, Any], message: str, what: str
) -> None:
    """The texts of conditions and events, as a kube-controller-manager without metrics APIs has them."""
    found = _evaluate({"type": kind, kind[0].lower() + kind[1:]: metric}, pods=[_pod("a")])
    assert found.replicas is None
    (error,) = found.errors
    assert (error.reason, str(error)) == (f"FailedGet{kind}Metric", message)
    first = f"failed to get {what}: {message}"
    assert quoted(found) == f"invalid metrics (1 invalid out of 1), first error is: {first}"


def test_a_load_that_nobody_carries() -> None:
    """With a load but no running pod there is an API, which has no metrics."""
    pod = _pod("a", cpu="1")
    del pod["status"]["containerStatuses"]
    (error,) = _evaluate(_CPU, pods=[pod]).errors
    assert str(error).endswith(
        "unable to get metrics for resource cpu: no metrics returned from resource metrics API"
    )
