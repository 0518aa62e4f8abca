"""
The replicas that the metrics of a HorizontalPodAutoscaler ask for.

Resource metrics exist wherever a load was set. Custom and external metrics fail as in a cluster without their
APIs.
Follows: kubernetes pkg/controller/podautoscaler/horizontal.go (computeReplicasForMetrics).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from handloop.apis.quantity import parse_quantity
from handloop.sandbox.cluster.cluster_controller import Pace, View
from handloop.sandbox.cluster.pod_usage import measured
from handloop.sandbox.cluster.replica_proposal import (
    DEFAULT_TOLERANCE,
    Proposal,
    Sampling,
    Tolerance,
    UncountableError,
    by_average,
    by_utilization,
)
from handloop.sandbox.cluster.scale_target import ScaleTarget
from handloop.sandbox.storage.stored import Object
from handloop.sandbox.wire import quantity

_NO_RESOURCE_API = (
    "unable to fetch metrics from resource metrics API: the server could not find the requested resource "
    "(get pods.metrics.k8s.io)"
)
_NOTHING_MEASURED = "no metrics returned from resource metrics API"
_NO_CUSTOM_API = (
    "unable to fetch metrics from custom metrics API: "
    "no custom metrics API (custom.metrics.k8s.io) registered"
)


class MetricError(Exception):
    """A metric has no value. reason is that of condition and Event; outer is how other messages quote it."""

    def __init__(self, reason: str, message: str, outer: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.outer = outer


class Workload(NamedTuple):
    """An autoscaler, its target and the target's pods, at the time now."""

    autoscaler: Object
    target: ScaleTarget
    pods: Sequence[Object]
    now: float
    pace: Pace


class Findings(NamedTuple):
    """
    The findings of all metrics; replicas None = nothing that could be acted upon.

    metric describes the metric that asks for most. statuses are those of the HPA, {"type": ""} for a metric
    that failed. errors are in the order of the metrics.
    """

    replicas: int | None
    metric: str
    statuses: list[dict[str, Any]]
    errors: list[MetricError]


class _Found(NamedTuple):
    proposal: Proposal
    name: str
    status: dict[str, Any]


def evaluate(view: View, workload: Workload) -> Findings:
    """Ask every metric. The highest number counts; while one fails, there is no scaling down."""
    statuses: list[dict[str, Any]] = []
    errors: list[MetricError] = []
    replicas, metric = 0, ""
    for spec in workload.autoscaler["spec"].get("metrics") or ():
        try:
            found = _evaluate(view, workload, spec)
        except MetricError as error:
            errors.append(error)
            statuses.append({"type": ""})
            continue
        statuses.append(found.status)
        if replicas == 0 or found.proposal.replicas > replicas:
            replicas, metric = found.proposal.replicas, found.name
    useless = bool(errors) and (len(errors) == len(statuses) or replicas < workload.target.replicas)
    return Findings(None if useless else replicas, metric, statuses, errors)


def quoted(findings: Findings) -> str:
    """All errors in one line, as Events quote them."""
    total, failed = len(findings.statuses), len(findings.errors)
    return f"invalid metrics ({failed} invalid out of {total}), first error is: {findings.errors[0].outer}"


def _evaluate(view: View, workload: Workload, spec: Mapping[str, Any]) -> _Found:
    match spec["type"]:
        case "Resource":
            return _resource(view, workload, spec["resource"])
        case "ContainerResource":
            return _container_resource(view, workload, spec["containerResource"])
        case "Pods":
            message = f"unable to get metric {spec['pods']['metric']['name']}: {_NO_CUSTOM_API}"
            raise _failure("FailedGetPodsMetric", message, "pods metric value")
        case "Object":
            message = _object_failure(workload.autoscaler["metadata"]["namespace"], spec["object"])
            raise _failure("FailedGetObjectMetric", message, "object metric value")
    raise _external_failure(workload.autoscaler["metadata"]["namespace"], spec["external"])


