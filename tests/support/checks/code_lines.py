"""How long a program is, as the docs count it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path


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
