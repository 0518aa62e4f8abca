"""
The MyApp operator on kopf, with the same writes as ours: Deployment, Service, autoscaler, events, status.

    env KUBECONFIG=FILE WORKERS=4 kopf run benchmarks/peers/kopf_myapp.py --standalone --namespace NAMESPACE

The operator only creates objects, which is what benchmarks/reconciling.py measures. kopf adds one write, the
annotation in which it records what it has handled. Its events about its own handlers are turned off. Handlers
run in kopf's thread pool and write with the official client.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from typing import Any

import kopf
from kubernetes import client, config

LABELS = {"app.kubernetes.io/name": "myapp", "app.kubernetes.io/managed-by": "myapp-operator"}

config.load_kube_config(os.environ["KUBECONFIG"])
apps, core, autoscaling = client.AppsV1Api(), client.CoreV1Api(), client.AutoscalingV2Api()


@kopf.on.startup()  # type: ignore[untyped-decorator] # kopf is not looked into
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Use as many threads as our program, and turn kopf's own events off."""
    settings.execution.max_workers = int(os.environ["WORKERS"])
    settings.posting.loggers = False


@kopf.on.create("example.com", "v1", "myapps")  # type: ignore[untyped-decorator] # the same
def create(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    """Create the children, record an Event about the Service, and write the status."""
    name, namespace = body.metadata.name, body.metadata.namespace
    for child, write in (
        (deployment(body), apps.create_namespaced_deployment),
        (service(body), core.create_namespaced_service),
        (autoscaler(body), autoscaling.create_namespaced_horizontal_pod_autoscaler),
    ):
        kopf.adopt(child, owner=body)
        write(namespace, child)
    kopf.event(body, type="Normal", reason="ServiceReady", message="Service is a ClusterIP on port 8080")
    patch.status.update(status(name, body.metadata["generation"]))


def deployment(body: kopf.Body) -> dict[str, Any]:
    """The Deployment of a MyApp."""
    name, spec = body.metadata.name, body.spec
    labels = LABELS | {"app.kubernetes.io/instance": name}
    container = {
        "name": "app",
        "image": spec["image"],
        "ports": [{"name": "http", "containerPort": spec.get("port", 8080)}],
        "env": spec.get("env", []),
        "resources": spec.get("resources", {}),
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": spec.get("replicas", 1),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def service(body: kopf.Body) -> dict[str, Any]:
    """The Service of a MyApp."""
    name, spec = body.metadata.name, body.spec
    labels = LABELS | {"app.kubernetes.io/instance": name}
    port = {"name": "http", "port": spec.get("port", 8080), "targetPort": "http"}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "labels": labels},
        "spec": {"type": spec.get("serviceType", "ClusterIP"), "selector": labels, "ports": [port]},
    }


def autoscaler(body: kopf.Body) -> dict[str, Any]:
    """The autoscaler of a MyApp."""
    name, bounds = body.metadata.name, body.spec["autoScaling"]
    target = {"type": "Utilization", "averageUtilization": 80}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name, "labels": LABELS | {"app.kubernetes.io/instance": name}},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": bounds["minReplicas"],
            "maxReplicas": bounds["maxReplicas"],
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }


def status(name: str, generation: int) -> dict[str, Any]:
    """Return the status of a MyApp whose pods do not exist yet."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    claims = (("Ready", "False"), ("Progressing", "True"), ("Degraded", "False"))
    conditions = [
        {
            "type": kind,
            "status": value,
            "reason": "Reconciling",
            "message": "Ready replicas: 0/2",
            "observedGeneration": generation,
            "lastTransitionTime": now,
        }
        for kind, value in claims
    ]
    return {
        "conditions": conditions,
        "observedGeneration": generation,
        "readyReplicas": 0,
        "availableReplicas": 0,
        "lastUpdateTime": now,
        "selector": f"app.kubernetes.io/instance={name}",
    }