def _resource(view: View, workload: Workload, metric: Mapping[str, Any]) -> _Found:
    name = metric["name"]
    try:
        proposal = _proposal(view, workload, metric)
    except UncountableError as error:
        raise _failure("FailedGetResourceMetric", str(error), f"{name} resource metric value") from error
    status = {"type": "Resource", "resource": {"name": name, "current": _current(name, proposal)}}
    return _Found(proposal, _described(name, "", proposal), status)


def _container_resource(view: View, workload: Workload, metric: Mapping[str, Any]) -> _Found:
    name, container = metric["name"], metric["container"]
    try:
        proposal = _proposal(view, workload, metric)
    except UncountableError as error:
        what = f"{container} container metric value"
        raise _failure("FailedGetContainerResourceMetric", str(error), what) from error
    shown = {"name": name, "container": container, "current": _current(name, proposal)}
    status = {"type": "ContainerResource", "containerResource": shown}
    return _Found(proposal, _described(name, "container ", proposal), status)


def _proposal(view: View, workload: Workload, metric: Mapping[str, Any]) -> Proposal:
    """The answer of a metric about CPU or memory. Raises: UncountableError."""
    name, target, container = metric["name"], metric["target"], metric.get("container", "")
    average = target.get("averageValue")
    what = "usage" if average is not None else "utilization"
    current, tolerance = workload.target.replicas, _tolerance(workload.autoscaler)
    try:
        sampling = _sampling(view, workload, name, container)
        if average is not None:
            milli = math.ceil(parse_quantity(average) * 1000)
            return by_average(sampling, current=current, target=milli, tolerance=tolerance)
        percent = int(target["averageUtilization"])
        return by_utilization(sampling, current=current, target=percent, tolerance=tolerance)
    except UncountableError as error:
        raise UncountableError(f"failed to get {name} {what}: {error}") from error


def _sampling(view: View, workload: Workload, resource: str, container: str) -> Sampling:
    scalers = (workload.target.object, workload.autoscaler)
    usage = measured(view.state, workload.pods, scalers, resource, container=container)
    if not usage:
        problem = _NO_RESOURCE_API if usage is None else _NOTHING_MEASURED
        raise UncountableError(f"unable to get metrics for resource {resource}: {problem}")
    return Sampling(workload.pods, usage, resource, workload.now, workload.pace, container)


def _tolerance(autoscaler: Object) -> Tolerance:
    behavior = autoscaler["spec"].get("behavior") or {}
    down, up = (
        (behavior.get(way) or {}).get("tolerance", DEFAULT_TOLERANCE) for way in ("scaleDown", "scaleUp")
    )
    return Tolerance(float(parse_quantity(str(down))), float(parse_quantity(str(up))))


def _current(resource: str, proposal: Proposal) -> dict[str, Any]:
    utilization = {} if proposal.utilization is None else {"averageUtilization": proposal.utilization}
    return {**utilization, "averageValue": _quantity(resource, proposal.average)}


def _quantity(resource: str, milli: int) -> str:
    """Thousandths in canonical form: bytes of memory in powers of 1024."""
    if resource == "memory" and milli % 1000 == 0:
        return quantity.canonical(f"{Decimal(milli) / 1000 / 1024:f}Ki")
    return quantity.canonical(f"{milli}m")


def _described(resource: str, scope: str, proposal: Proposal) -> str:
    if proposal.utilization is None:
        return f"{resource} resource"
    return f"{resource} {scope}resource utilization (percentage of request)"


def _failure(reason: str, message: str, what: str) -> MetricError:
    return MetricError(reason, message, f"failed to get {what}: {message}")


def _object_failure(namespace: str, metric: Mapping[str, Any]) -> str:
    name, described = metric["metric"]["name"], metric["describedObject"]
    # upstream has the arguments in this order
    where = f"{described['kind']} on {namespace} {described['name']}"
    message = f"unable to get metric {name}: {where}/{_NO_CUSTOM_API}"
    return (
        message if metric["target"]["type"] == "Value" else f"failed to get {name} object metric: {message}"
    )


def _external_failure(namespace: str, metric: Mapping[str, Any]) -> MetricError:
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
    return MetricError("FailedGetExternalMetric", inner, outer)


def _go_selector(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector as Go prints it."""
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
