from __future__ import annotations

import pytest

from support.builders.manifests import CONFIG, DEPLOYMENT, SERVICE
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl


def test_create_change_and_leave_alone(kubectl: Kubectl) -> None:
    """`apply` creates, then changes only the differences, and prints which."""
    assert kubectl("apply", "-f", "-", stdin=DEPLOYMENT).out == "deployment.apps/web created\n"
    before = kubectl.value(".metadata.generation", "deployment", "web")
    assert kubectl("apply", "-f", "-", stdin=DEPLOYMENT).out == "deployment.apps/web unchanged\n"
    assert kubectl.value(".metadata.generation", "deployment", "web") == before
    changed = kubectl("apply", "-f", "-", stdin=DEPLOYMENT.replace("replicas: 2", "replicas: 3"))
    assert changed.out == "deployment.apps/web configured\n"
    assert kubectl.value(".spec.replicas", "deployment", "web") == "3"


def test_removed_fields_go(kubectl: Kubectl) -> None:
    """Fields that were applied before and are no longer in the manifest are removed; those of others stay."""
    kubectl("apply", "-f", "-", stdin=CONFIG)
    kubectl("patch", "cm", "settings", "--type=merge", "-p", '{"data":{"extra":"mine"}}')
    kubectl("apply", "-f", "-", stdin=CONFIG.replace("color: blue, ", ""))
    assert kubectl.json("get", "cm", "settings")["data"] == {"size": "large", "extra": "mine"}


def test_lists_are_merged_by_key(kubectl: Kubectl) -> None:
    """A container someone else added survives an apply that changes the other."""
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    sidecar = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"busybox"}]}}}}'
    kubectl("patch", "deployment", "web", "-p", sidecar)
    kubectl("apply", "-f", "-", stdin=DEPLOYMENT.replace("nginx:1.25", "nginx:1.26"))
    images = kubectl.value(".spec.template.spec.containers[*].image", "deployment", "web")
    assert sorted(images.split()) == ["busybox", "nginx:1.26"]


def test_several_documents(kubectl: Kubectl) -> None:
    """All documents of a file are applied, in order."""
    applied = kubectl("apply", "-f", "-", stdin=f"{CONFIG}\n---\n{DEPLOYMENT}\n---\n{SERVICE}")
    assert applied.lines == [
        "configmap/settings created",
        "deployment.apps/web created",
        "service/web created",
    ]


def test_server_side(kubectl: Kubectl) -> None:
    """Two managers conflict over a field they both set, until one of them forces it."""
    first = kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", stdin=CONFIG)
    assert first.out == "configmap/settings serverside-applied\n"
    other = CONFIG.replace("blue", "red")
    conflict = kubectl("apply", "--server-side", "--field-manager=two", "-f", "-", stdin=other, fails=True)
    assert 'conflict with "one": .data.color' in conflict.err
    assert kubectl.value(".data.color", "cm", "settings") == "blue"
    kubectl("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-", stdin=other)
    assert kubectl.value(".data.color", "cm", "settings") == "red"
    kubectl(
        "apply", "--server-side", "--field-manager=two", "-f", "-", stdin=other.replace(", size: large", "")
    )
    assert kubectl.json("get", "cm", "settings")["data"] == {"color": "red", "size": "large"}


def test_server_side_of_a_deployment(kubectl: Kubectl) -> None:
    """A Deployment applied server-side rolls out, and a field left out of the next apply is given back."""
    kubectl("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")
    kubectl("apply", "--server-side", "-f", "-", stdin=DEPLOYMENT.replace("  replicas: 2\n", ""))
    assert kubectl.value(".spec.replicas", "deployment", "web") == "1"


def test_diff(kubectl: Kubectl) -> None:
    """`diff` exits 0 without and 1 with differences, which it shows, and changes nothing."""
    kubectl("apply", "-f", "-", stdin=CONFIG)
    assert kubectl("diff", "-f", "-", stdin=CONFIG).out == ""
    shown = kubectl.run("diff", "-f", "-", stdin=CONFIG.replace("blue", "red"))
    assert shown.code == 1
    assert "-  color: blue\n+  color: red" in shown.out
    assert kubectl.value(".data.color", "cm", "settings") == "blue"


def test_replace(kubectl: Kubectl) -> None:
    """`replace` puts the whole object; one from before a change is a conflict."""
    kubectl("create", "-f", "-", stdin=CONFIG)
    old = kubectl("get", "cm", "settings", "-o", "yaml").out
    replaced = kubectl("replace", "-f", "-", stdin=CONFIG.replace("blue", "red"))
    assert replaced.out == "configmap/settings replaced\n"
    stale = kubectl("replace", "-f", "-", stdin=old, fails=True)
    assert "the object has been modified; please apply your changes to the latest version" in stale.err


def test_view_of_the_last_applied(kubectl: Kubectl) -> None:
    """`apply view-last-applied` shows the last applied manifest."""
    kubectl("apply", "-f", "-", stdin=CONFIG)
    assert "color: blue" in kubectl("apply", "view-last-applied", "cm/settings").out
