"""`handloop init` and `handloop create api` as people type them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from handloop.apis.crd import custom_resource_definition
from handloop.apis.grammar.yaml_text import to_yaml
from handloop.controller.cli.main import run_command
from handloop.controller.foo.types import Foo
from handloop.controller.program import PROGRAM
from handloop.testing.running_sandbox import running_sandbox

INIT = ["init", "my-operator", "--domain", "example.com"]
CREATE = ["create", "api", "--group", "web", "--version", "v1", "--kind", "Site"]


def test_each_prints_what_to_type_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The commands that init names are those that work next."""
    monkeypatch.chdir(tmp_path)
    assert run_command(PROGRAM, INIT) == 0
    said = capsys.readouterr().out
    assert "wrote: my-operator/pyproject.toml\n" in said
    assert (
        "note: the wheels are the running handloop and its neighbours; make and the image install them from"
        in said
    )
    assert said.endswith(f"next:\n  cd my-operator\n  handloop {' '.join(CREATE)}\n")
    monkeypatch.chdir("my-operator")
    assert run_command(PROGRAM, CREATE) == 0
    said = capsys.readouterr().out
    assert "added to: my_operator/controllers.py\nnext:\n  make run\n" in said
    assert Path("manifests/samples/site.yaml").exists()
    assert run_command(PROGRAM, ["create", "controller", "--for", "apps/v1/StatefulSet"]) == 0
    said = capsys.readouterr().out
    assert said.endswith("apply -f manifests/samples/stateful_set.yaml   (in another terminal)\n")
    assert run_command(PROGRAM, [*CREATE[:-1], "Team", "--scope", "Cluster"]) == 0
    assert "namespace" not in Path("manifests/samples/team.yaml").read_text(encoding="utf-8")


def test_mistakes_are_reported_with_their_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2; 1 for a folder that cannot be written."""
    monkeypatch.chdir(tmp_path)
    assert run_command(PROGRAM, CREATE) == 2
    assert capsys.readouterr().err == (
        f"error: {tmp_path} is not a handloop project: it has no pyproject.toml\n"
        "  fix: handloop init NAME --domain DOMAIN\n"
    )
    (tmp_path / "my-operator").write_text("", encoding="utf-8")
    assert run_command(PROGRAM, INIT) == 1
    assert capsys.readouterr().err.startswith("error: [Errno")


def test_a_view_comes_of_an_installed_definition_or_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is kept once it exists; mistakes are told with their fix; no word of the credentials is shown."""
    monkeypatch.chdir(tmp_path)
    assert run_command(PROGRAM, INIT) == 0
    monkeypatch.chdir("my-operator")
    view = ["create", "view", "--for", "foos.samplecontroller.k8s.io"]
    Path("foo.yaml").write_text(to_yaml(custom_resource_definition(Foo)), encoding="utf-8")
    assert run_command(PROGRAM, [*view, "--crd", "foo.yaml", "--fields", "spec.replicas"]) == 0
    said = capsys.readouterr().out
    assert "wrote: my_operator/views/foo.py\nnext:\n  from my_operator.views.foo import Foo\n" in said
    with running_sandbox(tmp_path) as sandbox:
        assert run_command(PROGRAM, [*view, "--kubeconfig", str(sandbox.kubeconfig)]) == 2
        told = capsys.readouterr().err
        assert told.startswith(f"error: the cluster has no CustomResourceDefinition {view[-1]}\n")
        assert sandbox.token not in told
        sandbox.apply(custom_resource_definition(Foo))
        assert run_command(PROGRAM, [*view, "--kubeconfig", str(sandbox.kubeconfig)]) == 0
    kept = "kept: my_operator/views/foo.py\n  fix: to write it again, delete it first\n"
    assert kept in capsys.readouterr().out
    for wrong, code, says in (
        (["--crd", "nothing.yaml"], 1, "No such file"),
        (["--crd", "pyproject.toml"], 2, "error: pyproject.toml cannot be read: "),
        (["--crd", "foo.yaml", "--fields", "spec.x"], 2, "fix: such as spec."),
        (["--kubeconfig", "nothing"], 1, "no such file"),
    ):
        assert run_command(PROGRAM, [*view, *wrong]) == code
        assert says in capsys.readouterr().err


