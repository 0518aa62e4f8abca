"""HorizontalPodAutoscalers where there are no metrics, as in any cluster without a metrics server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from support.builders.widgets import Widgets
from support.servers.api_server import APIServer, Object

_CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"averageUtilization": 80, "type": "Utilization"}},
}
_AVERAGE = {"type": "AverageValue", "averageValue": "10"}
_GOT_SCALE = (
    "AbleToScale",
    "True",
    "SucceededGetScale",
    "the HPA controller was able to get the target's current scale",
)
_NO_CPU = (
    "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from "
    "resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)"
)
_NO_CUSTOM = (
    "unable to fetch metrics from custom metrics API: "
    "no custom metrics API (custom.metrics.k8s.io) registered"
)
_NO_EXTERNAL = (
    "unable to fetch metrics from external metrics API: the server could not find the requested resource "
    "(get rps.external.metrics.k8s.io)"
)
_GO_SELECTOR = (
    "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{},}"
)


@dataclass(frozen=True)
class _Namespace:
    """The autoscalers and Deployments of one namespace."""

    server: APIServer
    name: str

    @property
    def autoscalers(self) -> str:
        return f"/apis/autoscaling/v2/namespaces/{self.name}/horizontalpodautoscalers"

    @property
    def deployments(self) -> str:
        return f"/apis/apps/v1/namespaces/{self.name}/deployments"

    def deploy(self, replicas: int) -> None:
        """A Deployment "web"."""
        labels = {"app": "web"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        assert self.server.create(self.deployments, {"metadata": {"name": "web"}, "spec": spec}).status == 201

    def autoscale(
        self,
        api_version: str = "apps/v1",
        kind: str = "Deployment",
        *,
        metric: Object = _CPU,
        least: int = 2,
        most: int = 5,
    ) -> None:
        """An autoscaler "hpa" for the object "web"."""
        target = {"apiVersion": api_version, "kind": kind, "name": "web"}
        spec = {"minReplicas": least, "maxReplicas": most, "scaleTargetRef": target, "metrics": [metric]}
        answer = self.server.create(self.autoscalers, {"metadata": {"name": "hpa"}, "spec": spec})
        assert answer.status == 201, answer

    def status(self, reason: str) -> Object:
        """The status once a condition has that reason."""
        answer = self.server.eventually(
            f"{self.autoscalers}/hpa",
            lambda answer: any(
                entry["reason"] == reason for entry in answer.body["status"].get("conditions") or ()
            ),
        )
        status: Object = answer.body["status"]
        return status

    def events(self, wanted: Callable[[dict[str, str]], bool]) -> dict[str, str]:
        """The autoscaler's events, message by reason, once they are as wanted."""

        def told(answer: Any) -> dict[str, str]:
            about = [e for e in answer.body["items"] if e["involvedObject"]["name"] == "hpa"]
            assert all(e["source"] == {"component": "horizontal-pod-autoscaler"} for e in about)
            return {event["reason"]: event["message"] for event in about}

        path = f"/api/v1/namespaces/{self.name}/events"
        return told(self.server.eventually(path, lambda answer: wanted(told(answer))))


@pytest.fixture
def space(server: APIServer, namespace: str) -> _Namespace:
    """The test's namespace."""
    return _Namespace(server, namespace)


def _conditions(status: Object) -> list[tuple[str, str, str, str]]:
    return [(c["type"], c["status"], c["reason"], c["message"]) for c in status["conditions"]]


def _unable(reason: str, message: str) -> tuple[str, str, str, str]:
    text = f"the HPA was unable to compute the replica count: {message}"
    return ("ScalingActive", "False", reason, text)


@pytest.mark.parametrize(
    ("kind", "metric", "message", "quoted_as"),
    [
        ("Resource", _CPU["resource"], _NO_CPU, "failed to get cpu resource metric value: "),
        (
            "ContainerResource",
            {"name": "cpu", "container": "c", "target": {"type": "Utilization", "averageUtilization": 50}},
            _NO_CPU,
            "failed to get c container metric value: ",
        ),
        (
            "Pods",
            {"metric": {"name": "rps"}, "target": _AVERAGE},
            f"unable to get metric rps: {_NO_CUSTOM}",
            "failed to get pods metric value: ",
        ),
        (
            "Object",
            {
                "metric": {"name": "rps"},
                "describedObject": {"kind": "Service", "name": "s", "apiVersion": "v1"},
                "target": {"type": "Value", "value": "10"},
            },
            f"unable to get metric rps: Service on NS s/{_NO_CUSTOM}",
            "failed to get object metric value: ",
        ),
        (
            "External",
            {"metric": {"name": "rps", "selector": {"matchLabels": {"a": "b"}}}, "target": _AVERAGE},
            f"unable to get external metric NS/rps/{_GO_SELECTOR}: {_NO_EXTERNAL}",
            "failed to get rps external metric value: failed to get rps external metric: ",
        ),
    ],
)
def test_a_metric_that_is_not_served(
    space: _Namespace, kind: str, metric: Object, message: str, quoted_as: str
) -> None:
    """Conditions, status and both events name the missing metric; the replicas stay."""
    message = message.replace("NS", space.name)
    space.deploy(3)
    space.autoscale(metric={"type": kind, kind[0].lower() + kind[1:]: metric})
    status = space.status(f"FailedGet{kind}Metric")
    assert _conditions(status) == [_GOT_SCALE, _unable(f"FailedGet{kind}Metric", message)]
    assert status["currentMetrics"] == [{"type": ""}]
    assert (status["currentReplicas"], status["desiredReplicas"]) == (3, 0)
    assert space.events(lambda events: len(events) == 2) == {
        f"FailedGet{kind}Metric": message,
        "FailedComputeMetricsReplicas": (
            f"invalid metrics (1 invalid out of 1), first error is: {quoted_as}{message}"
        ),
    }


