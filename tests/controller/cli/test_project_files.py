"""What `bundle` and `chart` read of a project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from handloop.apis.grammar.yaml_text import to_yaml
from handloop.controller.cli.flags import UsageError
from handloop.controller.cli.project_files import container_options, project_table, read_deployment
from handloop.controller.program import PROGRAM


def deployment(*containers: str, annotations: dict[str, str] | None = None) -> dict[str, Any]:
    """A Deployment with containers of these names."""
    pod = {
        "metadata": {"annotations": annotations or {}},
        "spec": {"containers": [{"name": n} for n in containers]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "a"},
        "spec": {"selector": {}, "template": pod},
    }


@pytest.mark.parametrize(
    ("documents", "told"),
    [
        ([], "has 0 Deployments"),
        ([deployment("a"), deployment("b")], "has 2 Deployments"),
        ([deployment("a", "b")], "has 2 containers, but does not say which one is the operator"),
        ([{**deployment("a"), "metadata": {}}], "has a Deployment without a name"),
        ([{**deployment("a"), "spec": {"replicas": "two", "selector": {}}}], "is not valid: Expected `int"),
    ],
)
def test_a_deployment_that_is_not_clear_is_refused(
    tmp_path: Path, documents: list[dict[str, Any]], told: str
) -> None:
    """With the name of the file."""
    path = tmp_path / "deployment.yaml"
    path.write_text("---\n".join(map(to_yaml, documents)), encoding="utf-8")
    with pytest.raises(UsageError, match=r"deployment\.yaml") as caught:
        read_deployment(path)
    assert told in str(caught.value)


def test_the_first_container_may_be_named(tmp_path: Path) -> None:
    """By kubectl's annotation."""
    path = tmp_path / "deployment.yaml"
    named = deployment("a", "b", annotations={"kubectl.kubernetes.io/default-container": "a"})
    path.write_text(to_yaml(named), encoding="utf-8")
    assert read_deployment(path)["spec"]["template"]["spec"]["containers"][0] == {"name": "a"}


def test_flags_are_read_as_in_a_pod() -> None:
    """The lease is in the pod's namespace, which is not known yet; help is no flag of a Deployment."""
    assert container_options(PROGRAM, {"args": ["--leader-elect"]}).leader_elect
    with pytest.raises(UsageError, match="ask for help"):
        container_options(PROGRAM, {"args": ["--help"]})


def test_a_folder_without_a_project_has_an_empty_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it says is optional."""
    monkeypatch.chdir(tmp_path)
    assert project_table(PROGRAM, "chart").version == ""
