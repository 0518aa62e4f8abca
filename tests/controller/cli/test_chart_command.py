"""
`chart` as people type it: the files, and what it refuses.

tests/manifests/test_helm.py shows what helm makes of them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from handloop.apis.grammar.yaml_text import to_yaml
from handloop.controller.cli.main import run_command
from support.builders.shop import shop, write_project
from support.checks.output import Ended


@pytest.fixture
def chart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Ended]:
    """Runs `chart` in a project."""
    folder = tmp_path / "sites"
    write_project(folder)
    monkeypatch.chdir(folder)

    def run_it(*words: str) -> Ended:
        return Ended(run_command(shop(), ["chart", *words]), *capsys.readouterr())

    return run_it


def files() -> dict[str, str]:
    """What was made, by path."""
    made = Path("manifests/charts")
    paths = (path for path in made.rglob("*") if path.is_file())
    return {str(path.relative_to(made)): path.read_text(encoding="utf-8") for path in paths}


def test_a_second_time_it_writes_the_same(chart: Callable[..., Ended]) -> None:
    """Byte for byte, and it names each file and the commands that install; a template of before goes."""
    ended = chart()
    assert (ended.code, ended.err) == (0, "")
    made = files()
    assert all(f"wrote: manifests/charts/{path}\n" in ended.out for path in made)
    assert (
        "next:\n  helm upgrade --install sites-crds manifests/charts/sites-crds --namespace sites-system"
        in ended.out
    )
    gone, mine = (Path(f"manifests/charts/sites/templates/{name}.yaml") for name in ("gone", "mine"))
    gone.write_text("# made by `sites chart`; do not edit\n", encoding="utf-8")
    mine.write_text("kind: Secret\n", encoding="utf-8")
    assert f"removed: {gone}\n" in chart().out
    assert files() == {**made, "sites/templates/mine.yaml": "kind: Secret\n"}


@pytest.mark.parametrize(
    ("words", "told", "fix"),
    [
        (["--version=1.0"], '"1.0" is not a semantic version', "--version 1.2.3"),
        (["--manifests=elsewhere"], "No such file", ""),
    ],
)
def test_a_mistake_is_reported_with_its_fix(
    chart: Callable[..., Ended], words: list[str], told: str, fix: str
) -> None:
    """And nothing is written."""
    ended = chart(*words)
    assert ended.code == (2 if fix else 1)
    assert told in ended.err
    assert fix in ended.err
    assert not Path("manifests/charts").exists()


def edited(change: Callable[[dict[str, Any]], object], place: str = "manager/deployment.yaml") -> None:
    """Change a file of the manifests."""
    path = Path("manifests", place)
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(to_yaml(document), encoding="utf-8")


def container(document: dict[str, Any]) -> dict[str, Any]:
    """The program's."""
    found: dict[str, Any] = document["spec"]["template"]["spec"]["containers"][0]
    return found


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("registry.example:5000/a/sites", ("registry.example:5000/a/sites", "", "")),
        ("sites:latest", ("sites", "", "")),
        ("registry.example:5000/sites:7", ("registry.example:5000/sites", "7", "")),
        ("sites:7@sha256:0a", ("sites", "7", "sha256:0a")),
    ],
)
def test_an_image_keeps_its_tag_and_digest(
    chart: Callable[..., Ended], image: str, parts: tuple[str, str, str]
) -> None:
    """`latest` is no version: the chart's is taken."""
    assert chart(f"--image={image}").code == 0
    values = yaml.safe_load(files()["sites/values.yaml"])["image"]
    assert (values["repository"], values["tag"], values["digest"]) == parts


