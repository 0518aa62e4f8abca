"""The templates of a chart as text, where no helm is at hand; tests/manifests/test_helm.py renders them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from handloop.controller.cli.chart_command import run_chart
from handloop.controller.program import PROGRAM
from support.builders.shop import HOSTILE, shop, write_project

MANIFESTS = Path(__file__).parents[3] / "manifests"

NAMING = ("name: handloop", "namespace: handloop", "serviceAccountName: handloop")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """The files of our own charts, by path."""
    folder = tmp_path_factory.mktemp("charts")
    assert run_chart(PROGRAM, [f"--output={folder}", f"--manifests={MANIFESTS}"]) == 0
    paths = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_text(encoding="utf-8") for path in paths}


def test_no_name_of_ours_is_left(made: Mapping[str, str]) -> None:
    """Names are the release's, wherever an object is named; labels and includes say `handloop.`."""
    for path, text in made.items():
        if path.startswith("handloop/templates/") and path.endswith(".yaml"):
            named = [
                line
                for line in text.splitlines()
                if line.strip().startswith(
                    ("name: handloop", "namespace: handloop", "serviceAccountName: handloop")
                )
            ]
            # the group of the alerts is no object
            assert [line for line in named if line != "  - name: handloop"] == [], path


def test_every_folder_has_its_templates(made: Mapping[str, str]) -> None:
    """Roles and definitions are made of the code, so their files are not read; patches are no objects."""
    names = {path.rpartition("/")[2] for path in made if path.startswith("handloop/templates/")}
    assert {"deployment.yaml", "roles.yaml", "user_roles.yaml", "dashboard.yaml", "NOTES.txt"} <= names
    for folder in ("default", "manager", "rbac", "prometheus", "network-policy"):
        for path in (MANIFESTS / folder).glob("*.yaml"):
            kinds = {
                one.get("kind")
                for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))
                if "kind" in one
            }
            if kinds - {"Namespace", "Kustomization"} and path.name != "role.yaml":
                assert path.name in names
    assert not names & {"namespace.yaml", "kustomization.yaml", "deployment_patch.yaml"}


def test_what_a_kind_says_is_no_expression(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the definitions nor in the values."""
    write_project(tmp_path / "sites")
    monkeypatch.chdir(tmp_path / "sites")
    assert run_chart(shop(), []) == 0
    (path,) = Path("manifests/charts/sites-crds/templates").glob("*.yaml")
    text = path.read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert HOSTILE in text.replace('{{ "{{" }}', "{{")
