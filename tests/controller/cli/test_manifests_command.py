"""Generated manifests, and that those in the repository are what the generator makes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from controller.cli.manifests_command import manifests
from controller.cli.options import Options

MANIFESTS = Path(__file__).parents[3] / "manifests"


@pytest.mark.parametrize(
    ("what", "path"), [("crd", "crd/samplecontroller.k8s.io_foos.yaml"), ("rbac", "rbac/role.yaml")]
)
def test_the_repository_holds_what_the_generator_makes(what: str, path: str) -> None:
    """A change of the types or of the declared access shows up here: `make manifests` mends it."""
    assert (MANIFESTS / path).read_text(encoding="utf-8") == manifests(
        Options(command="manifests", what=what)
    )


def test_a_namespace_makes_a_role() -> None:
    """`manifests rbac -n demo` needs no cluster-wide rights."""
    document = yaml.safe_load(manifests(Options(command="manifests", what="rbac", namespace="demo")))
    assert (document["kind"], document["metadata"]["namespace"]) == ("Role", "demo")


def test_kustomizations_name_files_that_exist() -> None:
    """Every resource of every kustomization is there."""
    for kustomization in MANIFESTS.rglob("kustomization.yaml"):
        for resource in yaml.safe_load(kustomization.read_text(encoding="utf-8"))["resources"]:
            assert (kustomization.parent / resource).exists(), f"{kustomization}: {resource}"


def test_grace_period_is_longer_than_the_drain() -> None:
    """The kubelet must not kill what is still finishing: grace period > --shutdown-timeout."""
    deployment = yaml.safe_load((MANIFESTS / "manager/deployment.yaml").read_text(encoding="utf-8"))
    pod = deployment["spec"]["template"]["spec"]
    arguments = dict(argument.lstrip("-").split("=") for argument in pod["containers"][0]["args"])
    assert pod["terminationGracePeriodSeconds"] > int(arguments["shutdown-timeout"].removesuffix("s"))


def test_the_pod_is_hardened() -> None:
    """Restricted pod security: no root, no privileges, no capabilities, a read-only root."""
    deployment = yaml.safe_load((MANIFESTS / "manager/deployment.yaml").read_text(encoding="utf-8"))
    pod = deployment["spec"]["template"]["spec"]
    container = pod["containers"][0]["securityContext"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
