"""Commands that change parts of an object: edit, patch, label, annotate, set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.builders.manifests import CONFIG, DEPLOYMENT
from support.servers.kubectl import Kubectl

pytestmark = pytest.mark.kubectl


@pytest.fixture
def settings(kubectl: Kubectl) -> Kubectl:
    """A ConfigMap to change."""
    kubectl("create", "-f", "-", stdin=CONFIG)
    return kubectl


def _editor(folder: Path, script: str) -> str:
    """An editor that runs sed."""
    path = folder / "editor"
    path.write_text(f'#!/bin/sh\nsed -i "{script}" "$1"\n')
    path.chmod(0o755)
    return str(path)


def test_edit(settings: Kubectl, tmp_path: Path) -> None:
    """What the editor changes is stored; closing it without a change does nothing."""
    changed = settings("edit", "cm", "settings", KUBE_EDITOR=_editor(tmp_path, "s/blue/red/"))
    assert changed.out == "configmap/settings edited\n"
    assert settings.value(".data.color", "cm", "settings") == "red"
    same = settings("edit", "cm", "settings", KUBE_EDITOR=_editor(tmp_path, ""))
    assert "Edit cancelled, no changes made" in same.out + same.err


def test_edit_with_an_error(kubectl: Kubectl, tmp_path: Path) -> None:
    """An edit that breaks a rule is not stored."""
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    editor = _editor(tmp_path, "s/replicas: 2/replicas: -1/")
    refused = kubectl("edit", "deployment", "web", KUBE_EDITOR=editor, fails=True)
    assert 'deployments.apps "web" is invalid' in refused.err
    assert kubectl.value(".spec.replicas", "deployment", "web") == "2"


def test_merge_patch(settings: Kubectl) -> None:
    """Null removes a field; a patch that changes nothing is reported as such."""
    patch = '{"data":{"color":null,"shape":"round"}}'
    assert (
        settings("patch", "cm", "settings", "--type=merge", "-p", patch).out == "configmap/settings patched\n"
    )
    assert settings.json("get", "cm", "settings")["data"] == {"size": "large", "shape": "round"}
    again = settings("patch", "cm", "settings", "--type=merge", "-p", patch)
    assert again.out == "configmap/settings patched (no change)\n"


def test_json_patch(settings: Kubectl) -> None:
    """Operations are carried out in order; a failed test refuses all of them."""
    operations = [
        {"op": "test", "path": "/data/color", "value": "blue"},
        {"op": "replace", "path": "/data/color", "value": "red"},
        {"op": "add", "path": "/data/shape", "value": "round"},
    ]
    settings("patch", "cm", "settings", "--type=json", "-p", json.dumps(operations))
    assert settings.json("get", "cm", "settings")["data"] == {
        "color": "red",
        "size": "large",
        "shape": "round",
    }
    refused = settings("patch", "cm", "settings", "--type=json", "-p", json.dumps(operations), fails=True)
    assert refused.err.startswith("The request is invalid: the server rejected our request")
    assert settings.value(".data.color", "cm", "settings") == "red"


def test_strategic_patch(kubectl: Kubectl) -> None:
    """A container is found by its name and only what the patch names changes; $patch: delete removes one."""
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl(
        "patch",
        "deployment",
        "web",
        "-p",
        _containers({"name": "nginx", "image": "nginx:2"}, {"name": "b", "image": "i"}),
    )
    first, second = kubectl.json("get", "deployment", "web")["spec"]["template"]["spec"]["containers"]
    assert sorted([first["image"], second["image"]]) == ["i", "nginx:2"]
    assert next(c for c in (first, second) if c["name"] == "nginx")["ports"][0]["containerPort"] == 8080
    kubectl("patch", "deployment", "web", "-p", _containers({"name": "b", "$patch": "delete"}))
    assert kubectl.value(".spec.template.spec.containers[*].name", "deployment", "web") == "nginx"


def _containers(*containers: dict[str, str]) -> str:
    return json.dumps({"spec": {"template": {"spec": {"containers": list(containers)}}}})


def test_patch_of_subresources(kubectl: Kubectl) -> None:
    """--subresource changes the status or the scale and nothing else."""
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")
    pod = kubectl("get", "pods", "-o", "name").lines[0]
    condition = {"type": "example.com/checked", "status": "True"}
    patch = json.dumps({"spec": {"nodeName": "x"}, "status": {"conditions": [condition]}})
    kubectl("patch", pod, "--subresource=status", "-p", patch)
    assert kubectl.value(".status.conditions[?(@.type=='example.com/checked')].status", pod) == "True"
    assert kubectl.value(".spec.nodeName", pod) != "x"
    kubectl(
        "patch", "deployment", "web", "--subresource=scale", "--type=merge", "-p", '{"spec":{"replicas":1}}'
    )
    assert kubectl.value(".spec.replicas", "deployment", "web") == "1"
    assert kubectl.value(".kind", "deployment", "web", "--subresource=scale") == "Scale"


def test_label(settings: Kubectl) -> None:
    """Labels are set, not overwritten without leave, and removed."""
    assert settings("label", "cm", "settings", "tier=front").out == "configmap/settings labeled\n"
    refused = settings("label", "cm", "settings", "tier=back", fails=True)
    assert "already has a value (front), and --overwrite is false" in refused.err
    settings("label", "cm", "settings", "tier=back", "--overwrite")
    settings("label", "cm", "settings", "app-")
    assert settings.json("get", "cm", "settings")["metadata"]["labels"] == {"tier": "back"}
    invalid = settings("label", "cm", "settings", "tier=not valid", "--overwrite", fails=True)
    assert "a valid label must be an empty string or consist of alphanumeric characters" in invalid.err


def test_annotate(settings: Kubectl) -> None:
    """Annotations are set and removed."""
    assert settings("annotate", "cm", "settings", "note=some text").out == "configmap/settings annotated\n"
    assert settings.value(".metadata.annotations.note", "cm", "settings") == "some text"
    settings("annotate", "cm", "settings", "note-")
    assert settings.value(".metadata.annotations", "cm", "settings") == ""


def test_set(kubectl: Kubectl) -> None:
    """`set image`, `set env` and `set resources` change the template."""
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    assert (
        kubectl("set", "image", "deployment/web", "nginx=nginx:9").out
        == "deployment.apps/web image updated\n"
    )
    assert kubectl("set", "env", "deployment/web", "A=b").out == "deployment.apps/web env updated\n"
    kubectl("set", "resources", "deployment/web", "--limits=cpu=200m")
    (container,) = kubectl.json("get", "deployment", "web")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "nginx:9"
    assert container["env"] == [{"name": "A", "value": "b"}]
    assert container["resources"] == {"limits": {"cpu": "200m"}}
    assert "A=b" in kubectl("set", "env", "deployment/web", "--list").out


def test_scale(kubectl: Kubectl) -> None:
    """`scale` sets the size, on condition of the present one if asked."""
    kubectl("create", "-f", "-", stdin=DEPLOYMENT)
    kubectl("rollout", "status", "deployment/web")
    assert kubectl("scale", "deployment/web", "--replicas=3").out == "deployment.apps/web scaled\n"
    kubectl("wait", "--for=jsonpath={.status.availableReplicas}=3", "deployment/web")
    refused = kubectl("scale", "deployment/web", "--current-replicas=7", "--replicas=1", fails=True)
    assert "Expected replicas to be 7, was 3" in refused.err
    kubectl("scale", "deployment/web", "--current-replicas=3", "--replicas=0")
    kubectl("wait", "--for=delete", "pods", "-l", "app=web")
    assert kubectl("get", "deployment", "web").words[1][1] == "0/0"
