"""A page of the docs: its blocks by name, a block as a module; and the lines that a program counts."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Final

import pytest

DOCS: Final = Path(__file__).parents[3] / "docs"


def blocks_of(page: str) -> dict[str, str]:
    """The blocks with a name, such as ```python greeter.py, of a page below docs/."""
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.finditer(r"^```\w+ (?P<name>\S+)\n(?P<text>.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return {block["name"]: block["text"] for block in blocks}


def module_of(page: str, block: str, folder: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    """A block, saved in a folder and imported as a reader would."""
    path = folder / block
    path.write_text(blocks_of(page)[block], encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, path.stem, module)
    spec.loader.exec_module(module)
    return module


def run_python(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder that is also its home, as a user who has installed us."""
    ours = {"PYTHONPATH": str(DOCS.parent), "HOME": str(folder), "PATH": ""}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=ours | environment,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def run_tests(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the tests in a folder; their programs are found there, and warnings are errors."""
    # no folder above it has a say
    if not (folder / "pyproject.toml").exists():
        (folder / "pytest.ini").touch()
    fixed = ("-W", "error", "-m", "pytest", "-q", "-p", "handloop.pytest_plugin", "-p", "no:cacheprovider")
    # an installed plugin would be registered twice
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    return run_python(folder, *fixed, f"--rootdir={folder}", *options, **environment)


def assert_tests_pass(folder: Path, count: int) -> None:
    """The tests in a folder, so many of them, pass for a user who has installed us."""
    done = run_tests(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{count} passed" in done.stdout


def code_lines(path: Path) -> int:
    """Lines without imports, comments, docstrings and empty ones."""
    text = path.read_text(encoding="utf-8")
    left_out = {
        line for node in _not_code(ast.parse(text)) for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    lines = [line.strip() for n, line in enumerate(text.splitlines(), 1) if n not in left_out]
    return sum(bool(line) and not line.startswith("#") for line in lines)


def _not_code(tree: ast.Module) -> Iterator[ast.stmt]:
    """The imports, and the docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            yield node.body[0]
