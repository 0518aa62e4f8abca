"""`crd diff` as people and CI type it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from handloop.controller.cli.main import run_command
from handloop.controller.program import PROGRAM
from handloop.testing.running_sandbox import running_sandbox

NAMES = ("foos.samplecontroller.k8s.io", "myapps.example.com")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run it: the exit code, what it printed, and its errors."""

    def command(*words: object) -> tuple[int, str, str]:
        code = run_command(PROGRAM, ["crd", "diff", *map(str, words)])
        ended = capsys.readouterr()
        return code, ended.out, ended.err

    return command


@pytest.fixture
def own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The definitions as the program prints them."""
    run_command(PROGRAM, ["crd"])
    path = tmp_path / "crds.yaml"
    path.write_text(capsys.readouterr().out, encoding="utf-8")
    return path


def _older(own: Path) -> Path:
    """With a field that has gone since, and another description."""
    documents = list(yaml.safe_load_all(own.read_text(encoding="utf-8")))
    schema = documents[1]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    schema["properties"]["gone"] = {"type": "boolean"}
    schema["description"] = "Something else."
    path = own.with_name("older.yaml")
    path.write_text(yaml.safe_dump_all(documents), encoding="utf-8")
    return path


def test_the_programs_own_definitions_are_the_new_ones(run: Run, own: Path) -> None:
    """Unless others are given; what breaks is exit code 1, and texts are counted only."""
    assert run(own) == (
        0,
        "".join(f"{name}\n  no change\n" for name in NAMES) + "0 break something, 0 warn\n",
        "",
    )
    code, out, _ = run(_older(own))
    assert code == 1
    assert (
        "  breaks v1 spec.gone                   field: was removed: stored values are silently erased" in out
    )
    assert out.endswith("  1 descriptions changed\n1 break something, 1 warn\n")
    assert run(own, _older(own))[0] == 0


def test_programs_get_a_list(run: Run, own: Path) -> None:
    """Each finding has the same fields; with several definitions the message begins with a name."""
    code, out, _ = run(_older(own), "-o", "json")
    found: list[dict[str, Any]] = json.loads(out)
    assert code == 1
    assert [(each["rule"], each["severity"], each["version"], each["path"]) for each in found] == [
        ("field", "breaks", "v1", "spec.gone"),
        ("description", "warns", "v1", "spec"),
    ]
    assert all({*each} == {"rule", "severity", "version", "path", "old", "new", "message"} for each in found)
    assert found[0]["message"].startswith("myapps.example.com: was removed")


def test_a_cluster_is_asked_for_its_definitions_and_its_objects(run: Run, own: Path, tmp_path: Path) -> None:
    """Those that it has."""
    (tmp_path / "sandbox").mkdir()
    with running_sandbox(tmp_path / "sandbox") as sandbox:
        kubeconfig = f"--kubeconfig={sandbox.kubeconfig}"
        code, _, err = run("cluster", kubeconfig)
        assert (code, err.partition(":")[0]) == (2, "error")
        assert (
            "nothing to compare: OLD has none, NEW has foos.samplecontroller.k8s.io, myapps.example.com"
            in err
        )
        sandbox.apply(_older(own))
        names = {"apiVersion": "example.com/v1", "kind": "MyApp", "metadata": {"name": "a"}}
        sandbox.apply({**names, "spec": {"image": "a:1", "gone": True}})
        code, out, err = run("cluster", kubeconfig, f"--on={sandbox.kubeconfig}")
        assert code == 1
        assert "stored-erased: 1 of 1 objects lose this field's value at their next write" in out
        assert "myapps.example.com: 1 objects read\n" in err
        assert run(own, "cluster", kubeconfig)[0] == 0


def test_a_definition_that_is_gone_breaks(run: Run, own: Path) -> None:
    """Of a file; a cluster has others that are not ours."""
    first = own.with_name("first.yaml")
    first.write_text(own.read_text(encoding="utf-8").split("---\n")[0], encoding="utf-8")
    code, out, _ = run(own, first)
    assert code == 1
    assert f"{NAMES[1]}\n  breaks -                              definition: is gone" in out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("nothing.yaml",), "No such file"),
        (("git:nothing",), "git:nothing: "),
        (("cluster", "--kubeconfig=nothing"), "no such file"),
    ],
)
def test_what_cannot_be_read_is_told(run: Run, words: tuple[str, ...], says: str) -> None:
    """With exit code 2: nothing is known."""
    code, out, err = run(*words)
    assert (code, out, says in err) == (2, "", True)
