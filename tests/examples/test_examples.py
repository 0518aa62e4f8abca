"""Every example is a folder that can be copied, as short as in its README, and a program."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

import msgspec
import pytest
import yaml

import handloop
from handloop.apis.meta import Kind, decode_hook
from handloop.controller.cli.project import Project
from support.checks.docs_page import code_lines

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples"
SHAPE: Final = {"README.md", "__init__.py", "__main__.py", "sample.yaml"}
KINDS: Final = {"appcluster": "AppCluster", "memcached": "Memcached", "plain": "", "sample": "Sample"}
"""The kind of its own that each has, if any."""
BY_HAND: Final = {"plain", "sample"}
"""On layer 1: they have no reconcile to name a file after."""
MOST_LINES: Final = {"appcluster": 38, "memcached": 52, "plain": 66, "sample": 25}
MOST_LINES_OF_A_MAIN: Final = 15


@pytest.mark.parametrize("name", KINDS)
def test_it_has_the_shape_of_an_example(name: str) -> None:
    """The same files in each folder, with a set_up, and a page of words."""
    files = {path.name for path in (EXAMPLES / name).iterdir() if path.is_file()}
    assert files == SHAPE | {f"{module}.py" for module in modules(name)}
    assert "set_up" in defined(EXAMPLES / name / f"{work(name)}.py")
    assert len(page(name).splitlines()) <= 65


def work(name: str) -> str:
    """The module that does an example's work."""
    return "controller" if name in BY_HAND else "reconciler"


def modules(name: str) -> list[str]:
    """The modules in the README, but for the program."""
    return [work(name), *(["types"] if KINDS[name] else [])]


def defined(path: Path) -> set[str]:
    """The functions and classes that a module defines, but for those of its own use."""
    nodes = ast.parse(path.read_text(encoding="utf-8")).body
    names = {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    return {name for name in names if not name.startswith("_")}


def test_a_scaffolded_kind_has_that_shape(tmp_path: Path) -> None:
    """What `handloop create api` makes of the same kind has the modules and names of the examples."""
    project = Project.new(tmp_path / "my-operator", "example.com")
    list(project.write())
    list(project.add_api(group="cache", version="v1", kind="Memcached"))
    made = tmp_path / "my-operator" / "my_operator"
    program = {"__init__.py", "__main__.py"}
    folder = {path.name for path in (made / "memcached").iterdir()}
    assert folder | program == {f"{module}.py" for module in modules("memcached")} | program
    assert program <= {path.name for path in made.iterdir()}
    for module in modules("memcached"):
        example = defined(EXAMPLES / "memcached" / f"{module}.py")
        assert defined(made / "memcached" / f"{module}.py") == example
    sample = yaml.safe_load((made.parent / "manifests/samples/memcached.yaml").read_text(encoding="utf-8"))
    ours = yaml.safe_load((EXAMPLES / "memcached" / "sample.yaml").read_text(encoding="utf-8"))
    assert list(sample) == list(ours)
    assert (sample["apiVersion"], sample["kind"]) == (ours["apiVersion"], ours["kind"])


def test_each_folder_is_tested() -> None:
    """An example that this list lacks would not be looked at."""
    assert {path.parent.name for path in EXAMPLES.glob("*/__init__.py")} == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_it_is_as_short_as_its_page_claims(name: str) -> None:
    """The figures in the README are counted here, and within what a tutorial's operator may take."""
    counted = {file: code_lines(EXAMPLES / name / f"{file}.py") for file in (*modules(name), "__main__")}
    told = dict(re.findall(r"^\| `(\w+)\.py` \|.*\| (\d+) \|$", page(name), re.MULTILINE))
    assert {file: int(count) for file, count in told.items()} == counted
    assert counted[work(name)] <= MOST_LINES[name]
    assert counted["__main__"] <= MOST_LINES_OF_A_MAIN


def page(name: str) -> str:
    """The README of an example."""
    return (EXAMPLES / name / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", KINDS)
def test_it_uses_what_an_author_sees(name: str) -> None:
    """The face of handloop, the built-in kinds, msgspec's Meta, the standard library and its own files."""
    allowed = {"handloop", "msgspec"} | sys.stdlib_module_names
    for path in (EXAMPLES / name).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                module = node.module or ""
                assert module in allowed or module.startswith("handloop.kinds."), module
                assert module != "handloop" or {each.name for each in node.names} <= set(handloop.__all__)


@pytest.mark.parametrize("name", KINDS)
def test_its_sample_is_one_of_its_objects(name: str) -> None:
    """The sample decodes, and has no field that the kind does not know."""
    types = f"examples.{name}.types" if KINDS[name] else "handloop.kinds.core_v1"
    kind: type[Kind] = getattr(import_module(types), KINDS[name] or "ConfigMap")
    document = yaml.safe_load((EXAMPLES / name / "sample.yaml").read_text(encoding="utf-8"))
    sample = msgspec.convert(document, kind, dec_hook=decode_hook)
    said = msgspec.json.decode(msgspec.json.encode(sample))
    assert {field: said[field] for field in document} == document


@pytest.mark.parametrize("name", KINDS)
def test_a_copy_of_the_folder_is_a_program(name: str, tmp_path: Path) -> None:
    """Under another name and in another place, it prints its definition, or its roles without one."""
    shutil.copytree(EXAMPLES / name, tmp_path / "copied", ignore=shutil.ignore_patterns("__pycache__"))
    ended = subprocess.run(
        [sys.executable, "-m", "copied", "crd" if KINDS[name] else "rbac"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    made = yaml.safe_load(ended.stdout)
    assert made["spec"]["names"]["kind"] == KINDS[name] if KINDS[name] else made["kind"] == "ClusterRole"
