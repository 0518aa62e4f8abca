from __future__ import annotations

import pytest

from support.builders.manifests import CONFIG, DEPLOYMENT, LEASE, SERVICE
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl


def _apply(kubectl: Kubectl, *manifests: str) -> None:
    kubectl("apply", "-f", "-", stdin="\n---\n".join(manifests))


def _fields(text: str) -> dict[str, str]:
    """The `Name:  value` lines of a description, outermost level."""
    pairs = (line.partition(":") for line in text.splitlines() if line and not line.startswith((" ", "\t")))
    return {name: value.strip() for name, colon, value in pairs if colon}


def test_deployment(kubectl: Kubectl) -> None:
    """`describe deployment` shows replicas, conditions, its ReplicaSet and its events."""
    _apply(kubectl, DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")
    out = kubectl("describe", "deployment", "web").out
    shown = _fields(out)
    assert shown["Replicas"] == "2 desired | 2 updated | 2 total | 2 available | 0 unavailable"
    assert shown["Selector"] == "app=web"
    assert shown["RollingUpdateStrategy"] == "25% max unavailable, 25% max surge"
    assert shown["NewReplicaSet"].endswith("(2/2 replicas created)")
    assert "Available      True    MinimumReplicasAvailable" in out
    assert "Progressing    True    NewReplicaSetAvailable" in out
    assert "Scaled up replica set" in out
    assert "deployment-controller" in out


def test_replica_set(kubectl: Kubectl) -> None:
    """`describe rs` shows whose it is, the pods' states and their creation."""
    _apply(kubectl, DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")
    out = kubectl("describe", "rs").out
    shown = _fields(out)
    assert shown["Controlled By"] == "Deployment/web"
    assert shown["Replicas"] == "2 current / 2 desired"
    assert shown["Pods Status"] == "2 Running / 0 Waiting / 0 Succeeded / 0 Failed"
    assert out.count("SuccessfulCreate") == 2


def test_pod(kubectl: Kubectl, sandbox_only: None) -> None:
    """`describe pod` shows node, address, container state, conditions and the whole story in events."""
    _apply(kubectl, DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")
    name = kubectl("get", "pods", "-o", "name").lines[0]
    out = kubectl("describe", name).out
    shown = _fields(out)
    assert shown["Status"] == "Running"
    assert shown["Node"].startswith("sandbox-")
    assert shown["Controlled By"].startswith("ReplicaSet/web-")
    assert shown["Service Account"] == "default"
    assert "State:          Running" in out
    for reason in ("Scheduled", "Pulling", "Pulled", "Created", "Started"):
        assert f"Normal  {reason}" in out
    assert "default-scheduler  Successfully assigned" in out


def test_plain_objects(kubectl: Kubectl) -> None:
    """Namespaces, ConfigMaps, Secrets and Leases are described by their content; secrets do not show."""
    _apply(kubectl, CONFIG, LEASE)
    kubectl("create", "secret", "generic", "password", "--from-literal=key=topsecret")
    assert "blue" in kubectl("describe", "cm", "settings").out
    secret = kubectl("describe", "secret", "password").out
    assert "key:  9 bytes" in secret
    assert "topsecret" not in secret
    assert _fields(kubectl("describe", "ns", kubectl.namespace).out)["Status"] == "Active"
    assert "Holder Identity:         me" in kubectl("describe", "lease", "leader").out


def test_service_with_endpoints(kubectl: Kubectl) -> None:
    """`describe service` lists the addresses of the pods it selects."""
    _apply(kubectl, DEPLOYMENT, SERVICE)
    kubectl("rollout", "status", "deployment/web")
    addresses = kubectl(
        "get", "pods", "-o", "jsonpath={range .items[*]}{.status.podIP}:8080 {end}"
    ).out.split()

    def endpoints() -> set[str]:
        return set(_fields(kubectl("describe", "service", "web").out)["Endpoints"].split(","))

    kubectl.until(lambda: endpoints() == set(addresses))


def test_node(cluster: Kubectl, sandbox_only: None) -> None:
    """`describe node` shows a ready node and its pods."""
    out = cluster("describe", "node", "sandbox-0").out
    assert "KubeletReady" in out
    assert "InternalIP:  192.0.2.10" in out


def test_absent_object(kubectl: Kubectl) -> None:
    """Describing a missing object fails with the server's words."""
    missing = kubectl("describe", "deployment", "nobody", fails=True)
    assert missing.err == 'Error from server (NotFound): deployments.apps "nobody" not found\n'
