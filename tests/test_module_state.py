"""State of modules, and locks: docs/internals/threads-and-locks.md says why threads may share each."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PAGE: Final = ROOT / "docs/internals/threads-and-locks.md"
PACKAGES: Final = ("apis", "client", "workqueue", "informers", "controller", "handloop/seams")
CACHE: Final = re.compile(r"(lru_cache|cache|made_once)\b")
CHANGING: Final = re.compile(r"add|append|clear|discard|extend|insert|pop|popitem|remove|setdefault|update")


def changed(tree: ast.AST) -> Iterator[str]:
    """Names of which a function writes a part: `global A`, `A[...] = b`, `A.b = c`, `A.append(b)`."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    for node in (part for function in functions for part in ast.walk(function)):
        match node:
            case ast.Global():
                yield from node.names
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store() | ast.Del()):
                yield name
            case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
                yield name
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)) if CHANGING.fullmatch(attr):
                yield name


def state_of(tree: ast.Module) -> Iterator[str]:
    """Names of a module that hold state: caches, what functions change, and what changes itself."""
    written = {*changed(tree)}
    own = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    selves = {name for name, node in own.items() if "self" in changed(node)}
    yield from own.keys() & written
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and any(
            CACHE.match(ast.unparse(each)) for each in node.decorator_list
        ):
            yield node.name
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            value = ast.unparse(node.value)
            if name in written or CACHE.match(value) or value.partition("(")[0] in selves:
                yield name


def test_each_piece_is_listed_with_why_it_is_safe() -> None:
    """New state of a module gets a line there; one that has gone loses it."""
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for name in state_of(ast.parse(path.read_text(encoding="utf-8")))
    }
    text = PAGE.read_text(encoding="utf-8").partition("## State of modules")[2]
    listed = re.findall(r"^\| `([\w/]+\.py)` \| `(\w+)` \|", text.partition("\n## ")[0], re.MULTILINE)
    assert found == {f"{path}: {name}" for path, name in listed}


def locks() -> Iterator[tuple[str, int]]:
    """The locks of the product: their names, and their ranks, which may be constants of a module."""
    paths = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    public = dict(rank for tree in trees for rank in ranks(tree) if not rank[0].startswith("_"))
    for tree in trees:
        named = public | dict(ranks(tree))
        for node in ast.walk(tree):
            match node:
                case ast.Call(
                    func=ast.Name(id="new_lock" | "new_condition"), args=[ast.Constant(name), rank]
                ):
                    yield str(name), named.get(ast.unparse(rank)) or int(ast.literal_eval(rank))


def ranks(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The constants of a module that are named RANK."""
    for node in tree.body:
        match node:
            case ast.AnnAssign(target=ast.Name(name), value=ast.Constant(rank)) if name.endswith("RANK"):
                yield name, int(str(rank))


def test_each_lock_has_its_line_and_the_rank_there_is_true() -> None:
    """Ranks are compared where the line says one for the lock itself; lines of several say them in order."""
    text = PAGE.read_text(encoding="utf-8")
    found = dict(locks())
    assert len(found) > 60
    assert [name for name in found if f"`{name}`" not in text] == []
    told = {name: int(rank) for name, rank in re.findall(r"`(\w+\.\w+)` \((\d+)\)", text)}
    assert {name: rank for name, rank in told.items() if found.get(name, rank) != rank} == {}
    assert told.keys() - found.keys() <= {"Recorder._lock", "InstanceFaults._lock"}, "locks that are gone"
