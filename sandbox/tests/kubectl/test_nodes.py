from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.servers.kubectl import Kubectl

pytestmark = [pytest.mark.kubectl, pytest.mark.usefixtures("sandbox_only")]

NODES = ("sandbox-0", "sandbox-1")
DRAIN = ("drain", *NODES, "--ignore-daemonsets", "--force")


@pytest.fixture
def nodes(kubectl: Kubectl) -> Iterator[Kubectl]:
    """Nodes that take pods again afterwards."""
    yield kubectl
    kubectl("uncordon", *NODES)


def test_taint(kubectl: Kubectl) -> None:
    """A taint is put on, changed only with --overwrite, and taken off."""
    assert kubectl("taint", "nodes", "sandbox-0", "a=b:NoSchedule").out == "node/sandbox-0 tainted\n"
    again = kubectl("taint", "nodes", "sandbox-0", "a=c:NoSchedule", fails=True)
    assert "already has a taint(s) with same effect(s) and --overwrite is false" in again.err
    changed = kubectl("taint", "nodes", "sandbox-0", "a=c:NoSchedule", "--overwrite")
    assert changed.out == "node/sandbox-0 modified\n"
    assert kubectl.value(".spec.taints[*].value", "node", "sandbox-0") == "c"
    assert kubectl("taint", "nodes", "sandbox-0", "a:NoSchedule-").out == "node/sandbox-0 untainted\n"
    gone = kubectl("taint", "nodes", "sandbox-0", "a:NoSchedule-", fails=True)
    assert 'taint "a:NoSchedule" not found' in gone.err


def test_drain(nodes: Kubectl) -> None:
    """Draining cordons a node and evicts its pods; one without a controller needs --force."""
    nodes("run", "alone", "--image=nginx")
    nodes("wait", "--for=condition=Ready", "pod/alone")
    careful = nodes("drain", *NODES, "--ignore-daemonsets", "--timeout=1s", fails=True)
    assert "cannot delete Pods that declare no controller (use --force to override)" in careful.err
    assert "SchedulingDisabled" in nodes("get", "nodes").out
    drained = nodes(*DRAIN).out
    assert "pod/alone evicted" in drained
    assert all(f"node/{node} drained" in drained for node in NODES)
    assert nodes("get", "pods").err.startswith("No resources found")


def test_drain_keeps_a_budget(nodes: Kubectl) -> None:
    """A pod that its PodDisruptionBudget needs is not evicted, and the budget shows why."""
    nodes("create", "deployment", "web", "--image=nginx")
    nodes("create", "pdb", "web", "--selector=app=web", "--min-available=1")
    nodes("wait", "--for=jsonpath={.status.currentHealthy}=1", "pdb/web")
    header, row = nodes("get", "pdb", "web").words
    assert (header[5:7], row[3]) == (["ALLOWED", "DISRUPTIONS"], "0")
    refused = nodes(*DRAIN, "--timeout=1s", fails=True)
    assert "Cannot evict pod as it would violate the pod's disruption budget." in refused.err
    nodes("patch", "pdb", "web", "--type=merge", "--patch", '{"spec":{"minAvailable":0}}')
    nodes("wait", "--for=jsonpath={.status.disruptionsAllowed}=1", "pdb/web")
    assert "evicted" in nodes(*DRAIN).out
