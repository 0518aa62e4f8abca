"""The view of Deployments."""

from __future__ import annotations

import msgspec

from handloop.apis.apps_v1 import Deployment, DeploymentCondition
from handloop.apis.meta import decode_hook

SENT = b"""{"kind": "Deployment", "apiVersion": "apps/v1", "metadata": {"name": "web", "generation": 2},
 "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "nginx"}}, "paused": true,
  "template": {"metadata": {"creationTimestamp": null, "labels": {"app": "nginx"}},
   "spec": {"restartPolicy": "Always", "containers": [{"name": "nginx", "image": "nginx:latest"}]}}},
 "status": {"observedGeneration": 2, "replicas": 3, "updatedReplicas": 3, "readyReplicas": 2,
  "availableReplicas": 1, "conditions": [
   {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate",
    "message": "quota", "lastUpdateTime": "2026-01-01T00:00:00Z"}]}}"""


def test_a_deployment_of_the_server_is_read() -> None:
    """Wanted replicas, selector, template and every count; the rest is skipped."""
    deployment = msgspec.json.decode(SENT, type=Deployment, dec_hook=decode_hook)
    assert deployment.spec.replicas == 3
    assert deployment.spec.selector.match_labels == {"app": "nginx"}
    assert deployment.spec.template.metadata.labels == {"app": "nginx"}
    assert [c.image for c in deployment.spec.template.spec.containers] == ["nginx:latest"]
    status = deployment.status
    counts = (status.replicas, status.updated_replicas, status.ready_replicas, status.available_replicas)
    assert counts == (3, 3, 2, 1)
    assert status.observed_generation == deployment.metadata.generation == 2
    assert status.conditions == (
        DeploymentCondition(type="ReplicaFailure", status="True", reason="FailedCreate", message="quota"),
    )


def test_a_new_deployment_without_status_has_zero_counts() -> None:
    """A Deployment whose controller has not looked yet has no numbers, which are zeros."""
    deployment = msgspec.json.decode(b'{"metadata": {"name": "web"}}', type=Deployment, dec_hook=decode_hook)
    assert deployment.status.available_replicas == 0
    assert deployment.spec.replicas is None
