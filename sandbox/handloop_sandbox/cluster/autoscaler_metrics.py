"""
The errors that the HorizontalPodAutoscaler controller reports in a cluster without a metrics server.

Follows: kubernetes pkg/controller/podautoscaler/horizontal.go (computeReplicasForMetrics).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

_NO_RESOURCE_API = (
    "unable to fetch metrics from resource metrics API: the server could not find the requested resource "
    "(get pods.metrics.k8s.io)"
)
_NO_CUSTOM_API = (
    "unable to fetch metrics from custom metrics API: "
    "no custom metrics API (custom.metrics.k8s.io) registered"
)


class MetricFailure(NamedTuple):
    """
    The reason and the message that the condition and the Event give for a metric without a value.

    outer is a longer form of the message, which the FailedComputeMetricsReplicas Event quotes.
    """

    reason: str
    message: str
    outer: str


def failure(namespace: str, spec: Mapping[str, Any]) -> MetricFailure:
    """Return the error for one metric of an autoscaler in the given namespace."""
    match spec["type"]:
        case "Resource":
            metric = spec["resource"]
            what = f"{metric['name']} resource metric value"
            return _failure("FailedGetResourceMetric", _no_resource(metric), what)
        case "ContainerResource":
            metric = spec["containerResource"]
            what = f"{metric['container']} container metric value"
            return _failure("FailedGetContainerResourceMetric", _no_resource(metric), what)
        case "Pods":
            message = f"unable to get metric {spec['pods']['metric']['name']}: {_NO_CUSTOM_API}"
            return _failure("FailedGetPodsMetric", message, "pods metric value")
        case "Object":
            message = _no_object(namespace, spec["object"])
            return _failure("FailedGetObjectMetric", message, "object metric value")
    return _external(namespace, spec["external"])


def _failure(reason: str, message: str, what: str) -> MetricFailure:
    return MetricFailure(reason, message, f"failed to get {what}: {message}")


def _no_resource(metric: Mapping[str, Any]) -> str:
    name = metric["name"]
    what = "utilization" if metric["target"].get("averageValue") is None else "usage"
    return f"failed to get {name} {what}: unable to get metrics for resource {name}: {_NO_RESOURCE_API}"


def _no_object(namespace: str, metric: Mapping[str, Any]) -> str:
    name, described = metric["metric"]["name"], metric["describedObject"]
    # Kubernetes has the parts in the same odd order.
    where = f"{described['kind']} on {namespace} {described['name']}"
    message = f"unable to get metric {name}: {where}/{_NO_CUSTOM_API}"
    return (
        message if metric["target"]["type"] == "Value" else f"failed to get {name} object metric: {message}"
    )


def _external(namespace: str, metric: Mapping[str, Any]) -> MetricFailure:
    name = metric["metric"]["name"]
    selector = _go_selector(metric["metric"].get("selector"))
    missing = f"the server could not find the requested resource (get {name}.external.metrics.k8s.io)"
    inner = (
        f"unable to get external metric {namespace}/{name}/{selector}: "
        f"unable to fetch metrics from external metrics API: {missing}"
    )
    average = metric["target"].get("averageValue") is not None
    quoted_as = (
        f"failed to get {name} external metric" if average else f"failed to get external metric {name}"
    )
    outer = f"failed to get {name} external metric value: {quoted_as}: {inner}"
    return MetricFailure("FailedGetExternalMetric", inner, outer)


def _go_selector(selector: Mapping[str, Any] | None) -> str:
    """Return a LabelSelector as Go prints it."""
    if selector is None:
        return "nil"
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    terms = "".join(
        f"LabelSelectorRequirement{{Key:{term['key']},Operator:{term['operator']},"
        f"Values:[{' '.join(term.get('values') or ())}],}},"
        for term in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{terms}}},}}"
    )
