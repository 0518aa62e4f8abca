"""
The syntax tree of a CEL expression, and how its member names are escaped.

Each node has the offset that cel-go reports: that of its operator, dot or opening bracket.
Follows: cel-go 0.26.0 parser/parser.go; apiserver pkg/cel/escaping.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

_MEMBER_ESCAPES: Final = (("__dash__", "-"), ("__dot__", "."), ("__slash__", "/"), ("__underscores__", "__"))
RESERVED: Final = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)
_ESCAPABLE: Final = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*")


def _hidden(default: Any) -> Any:
    """Return a dataclass field that comparisons of nodes ignore."""
    return field(default=default, compare=False)


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant."""

    value: Any
    at: int = _hidden(0)


@dataclass(frozen=True, slots=True)
class Name:
    """A variable or a type."""

    name: str
    at: int = _hidden(0)


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`; if optional is true, `operand.?field`; if is_test is true, `has(operand.field)`."""

    operand: Node
    field: str
    optional: bool = False
    is_test: bool = False
    at: int = _hidden(0)
    written: str = _hidden("")


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[key]`, or `operand[?key]` if optional is true."""

    operand: Node
    key: Node
    optional: bool = False
    at: int = _hidden(0)


@dataclass(frozen=True, slots=True)
class Call:
    """
    `function(args)` or `target.function(args)`.

    An operator is a call to a function named by its symbol.
    """

    function: str
    args: tuple[Node, ...]
    target: Node | None = None
    at: int = _hidden(0)


@dataclass(frozen=True, slots=True)
class ListNode:
    """`[a, b]`. optional contains the indices of the elements with a `?`."""

    items: tuple[Node, ...]
    optional: frozenset[int] = frozenset()
    at: int = _hidden(0)


@dataclass(frozen=True, slots=True)
class MapNode:
    """`{k: v}`. optional contains the indices of the entries with a `?`."""

    entries: tuple[tuple[Node, Node], ...]
    optional: frozenset[int] = frozenset()
    at: int = _hidden(0)


@dataclass(frozen=True, slots=True)
class Comprehension:
    """
    A loop that a macro expands to.

    The variable named accu first has the value of start. For each entry, it is set to the value of step,
    until condition is false. names contains the variable for each element, or those for each key and value.
    """

    over: Node
    names: tuple[str, ...]
    accu: str
    start: Node
    condition: Node
    step: Node
    result: Node
    at: int = _hidden(0)


Node = Literal | Name | Select | Index | Call | ListNode | MapNode | Comprehension


def children(node: Node) -> Iterable[Node]:
    """Return the nodes directly below a node."""
    found: tuple[Node, ...] = ()
    match node:
        case Select(operand=operand):
            found = (operand,)
        case Index(operand=operand, key=key):
            found = (operand, key)
        case Call(args=args, target=target):
            found = args if target is None else (target, *args)
        case ListNode(items=items):
            found = items
        case MapNode(entries=entries):
            found = tuple(part for entry in entries for part in entry)
        case Comprehension():
            found = (node.over, node.start, node.condition, node.step, node.result)
    return found


def walk(node: Node) -> Iterable[Node]:
    """Yield a node and all its descendants."""
    yield node
    for child in children(node):
        yield from walk(child)


def unescape_member(name: str) -> str:
    """
    Return a member's real name.

    Escapes such as `__dash__` stand for characters that identifiers cannot contain.
    """
    if name.startswith("__") and name.endswith("__") and len(name) > len("____"):
        return name[2:-2]
    for escaped, plain in _MEMBER_ESCAPES:
        name = name.replace(escaped, plain)
    return name


def escape_member(name: str) -> str | None:
    """Return a member's name in expressions, or None if expressions cannot use it."""
    if name in RESERVED:
        return f"__{name}__"
    if not _ESCAPABLE.fullmatch(name):
        return None
    name = name.replace("__", "__underscores__")
    for escaped, plain in _MEMBER_ESCAPES[:3]:
        name = name.replace(plain, escaped)
    return name
