"""delete and wait: cascades, finalizers, namespaces."""

from __future__ import annotations

import pytest

from support.builders.manifests import CONFIG, DEPLOYMENT
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl

_HELD = CONFIG.replace("labels:", "finalizers: [example.com/held], labels:")


def _running(kubectl: Kubectl) -> None:
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")


def test_delete_by_name_and_by_label(kubectl: Kubectl) -> None:
    """Named or selected objects go; deleting them again is an error, by default."""
    kubectl("create", "-f", "-", stdin=CONFIG)
    gone = kubectl("delete", "cm", "settings")
    # newer ones add the namespace
    where = f" from {kubectl.namespace} namespace"
    assert gone.out.replace(where, "") == 'configmap "settings" deleted\n'
    again = kubectl("delete", "cm", "settings", fails=True)
    assert again.err == 'Error from server (NotFound): configmaps "settings" not found\n'
    assert kubectl("delete", "cm", "settings", "--ignore-not-found").out == ""
    kubectl("create", "-f", "-", stdin=CONFIG)
    assert '"settings" deleted' in kubectl("delete", "cm", "-l", "app=web").out
    assert "No resources found" in kubectl("delete", "cm", "-l", "app=web").out


def test_delete_by_file(kubectl: Kubectl) -> None:
    """-f deletes what the file describes."""
    kubectl("create", "-f", "-", stdin=f"{CONFIG}\n---\n{DEPLOYMENT}")
    gone = kubectl("delete", "-f", "-", stdin=f"{CONFIG}\n---\n{DEPLOYMENT}")
    assert [line.split()[1] for line in gone.lines] == ['"settings"', '"web"']


def test_background_cascade(kubectl: Kubectl) -> None:
    """Deleting a Deployment takes its ReplicaSets and pods along."""
    _running(kubectl)
    kubectl("delete", "deployment", "web")
    kubectl("wait", "--for=delete", "pods", "-l", "app=web")
    assert kubectl("get", "rs", "-o", "name").out == ""


def test_foreground_cascade(kubectl: Kubectl) -> None:
    """With foreground the command returns when the pods have gone as well."""
    _running(kubectl)
    kubectl("delete", "deployment", "web", "--cascade=foreground")
    assert kubectl("get", "deployment,rs,pods", "-o", "name").out == ""


def test_orphan_cascade(kubectl: Kubectl) -> None:
    """With orphan the ReplicaSet and its pods stay, without their owner."""
    _running(kubectl)
    kubectl("delete", "deployment", "web", "--cascade=orphan")
    kubectl.until(lambda: kubectl.value(".items[0].metadata.ownerReferences", "rs") == "")
    assert len(kubectl("get", "pods", "-o", "name").lines) == 2
    assert kubectl("get", "rs", "--no-headers").words[0][1:4] == ["2", "2", "2"]


def test_finalizer_holds_an_object(kubectl: Kubectl) -> None:
    """A held object stays with a deletion time until its finalizer goes; delete waits for that."""
    kubectl("create", "-f", "-", stdin=_HELD)
    kubectl("delete", "cm", "settings", "--wait=false")
    assert kubectl.value(".metadata.deletionTimestamp", "cm", "settings")
    late = kubectl("delete", "cm", "settings", "--timeout=1s", fails=True)
    assert "timed out waiting for the condition" in late.err
    with kubectl.following("delete", "cm", "settings") as follower:
        follower.wait_for(lambda lines: any("deleted" in line for line in lines))
        kubectl("patch", "cm", "settings", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
        kubectl("wait", "--for=delete", "cm/settings", "--timeout=60s")
    kubectl("get", "cm", "settings", fails=True)


def test_delete_pods(kubectl: Kubectl) -> None:
    """A deleted pod terminates and is replaced; --force removes one at once."""
    _running(kubectl)
    first, second = kubectl("get", "pods", "-o", "name").lines
    kubectl("delete", first)
    kubectl.run("get", first)
    kubectl.until(lambda: kubectl("get", "deployment", "web").words[1][1] == "2/2")
    forced = kubectl("delete", second, "--force", "--grace-period=0")
    assert "Immediate deletion does not wait for confirmation" in forced.err
    assert first not in kubectl("get", "pods", "-o", "name").lines
    assert second not in kubectl("get", "pods", "-o", "name").lines


def test_namespace_with_content(kubectl: Kubectl) -> None:
    """Deleting a namespace takes everything in it; afterwards nothing can be listed or made there."""
    _running(kubectl)
    kubectl("create", "-f", "-", stdin=CONFIG)
    kubectl("delete", "namespace", kubectl.namespace)
    kubectl("get", "ns", kubectl.namespace, fails=True)
    assert kubectl("get", "all,cm,sa,events", "-o", "name").out == ""
    refused = kubectl("create", "-f", "-", stdin=CONFIG, fails=True)
    assert f'namespaces "{kubectl.namespace}" not found' in refused.err


def test_terminating_namespace(kubectl: Kubectl) -> None:
    """A namespace whose content is held shows why, takes nothing new, and goes when it is let go."""
    kubectl("create", "-f", "-", stdin=_HELD)
    kubectl("delete", "namespace", kubectl.namespace, "--wait=false")
    reason = ".status.conditions[?(@.type=='NamespaceFinalizersRemaining')].message"
    text = "Some content in the namespace has finalizers remaining: example.com/held in 1 resource instances"
    kubectl.until(lambda: kubectl.value(reason, "ns", kubectl.namespace) == text)
    assert kubectl("get", "ns", kubectl.namespace).words[1][1] == "Terminating"
    refused = kubectl("create", "cm", "more", fails=True)
    assert (
        f"unable to create new content in namespace {kubectl.namespace} because it is being terminated"
        in refused.err
    )
    kubectl("patch", "cm", "settings", "--type=merge", "-p", '{"metadata":{"finalizers":null}}')
    kubectl("wait", "--for=delete", f"namespace/{kubectl.namespace}", "--timeout=60s")


def test_wait_for_conditions(kubectl: Kubectl) -> None:
    """`wait` returns when a condition or a field has its value, and fails when the time is over."""
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    met = kubectl("wait", "--for=condition=Available", "deployment/web", "--timeout=60s")
    assert met.out == "deployment.apps/web condition met\n"
    assert (
        "condition met" in kubectl("wait", "--for=jsonpath={.status.readyReplicas}=2", "deployment/web").out
    )
    kubectl("wait", "--for=condition=Ready", "pods", "--all")
    late = kubectl("wait", "--for=condition=Nothing", "deployment/web", "--timeout=1s", fails=True)
    assert "timed out waiting for the condition on deployments/web" in late.err


def test_wait_for_creation(kubectl: Kubectl) -> None:
    """`wait --for=create` waits for an object that is not there yet."""
    with kubectl.following("wait", "--for=create", "cm/settings", "--timeout=60s") as follower:
        kubectl("create", "-f", "-", stdin=CONFIG)
        follower.wait_for(lambda lines: "configmap/settings condition met" in lines)


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_default_namespaces_are_protected(cluster: Kubectl, name: str) -> None:
    """The namespaces of the system cannot be deleted."""
    refused = cluster("delete", "namespace", name, fails=True)
    assert f'namespaces "{name}" is forbidden: this namespace may not be deleted' in refused.err
