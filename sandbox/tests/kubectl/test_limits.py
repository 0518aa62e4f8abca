from __future__ import annotations

from pathlib import Path

import pytest

from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl


@pytest.fixture
def pod(kubectl: Kubectl) -> Kubectl:
    """A pod that runs."""
    kubectl("run", "p", "--image=nginx")
    kubectl("wait", "--for=condition=Ready", "pod/p")
    return kubectl


@pytest.mark.parametrize("what", ["pods", "nodes"])
def test_top_needs_a_metrics_server(cluster: Kubectl, what: str) -> None:
    """`top` answers that metrics are not available."""
    assert cluster("top", what, fails=True).err == "error: Metrics API not available\n"


@pytest.mark.usefixtures("sandbox_only")
@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("exec", "p", "--", "ls"), "execute in"),
        (("attach", "p"), "attach to"),
        (("cp", "p:/etc/hostname", "hostname"), "execute in"),
        (("port-forward", "pod/p", "8080:80"), "forward to"),
    ],
)
def test_nothing_enters_a_container(pod: Kubectl, command: tuple[str, ...], what: str) -> None:
    """There are no containers: the refusal names that, and where there are some."""
    expected = f"the sandbox runs no containers, so you cannot {what} one: use a real cluster for this"
    assert expected in pod(*command, fails=True).err


def test_quota(kubectl: Kubectl) -> None:
    """A quota counts what there is and refuses what would be too much."""
    kubectl("create", "quota", "q", "--hard=count/secrets=1,services=0")
    kubectl("wait", "--for=jsonpath={.status.used.services}=0", "quota/q")
    kubectl("create", "secret", "generic", "one")
    refused = kubectl("create", "secret", "generic", "two", fails=True)
    expected = (
        "exceeded quota: q, requested: count/secrets=1, used: count/secrets=1, limited: count/secrets=1"
    )
    assert expected in refused.err
    kubectl("wait", "--for=jsonpath={.status.used.count/secrets}=1", "quota/q")
    rows = kubectl("describe", "quota", "q").words
    assert ["count/secrets", "1", "1"] in rows
    assert ["services", "0", "0"] in rows
    kubectl("delete", "secret", "one")
    kubectl("wait", "--for=jsonpath={.status.used.count/secrets}=0", "quota/q")
    kubectl("create", "secret", "generic", "two")


def test_kustomize(kubectl: Kubectl, tmp_path: Path) -> None:
    """`apply -k` and `delete -k` take what a kustomization makes."""
    (tmp_path / "map.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: base}\n")
    (tmp_path / "kustomization.yaml").write_text("namePrefix: my-\nresources: [map.yaml]\n")
    assert kubectl("apply", "-k", str(tmp_path)).out == "configmap/my-base created\n"
    assert kubectl("diff", "-k", str(tmp_path)).out == ""
    assert kubectl("delete", "-k", str(tmp_path)).out.startswith('configmap "my-base" deleted')


def test_roles_are_reconciled(kubectl: Kubectl) -> None:
    """`auth reconcile` adds the rules that a role lacks, and prints them."""
    kubectl("create", "role", "r", "--verb=get", "--resource=pods")
    rules = "[{apiGroups: [''], resources: [pods], verbs: [get, list]}]"
    metadata = f"{{name: r, namespace: {kubectl.namespace}}}"
    kind = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role"
    manifest = f"{kind}\nmetadata: {metadata}\nrules: {rules}\n"
    told = kubectl("auth", "reconcile", "-f", "-", stdin=manifest)
    assert told.out == "role.rbac.authorization.k8s.io/r reconciled\n"
    assert "missing rules added:" in told.err
    assert "list" in kubectl("describe", "role", "r").out


def test_a_debug_container_is_added(pod: Kubectl) -> None:
    """`debug` adds an ephemeral container to a pod that runs."""
    pod("debug", "p", "--image=busybox", "--container=look")
    assert pod.value(".spec.ephemeralContainers[*].name", "pod", "p") == "look"
