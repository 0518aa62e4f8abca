"""Whoever copies one of our controllers stands on public names alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import handloop

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = ("handloop.kinds", "handloop.testing")
_DIRECTIVE: Final = re.compile(r"^\.\. auto\w+:: (handloop[\w.]+)$", re.MULTILINE)


def documented() -> set[str]:
    """Every module, class and function that a page of docs/api describes by its full name."""
    pages = (ROOT / "docs/api").glob("*.rst")
    return {name for page in pages for name in _DIRECTIVE.findall(page.read_text(encoding="utf-8"))}


def imported(path: Path) -> Iterator[tuple[str, str]]:
    """The names of ours that a file imports, with their modules; a whole module without a name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name.startswith("handloop."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "handloop":
            yield from ((node.module or "", alias.name) for alias in node.names)


def is_public(module: str, name: str, names: set[str]) -> bool:
    """Whether the face has it, or a package for users, or a page of the reference."""
    if module == "handloop":
        return name in handloop.__all__
    return f"{module}.".startswith(tuple(f"{package}." for package in PACKAGES)) or not names.isdisjoint(
        (module, f"{module}.{name}")
    )


@pytest.mark.parametrize("folder", ["controller/foo", "controller/myapp", "examples"])
def test_what_people_copy_imports_public_names_alone(folder: str) -> None:
    """Public is the face, handloop.kinds, handloop.testing, and what docs/api describes."""
    own, names = f"handloop.{folder.replace('/', '.')}", documented()
    wrong = [
        f"{path.relative_to(ROOT)}: {module}.{name}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for module, name in imported(path)
        if not f"{module}.".startswith(f"{own}.") and not is_public(module, name, names)
    ]
    assert not wrong
