"""Whoever copies one of our controllers stands on public names alone."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
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


def face_classes() -> Iterator[ast.ClassDef]:
    """The classes of the face, as their modules define them."""
    for name in handloop.__all__:
        found = getattr(handloop, name)
        if isinstance(found, type) and found.__module__.startswith("handloop."):
            (defined,) = ast.parse(textwrap.dedent(inspect.getsource(found))).body
            assert isinstance(defined, ast.ClassDef)
            yield defined


def test_from_six_fields_on_each_has_its_docstring() -> None:
    """Under the field, where an editor shows it: a paragraph of twelve is read by nobody."""
    missing = []
    for defined in face_classes():
        fields = [
            (each, after)
            for each, after in zip(defined.body, [*defined.body[1:], None], strict=True)
            if isinstance(each, ast.AnnAssign)
            and "ClassVar" not in ast.unparse(each.annotation)
            and ast.unparse(each.annotation) != "KW_ONLY"
        ]
        missing += [
            f"{defined.name}.{ast.unparse(each.target)}"
            for each, after in fields
            if len(fields) >= 6
            and not (
                isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
            )
        ]
    assert not missing
