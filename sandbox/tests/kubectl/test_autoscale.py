from __future__ import annotations

import pytest

from support.servers.kubectl import Kubectl

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
