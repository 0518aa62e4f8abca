"""What kubectl learns about the server: kinds, versions, schemas, rights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from support.servers.kubectl import NEWEST_MINOR, Kubectl

pytestmark = pytest.mark.kubectl


def test_api_resources(cluster: Kubectl) -> None:
    """Every kind is listed with its short names, version and scope."""
    rows = cluster("api-resources", "--no-headers").words
    listed = {(row[0], row[-3]): row for row in rows}
    assert listed["pods", "v1"][1:] == ["po", "v1", "true", "Pod"]
    assert listed["deployments", "apps/v1"][1:] == ["deploy", "apps/v1", "true", "Deployment"]
    assert listed["namespaces", "v1"][-2:] == ["false", "Namespace"]
    assert listed["leases", "coordination.k8s.io/v1"][-1] == "Lease"
    assert listed["customresourcedefinitions", "apiextensions.k8s.io/v1"][1] == "crd,crds"


def test_api_resources_can_be_filtered(cluster: Kubectl) -> None:
    """By group, scope and verbs."""
    names = cluster("api-resources", "--api-group=apps", "-o", "name").lines
    assert {"deployments.apps", "replicasets.apps"} <= set(names)
    assert all(name.endswith(".apps") for name in names)
    assert "pods" not in cluster("api-resources", "--namespaced=false", "-o", "name").lines
    assert "bindings" not in cluster("api-resources", "--verbs=list,get", "-o", "name").lines
    wide = cluster("api-resources", "-o", "wide", "--api-group=apps").out
    assert "create,delete,deletecollection,get,list,patch,update,watch" in wide


def test_api_versions(cluster: Kubectl) -> None:
    """Group versions are listed, sorted."""
    versions = cluster("api-versions").lines
    assert versions == sorted(versions)
    assert {"v1", "apps/v1", "apiextensions.k8s.io/v1", "coordination.k8s.io/v1", "events.k8s.io/v1"} <= set(
        versions
    )


def test_explain(cluster: Kubectl) -> None:
    """`explain` shows a field's type and children from the server's schema."""
    out = cluster("explain", "deployment.spec.strategy").out
    assert "KIND:       Deployment" in out
    assert "FIELD: strategy <DeploymentStrategy>" in out
    assert "rollingUpdate" in out
    assert "containers" in cluster("explain", "pod.spec").out
    recursive = cluster("explain", "configmap", "--recursive").out
    assert "binaryData\t<map[string]string>" in recursive
    missing = cluster("explain", "pod.spec.nothing", fails=True)
    assert 'field "nothing" does not exist' in missing.err


def test_version(cluster: Kubectl) -> None:
    """Client and server versions are shown, near enough for no warning."""
    shown = cluster("version")
    assert "Server Version: v1." in shown.out
    server = int(json.loads(cluster("version", "-o", "json").out)["serverVersion"]["minor"])
    assert ("WARNING" in shown.err) is (abs(cluster.minor - server) > 1 and cluster.minor != NEWEST_MINOR)
    assert json.loads(cluster("version", "-o", "json").out)["serverVersion"]["major"] == "1"


def test_cluster_info(cluster: Kubectl) -> None:
    """The address of the control plane is shown."""
    assert "control plane" in cluster("cluster-info").out


def test_rights(cluster: Kubectl) -> None:
    """`auth can-i` asks the server; the administrator may do everything, `auth whoami` prints the user."""
    assert cluster("auth", "can-i", "create", "deployments").out == "yes\n"
    assert cluster("auth", "can-i", "*", "*").out == "yes\n"
    assert cluster("auth", "can-i", "get", "pods", "--subresource=log").out == "yes\n"
    assert "system:masters" in cluster("auth", "whoami").out
    assert cluster("auth", "can-i", "--list").words[0][:2] == ["Resources", "Non-Resource"]


def test_server_without_its_secret(cluster: Kubectl, sandbox_only: None, tmp_path: Path) -> None:
    """Someone who knows the port but not the secret of the URL may do nothing."""
    config = yaml.safe_load(cluster.kubeconfig.read_text())
    config["clusters"][0]["cluster"]["server"] += "wrong"
    stranger = Kubectl(cluster.binary, tmp_path / "kubeconfig", tmp_path)
    stranger.kubeconfig.write_text(yaml.safe_dump(config))
    refused = stranger("get", "--raw", "/api/v1/secrets", fails=True)
    # older ones leave the path of the server's URL, wrong or right, out of --raw
    assert refused.err.startswith("Error from server (Forbidden): ")
    assert 'User "system:anonymous" cannot ' in refused.err


def test_config(cluster: Kubectl) -> None:
    """The context of the kubeconfig is the current one."""
    context = cluster("config", "current-context").out.strip()
    assert context in cluster("config", "get-contexts", "-o", "name").lines
