from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from handloop.apis.crd import custom_resource_definition
from handloop.apis.grammar.yaml_text import to_yaml
from handloop.client.config import load_config
from handloop.controller.cli.definition_source import SourceError, of_cluster, of_files
from handloop.controller.foo.types import Foo
from handloop.controller.myapp.types import MyApp
from handloop.testing.running_sandbox import running_sandbox

FOO, MYAPP = (custom_resource_definition(kind) for kind in (Foo, MyApp))
NAMES = {"foos.samplecontroller.k8s.io", "myapps.example.com"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One with two definitions, and what is none."""
    crds = tmp_path / "manifests/crd"
    crds.mkdir(parents=True)
    (crds / "foo.yaml").write_text(to_yaml(FOO) + "---\nkind: ConfigMap\n---\n", encoding="utf-8")
    listed = json.dumps({"kind": "List", "items": [MYAPP]})
    (crds / "list.json").write_text(listed, encoding="utf-8")
    (crds / "readme.md").write_text("kind: CustomResourceDefinition", encoding="utf-8")
    return tmp_path


def test_files_and_folders(folder: Path) -> None:
    """Every document and every item of a list that is one."""
    assert set(of_files(str(folder))) == NAMES
    assert of_files(str(folder / "manifests/crd/foo.yaml"))["foos.samplecontroller.k8s.io"] == FOO


def test_a_revision_of_git(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """manifests/crd there, or a path; what changed since does not count."""
    monkeypatch.chdir(folder)
    for words in (
        ("init", "-q"),
        ("add", "."),
        ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-qm", "a"),
        ("tag", "v1.0.0"),
    ):
        subprocess.run(["git", *words], check=True)
    (folder / "manifests/crd/foo.yaml").unlink()
    assert set(of_files("git:v1.0.0")) == NAMES
    assert set(of_files("git:v1.0.0:manifests/crd/foo.yaml")) == {"foos.samplecontroller.k8s.io"}
    monkeypatch.chdir("manifests")
    assert set(of_files("git:v1.0.0:crd")) == NAMES
    for wrong, says in (
        ("git:v9", "Not a valid object name v9"),
        ("git:--help", "write git:REV"),
        ("git:", "write git:REV"),
        ("git:v1.0.0:nothing", "has no CustomResourceDefinition"),
    ):
        with pytest.raises(SourceError, match=says):
            of_files(wrong)


@pytest.mark.parametrize(
    ("text", "says"),
    [("a: [", "while parsing"), ("kind: ConfigMap", "has no CustomResourceDefinition"), ("- 1", "has no")],
)
def test_what_has_none_is_told(tmp_path: Path, text: str, says: str) -> None:
    """With the place."""
    path = tmp_path / "a.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SourceError, match=says) as refused:
        of_files(str(path))
    assert str(path) in str(refused.value)
    with pytest.raises(SourceError, match="No such file"):
        of_files(str(tmp_path / "nothing"))


def test_a_cluster_has_some_of_them(tmp_path: Path) -> None:
    """Those that are installed, with what is stored."""
    with running_sandbox(tmp_path) as sandbox:
        sandbox.apply(FOO)
        found = of_cluster(load_config(kubeconfig=str(sandbox.kubeconfig)), NAMES)
        assert found["foos.samplecontroller.k8s.io"]["status"]["storedVersions"] == ["v1alpha1"]
        assert len(found) == 1
        with sandbox.faults.error(503), pytest.raises(SourceError, match="the cluster answers 503: "):
            of_cluster(load_config(kubeconfig=str(sandbox.kubeconfig)), NAMES)
