"""What every example is: a folder that can be copied, as short as its README says, and a program."""

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

ROOT: Final = Path(__file__).parents[2]
EXAMPLES: Final = ROOT / "examples"
SHAPE: Final = {"README.md", "__init__.py", "__main__.py", "reconciler.py", "sample.yaml", "types.py"}
KINDS: Final = {"appcluster": "AppCluster", "memcached": "Memcached"}
MOST_LINES: Final = {"appcluster": 45, "memcached": 60}
MOST_LINES_OF_A_MAIN: Final = 15


def lines(path: Path) -> int:
    """How many lines a file has beside imports and empty ones; docstrings count."""
    text = path.read_text(encoding="utf-8")
    imports = {
        number
        for node in ast.parse(text).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for number in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    return sum(bool(line.strip()) for n, line in enumerate(text.splitlines(), 1) if n not in imports)


@pytest.mark.parametrize("name", KINDS)
def test_it_has_the_shape_of_an_example(name: str) -> None:
    """The same files in each folder, and a page of words."""
    assert {path.name for path in (EXAMPLES / name).iterdir() if path.is_file()} == SHAPE
    assert len(page(name).splitlines()) <= 60


def test_each_folder_is_tested() -> None:
    """An example that this list lacks would not be looked at."""
    assert {path.parent.name for path in EXAMPLES.glob("*/__init__.py")} == set(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_it_is_as_short_as_its_page_says(name: str) -> None:
    """The figures in the README are counted here, and within what a tutorial's operator may take."""
    counted = {file: lines(EXAMPLES / name / f"{file}.py") for file in ("reconciler", "types", "__main__")}
    told = dict(re.findall(r"^\| `(\w+)\.py` \|.*\| (\d+) \|$", page(name), re.MULTILINE))
    assert {file: int(count) for file, count in told.items()} == counted
    assert counted["reconciler"] <= MOST_LINES[name]
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
    """The sample decodes, and says nothing that the kind does not know."""
    kind: type[Kind] = getattr(import_module(f"examples.{name}.types"), KINDS[name])
    document = yaml.safe_load((EXAMPLES / name / "sample.yaml").read_text(encoding="utf-8"))
    sample = msgspec.convert(document, kind, dec_hook=decode_hook)
    said = msgspec.json.decode(msgspec.json.encode(sample))
    assert {field: said[field] for field in document} == document


@pytest.mark.parametrize("name", KINDS)
def test_a_copy_of_the_folder_is_a_program(name: str, tmp_path: Path) -> None:
    """Under another name and in another place, it prints its definition."""
    shutil.copytree(EXAMPLES / name, tmp_path / "copied", ignore=shutil.ignore_patterns("__pycache__"))
    ended = subprocess.run(
        [sys.executable, "-m", "copied", "crd"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert yaml.safe_load(ended.stdout)["spec"]["names"]["kind"] == KINDS[name]
