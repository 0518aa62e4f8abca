"""
A checked expression, and the problems with its constants.

Follows: cel-go 0.26.0 cel/validator.go, ext/formatting.go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from handloop_sandbox.cel.declarations import Overload
from handloop_sandbox.cel.nodes import Call, ListNode, Literal, MapNode, Node, walk
from handloop_sandbox.cel.texts import CLAUSES
from handloop_sandbox.cel.tokens import Problem
from handloop_sandbox.cel.types import DYN, CelType
from handloop_sandbox.cel.values import CelError, parse_duration, parse_timestamp
from handloop_sandbox.wire import go_regexp

_VERB: Final = re.compile(r"%(%|(?:\.\d+)?(.?))", re.DOTALL)


@dataclass(slots=True)
class Checked:
    """An expression after macro expansion, with the types of its nodes and the overloads of its calls."""

    root: Node
    types: dict[int, CelType] = field(default_factory=dict)
    overloads: dict[int, list[Overload]] = field(default_factory=dict)

    def type_of(self, node: Node) -> CelType:
        """Return the type of a node."""
        return self.types[id(node)]

    @property
    def result(self) -> CelType:
        """The type of the whole expression."""
        return self.type_of(self.root)


def _check_duration(value: Any) -> None:
    if not isinstance(value, str):
        raise CelError("no such overload")
    parse_duration(value)


_CHECKED: Final[dict[str, Callable[[Any], Any]]] = {
    "duration": _check_duration,
    "timestamp": lambda value: parse_timestamp(value) if isinstance(value, str) else None,
    "matches": go_regexp.check,
}


def literal_problems(checked: Checked) -> Iterable[Problem]:
    """Yield a problem for each invalid constant argument or format, and each list or map with mixed types."""
    exempt = {
        id(inner)
        for node in walk(checked.root)
        if isinstance(node, Call) and node.function == "format"
        for inner in walk(node)
    }
    for node in walk(checked.root):
        if isinstance(node, Call) and node.function in _CHECKED:
            yield from _argument_problems(node)
        elif isinstance(node, Call) and node.function == "format":
            yield from _format_problems(checked, node)
        elif isinstance(node, ListNode) and id(node) not in exempt:
            yield from _mixed(checked, node.items, node.optional)
        elif isinstance(node, MapNode) and id(node) not in exempt:
            yield from _mixed(checked, [key for key, _ in node.entries], frozenset())
            yield from _mixed(checked, [value for _, value in node.entries], node.optional)


def _argument_problems(node: Call) -> Iterable[Problem]:
    first = node.args[0] if node.args else None
    if isinstance(first, Literal):
        try:
            _CHECKED[node.function](first.value)
        except (CelError, go_regexp.PatternError):
            yield Problem(first.at, f"invalid {node.function} argument")


def _mixed(checked: Checked, nodes: Iterable[Node], optional: frozenset[int]) -> Iterable[Problem]:
    expected: CelType | None = None
    for index, node in enumerate(nodes):
        found = checked.type_of(node)
        if index in optional:
            found = found.params[0] if found.params else DYN
        if expected is None:
            expected = found
        elif found != expected:
            yield Problem(node.at, f"expected type '{expected}' but found '{found}'")
            return


def _format_problems(checked: Checked, node: Call) -> Iterable[Problem]:
    target, values = node.target, node.args[0] if node.args else None
    if not isinstance(target, Literal) or not isinstance(values, ListNode):
        return
    verbs = [found[2] for found in _VERB.finditer(target.value) if found[1] != "%"]
    for index, verb in enumerate(verbs):
        allowed = CLAUSES.get(verb.lower() if verb == "X" else verb)
        if allowed is None or index >= len(values.items):
            unknown = f'could not parse formatting clause: unrecognized formatting clause "{verb}"'
            ended = "unexpected end of string" if verb == "" else unknown
            yield Problem(node.at, ended if allowed is None else f"index {index} out of range")
            return
        kind = checked.type_of(values.items[index]).name
        if kind not in (*allowed[1], "dyn"):
            told = f"error during formatting: {allowed[0]}, was given {kind}"
            yield Problem(values.items[index].at, told)
            return
    if len(values.items) > len(verbs):
        counts = f"(expected {len(verbs)}, got {len(values.items)})"
        yield Problem(node.at, f"too many arguments supplied to string.format {counts}")
