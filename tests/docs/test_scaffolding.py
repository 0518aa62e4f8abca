"""docs/scaffolding.md: its commands, and the files that it names."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from handloop.controller.cli.main import run_command
from handloop.controller.program import PROGRAM

PAGE = (Path(__file__).parents[2] / "docs/scaffolding.md").read_text(encoding="utf-8")


def test_its_commands_make_what_it_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first block works as it stands; each path and target of the table is there, or made by make."""
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    init, enter, create, run = (shlex.split(line) for line in block.splitlines())
    assert run_command(PROGRAM, init[1:]) == 0
    monkeypatch.chdir(enter[1])
    assert run_command(PROGRAM, create[1:]) == 0
    rules = set(re.findall(r"^([a-z]+):", Path("Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", PAGE, re.MULTILINE)
    (targets,) = [re.findall(r"`(\w+)`", told) for name, told in rows if name == "`Makefile`"]
    assert set(targets) == rules
    assert run[-1] in rules
    paths = {path for names, _ in rows for path in re.findall(r"`([^`]+)`", names)}
    assert {path for path in paths if not Path(path).exists()} == {
        "manifests/crd/crds.yaml",
        "manifests/rbac/role.yaml",
        "manifests/rbac/user_roles.yaml",
        "manifests/shards/role.yaml",
    }
    samples = PAGE.partition("```sh apply\n")[2]
    assert "kubectl apply -f manifests/samples\n" in samples
    assert "  name: site-sample\n" in Path("manifests/samples/site.yaml").read_text(encoding="utf-8")