@pytest.mark.parametrize(
    ("replicas", "size", "why"),
    [
        (7, 5, "Current number of replicas above Spec.MaxReplicas"),
        (1, 2, "Current number of replicas below Spec.MinReplicas"),
    ],
)
def test_bounds_hold_without_metrics(space: _Namespace, replicas: int, size: int, why: str) -> None:
    """Too many or too few replicas are put right, with an event; then the metrics are missed."""
    space.deploy(replicas)
    space.autoscale()
    events = space.events(lambda events: "SuccessfulRescale" in events)
    assert events["SuccessfulRescale"] == f"New size: {size}; reason: {why}"
    assert space.server.get(f"{space.deployments}/web").body["spec"]["replicas"] == size
    status = space.status("FailedGetResourceMetric")
    assert _conditions(status) == [_GOT_SCALE, _unable("FailedGetResourceMetric", _NO_CPU)]
    assert (status["currentReplicas"], status["desiredReplicas"]) == (size, size)
    assert status["lastScaleTime"]


def test_a_target_scaled_to_zero(space: _Namespace) -> None:
    """Zero replicas switch autoscaling off, without any event."""
    space.deploy(0)
    space.autoscale()
    status = space.status("ScalingDisabled")
    text = "scaling is disabled since the replica count of the target is zero"
    assert _conditions(status) == [_GOT_SCALE, ("ScalingActive", "False", "ScalingDisabled", text)]
    assert status["desiredReplicas"] == 0
    assert not space.events(lambda events: not events)


@pytest.mark.parametrize(
    ("api_version", "kind", "problem"),
    [
        ("apps/v1", "Deployment", 'deployments.apps "web" not found'),
        ("nosuch.io/v1", "Thing", 'no matches for kind "Thing" in group "nosuch.io"'),
        ("apps/v1", "DaemonSet", "the server could not find the requested resource"),
    ],
)
def test_a_target_without_a_scale(space: _Namespace, api_version: str, kind: str, problem: str) -> None:
    """A target that cannot be found or scaled is named in condition and event."""
    space.autoscale(api_version, kind)
    text = f"the HPA controller was unable to get the target's current scale: {problem}"
    assert _conditions(space.status("FailedGetScale")) == [("AbleToScale", "False", "FailedGetScale", text)]
    assert space.events(bool) == {"FailedGetScale": problem}


def test_a_custom_resource_is_scaled(space: _Namespace, widgets: Widgets) -> None:
    """A kind with a scale subresource can be resized, by the paths of its definition."""
    widgets.create("web", replicas=9)
    space.autoscale(widgets.api_version, "Widget")
    space.events(lambda events: "SuccessfulRescale" in events)
    assert space.server.get(f"{widgets.path}/web").body["spec"]["replicas"] == 5


def test_a_scale_without_a_selector(space: _Namespace, widgets: Widgets) -> None:
    """Pods with ambiguous selectors cannot be measured."""
    widgets.create("web", replicas=3)
    space.autoscale(widgets.api_version, "Widget")
    status = space.status("InvalidSelector")
    text = "the HPA target's scale is missing a selector"
    assert _conditions(status) == [_GOT_SCALE, ("ScalingActive", "False", "InvalidSelector", text)]
    events = space.events(lambda events: "FailedComputeMetricsReplicas" in events)
    problem = "selector is required"
    assert (events["SelectorRequired"], events["FailedComputeMetricsReplicas"]) == (problem, problem)


def test_a_refused_size(space: _Namespace, widgets: Widgets) -> None:
    """When the target may not have that size, condition and event quote the refusal."""
    widgets.create("web", replicas=400)
    space.autoscale(widgets.api_version, "Widget", least=600, most=700)
    status = space.status("FailedUpdateScale")
    problem = (
        f'Widget.{widgets.group} "web" is invalid: spec.replicas: Invalid value: 600: '
        "spec.replicas in body should be less than or equal to 500"
    )
    text = f"the HPA controller was unable to update the target scale: {problem}"
    assert _conditions(status) == [("AbleToScale", "False", "FailedUpdateScale", text)]
    assert (status["currentReplicas"], status["desiredReplicas"]) == (400, 0)
    events = space.events(lambda events: "FailedRescale" in events)
    reason = "Current number of replicas below Spec.MinReplicas"
    assert events["FailedRescale"] == f"New size: 600; reason: {reason}; error: {problem}"
