from __future__ import annotations

import pytest

from support.kubectl import Kubectl

pytestmark = pytest.mark.kubectl

_DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: main, image: "nginx:1.25", resources: {requests: {cpu: 100m, memory: 64Mi}}}
"""
_NO_METRICS = (
    "the HPA was unable to compute the replica count: failed to get cpu utilization: "
    "unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: "
    "the server could not find the requested resource (get pods.metrics.k8s.io)"
)


def _autoscale(kubectl: Kubectl, least: int = 1, most: int = 5) -> None:
    kubectl("apply", "-f", "-", stdin=_DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")
    target = "--cpu=50%" if kubectl.minor >= 34 else "--cpu-percent=50"
    kubectl("autoscale", "deployment", "web", f"--min={least}", f"--max={most}", target)


def _load(kubectl: Kubectl, cpu: str) -> None:
    kubectl("annotate", "deployment", "web", f"sandbox.controller.dev/cpu-load={cpu}", "--overwrite")


def test_without_metrics(kubectl: Kubectl) -> None:
    """`get` and `describe` of an autoscaler show an unknown value and why it is unknown."""
    _autoscale(kubectl, least=3)
    kubectl("wait", "--for=condition=AbleToScale", "hpa/web")
    kubectl.until(lambda: kubectl.value(".status.desiredReplicas", "hpa", "web") == "3")
    kubectl("wait", "--for=condition=ScalingActive=false", "hpa/web")
    header, row = kubectl("get", "hpa").lines
    assert header.split() == ["NAME", "REFERENCE", "TARGETS", "MINPODS", "MAXPODS", "REPLICAS", "AGE"]
    assert row.split()[:-1] == ["web", "Deployment/web", "cpu:", "<unknown>/50%", "3", "5", "3"]
    out = kubectl("describe", "hpa", "web").out
    assert "resource cpu on pods  (as a percentage of request):  <unknown> / 50%" in out
    assert f"ScalingActive  False   FailedGetResourceMetric  {_NO_METRICS}" in out
    assert "New size: 3; reason: Current number of replicas below Spec.MinReplicas" in out
    assert "horizontal-pod-autoscaler" in out


def test_a_load_scales(kubectl: Kubectl, sandbox_only: None) -> None:
    """A load by annotation: more pods, the columns and the description of an autoscaler at work."""
    _autoscale(kubectl)
    _load(kubectl, "200m")
    kubectl.until(lambda: kubectl.value(".status.currentReplicas", "hpa", "web") == "4")
    kubectl("rollout", "status", "deployment/web")
    kubectl.until(lambda: "cpu: 50%/50%" in kubectl("get", "hpa").out)
    assert kubectl("get", "hpa", "web", "--no-headers").out.split()[2:7] == ["cpu:", "50%/50%", "1", "5", "4"]
    out = kubectl("describe", "hpa", "web").out
    assert "resource cpu on pods  (as a percentage of request):  50% (50m) / 50%" in out
    assert "Deployment pods:" in out
    assert "4 current / 4 desired" in out
    assert "AbleToScale     True    ReadyForNewScale    recommended size matches current size" in out
    counted = "the HPA was able to successfully calculate a replica count from cpu resource utilization"
    assert f"ScalingActive   True    ValidMetricFound    {counted} (percentage of request)" in out
    assert (
        "ScalingLimited  False   DesiredWithinRange  the desired count is within the acceptable range" in out
    )
    assert "New size: 4; reason: cpu resource utilization (percentage of request) above target" in out


def test_the_load_may_be_on_the_autoscaler(kubectl: Kubectl, sandbox_only: None) -> None:
    """An annotation on the HorizontalPodAutoscaler is a load of its target, too; its limit is told."""
    _autoscale(kubectl)
    kubectl("annotate", "hpa", "web", "sandbox.controller.dev/cpu-load=2")
    kubectl.until(lambda: "TooManyReplicas" in kubectl("describe", "hpa", "web").out)
    out = kubectl("describe", "hpa", "web").out
    text = "the desired replica count is more than the maximum replica count"
    assert "ScalingLimited  True    TooManyReplicas" in out
    assert text in out
    assert kubectl.value(".spec.replicas", "deployment", "web") == "5"