@pytest.mark.parametrize(
    ("args", "env"),
    [
        (["--leader-elect", "false", "--workers=2"], []),
        (["--workers=2", "--shards", "4"], []),
        (["--workers=2", "-n", "a"], []),
        (["-na,b", "--workers=2", "-leader-elect=true"], []),
        (["--workers=2"], [{"name": "SITES_SHARDS", "value": "4"}]),
        (["--workers=2"], [{"name": "SITES_NAMESPACE", "value": "a"}]),
    ],
)
def test_what_is_a_value_is_no_argument(
    chart: Callable[..., Ended], args: list[str], env: list[dict[str, str]]
) -> None:
    """Election, shards and namespaces have their values from the Deployment, and nothing else says them."""
    edited(lambda one: container(one).update(args=args, env=env))
    assert chart().code == 0
    made = files()
    template, values = made["sites/templates/deployment.yaml"], yaml.safe_load(made["sites/values.yaml"])
    listed = {line.strip() for line in template.partition("args:")[2].splitlines()}
    assert not listed & {"- 'false'", "- a", "- '4'", "- -na,b", "- -leader-elect=true"}
    assert "- --workers=2" in listed
    assert "SITES_SHARDS" not in template
    assert "SITES_NAMESPACE" not in template
    given = "".join(args) + str(env)
    assert values["shards"] == (4 if "4" in given else 0)
    assert values["leaderElection"] is ("-leader-elect=true" in args)
    expected = ["a", "b"] if "-na,b" in args else ["a"] if "-n" in args or "NAMESPACE" in given else []
    assert values["namespaces"] == expected


def add_roles() -> None:
    """A file with the name of one that the chart makes."""
    edited(lambda one: one["resources"].append("roles.yaml"), "rbac/kustomization.yaml")
    text = "kind: Role\nmetadata: {name: mine}\n"
    Path("manifests/rbac/roles.yaml").write_text(text, encoding="utf-8")


ELSEWHERE = "--leader-elect-resource-namespace=ops"


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (
            lambda: edited(lambda one: container(one)["args"].append("--leader-elect-resource-name=abc")),
            "the Deployment sets --leader-elect-resource-name, but a chart's lease is named after",
        ),
        (
            lambda: edited(lambda one: container(one)["args"].append(ELSEWHERE)),
            "the Deployment sets --leader-elect-resource-namespace",
        ),
        (
            lambda: edited(lambda one: one["metadata"].pop("name"), "manager/pod_disruption_budget.yaml"),
            "manager/pod_disruption_budget.yaml has a PodDisruptionBudget without a name",
        ),
        (
            add_roles,
            "two manifest files would become the template roles.yaml",
        ),
    ],
)
def test_what_no_chart_can_say_is_refused(
    chart: Callable[..., Ended], spoil: Callable[[], object], told: str
) -> None:
    """With the place, and nothing is written."""
    spoil()
    ended = chart()
    assert (ended.code, told in ended.err) == (2, True), ended.err
    assert not Path("manifests/charts").exists()


def test_only_what_kustomize_would_apply_is_a_template(chart: Callable[..., Ended]) -> None:
    """Not a patch beside the objects; but what stands in the Deployment's file; empty labels are none."""
    Path("manifests/default/patch.yaml").write_text(
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: sites}\n", encoding="utf-8"
    )
    path = Path("manifests/manager/deployment.yaml")
    config = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: sites-settings\n  labels:\n"
    path.write_text(path.read_text(encoding="utf-8") + config, encoding="utf-8")
    assert chart().code == 0
    made = files()
    assert "sites/templates/patch.yaml" not in made
    assert 'name: {{ include "sites.fullname" $ }}-settings' in made["sites/templates/beside_deployment.yaml"]


def test_it_is_no_chart_of_another_project(chart: Callable[..., Ended]) -> None:
    """The project names its operator; so does a Deployment whose flags the program would refuse."""
    path = Path("pyproject.toml")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace('name = "sites"', 'name = "shops"'), encoding="utf-8")
    assert "this is the project of shops, but the program is sites" in chart().err
    path.write_text(text, encoding="utf-8")
    deployment = Path("manifests/manager/deployment.yaml")
    text = deployment.read_text(encoding="utf-8").replace("--workers", "--wrokers")
    deployment.write_text(text, encoding="utf-8")
    assert "the program would refuse the Deployment's args: unknown flag --wrokers" in chart().err