def _a_line_each(line: re.Match[str]) -> str:
    """An import as a formatter leaves one of many names."""
    return "\n    ".join(["from handloop import (", *(f"{name}," for name in line[1].split(", "))]) + "\n)"


def _lint() -> str:
    """What ruff says against the project's sources."""
    ruff = [sys.executable, "-m", "ruff"]
    ran = [
        subprocess.run([*ruff, *words, "."], capture_output=True, check=False, text=True)
        for words in (["check"], ["format", "--check"])
    ]
    return "".join(each.stdout + each.stderr for each in ran if each.returncode)


def test_a_kind_gets_versions_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The class of now becomes a module of its own, and the sources stay as a formatter wants them."""
    monkeypatch.chdir(tmp_path)
    create = ["create", "version", "--kind", "Site", "--version"]
    assert run_command(PROGRAM, INIT) == 0
    monkeypatch.chdir("my-operator")
    assert run_command(PROGRAM, [*CREATE[:5], "v1alpha1", *CREATE[6:]]) == 0
    for version in ("v1beta1", "v1"):
        assert run_command(PROGRAM, [*create, version]) == 0
    assert "changed: my_operator/site/types.py\nnext:\n  add fields in my_operator/site/types.py" in (
        capsys.readouterr().out
    )
    checked = [sys.executable, "-m", "ruff", "format", "--check", "my_operator"]
    assert subprocess.run(checked, capture_output=True, check=False).returncode == 0
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    crd = [sys.executable, "-m", "my_operator", "crd"]
    made = subprocess.run(crd, env=here, capture_output=True, check=True)
    versions = yaml.safe_load(made.stdout)["spec"]["versions"]
    assert [(each["name"], each["storage"]) for each in versions] == [
        ("v1", True),
        ("v1beta1", False),
        ("v1alpha1", False),
    ]
    assert run_command(PROGRAM, [*create, "v2", "--functions"]) == 0
    assert "change fields in my_operator/site/types.py, and adapt from_previous" in capsys.readouterr().out
    assert subprocess.run(checked, capture_output=True, check=False).returncode == 0
    conversion = yaml.safe_load(subprocess.run(crd, env=here, capture_output=True, check=True).stdout)["spec"]
    service = conversion["conversion"]["webhook"]["clientConfig"]["service"]
    assert (service["name"], service["namespace"]) == ("my-operator-webhook", "my-operator-system")
    proof = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/test_site_versions.py"]
    assert "1 passed" in subprocess.run(proof, env=here, capture_output=True, check=False, text=True).stdout
    assert _lint() == ""
    for words in (["v3"], ["v4", "--functions"]):
        types = Path("my_operator/site/types.py")
        text = types.read_text().replace(
            "    spec: ", '    kept_fields: ClassVar = ("spec.message",)\n    spec: '
        )
        types.write_text(re.sub(r"from handloop import (\w.*)", _a_line_each, text, count=1))
        assert _lint() == ""
        assert run_command(PROGRAM, [*create, *words]) == 0
        assert _lint() == ""
        assert ("kept_fields" in types.read_text(), "to_previous" in types.read_text()) == (
            False,
            len(words) > 1,
        )
        assert (
            "1 passed" in subprocess.run(proof, env=here, capture_output=True, check=False, text=True).stdout
        )
    for wrong, says in (
        ([*create, "v1"], "Site has the version v1"),
        ([*create, "v1alpha1"], "Site has the version v1alpha1"),
        ([*create[:3], "Page", "--version", "v1"], "types.py has no line `class Page(Kind, group="),
        ([*create, "one"], '"one" is not a valid name for a version'),
    ):
        assert run_command(PROGRAM, wrong) == 2
        assert says in capsys.readouterr().err
