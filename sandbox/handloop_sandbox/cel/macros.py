"""
The macros of CEL: has(), and calls that expand to loops.

Follows: cel-go 0.26.0 parser/macro.go, cel/library.go (optMap), ext/comprehensions.go, ext/lists.go (sortBy).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from handloop_sandbox.cel.nodes import (
    Call,
    Comprehension,
    Index,
    ListNode,
    Literal,
    MapNode,
    Name,
    Node,
    Select,
)
from handloop_sandbox.cel.tokens import CelSyntaxError, Problem

ACCU: Final = "@result"
MACROS: Final = frozenset(
    [(name, count) for name in ("all", "exists", "exists_one") for count in (2, 3)]
    + [("existsOne", 3), ("map", 2), ("map", 3), ("filter", 2), ("sortBy", 2)]
    + [("optMap", 2), ("optFlatMap", 2)]
    + [(f"transform{name}", count) for name in ("List", "Map", "MapEntry") for count in (3, 4)]
)
"""The name and number of arguments of each macro that has a target."""
_ONE_NAME: Final = frozenset(("map", "filter", "sortBy", "optMap", "optFlatMap"))
_NO_NAME: Final = {"optMap": "optMap() variable name must be a simple identifier"}
_NO_NAME["optFlatMap"] = "optFlatMap() variable name must be a simple identifier"
_NO_NAME.update(dict.fromkeys(("map", "filter", "sortBy"), "argument is not an identifier"))


def expand(node: Node) -> Node:
    """
    Return a tree in which macros are expanded.

    Raises: CelSyntaxError, which lists all incorrect uses of macros.
    """
    problems: list[Problem] = []
    expanded = _expanded(node, problems)
    if problems:
        raise CelSyntaxError(*problems)
    return expanded


def names_of(call: Call) -> tuple[str, ...]:
    """
    Return the names of the variables that a macro declares.

    Raises: CelSyntaxError if a name is invalid or used twice.
    """
    args = call.args[: 1 if call.function in _ONE_NAME or len(call.args) == 2 else 2]  # noqa: PLR2004
    for arg in args:
        if not isinstance(arg, Name):
            told = _NO_NAME.get(call.function, "argument must be a simple name")
            raise CelSyntaxError(Problem(arg.at, told))
    names = tuple(arg.name for arg in args if isinstance(arg, Name))
    if len(set(names)) < len(names):
        raise CelSyntaxError(Problem(args[1].at, f"duplicate variable name: {names[0]}"))
    if "__result__" in names:
        told = "iteration variable overwrites accumulator variable"
        raise CelSyntaxError(Problem(args[names.index("__result__")].at, told))
    return names


def is_macro(call: Call) -> bool:
    """Return whether a call is a macro that expands to a loop."""
    return call.target is not None and (call.function, len(call.args)) in MACROS


def _expanded(node: Node, problems: list[Problem]) -> Node:
    def inner(child: Node) -> Node:
        return _expanded(child, problems)

    match node:
        case Select():
            return replace(node, operand=inner(node.operand))
        case Index():
            return replace(node, operand=inner(node.operand), key=inner(node.key))
        case ListNode():
            return replace(node, items=tuple(map(inner, node.items)))
        case MapNode():
            return replace(node, entries=tuple((inner(key), inner(value)) for key, value in node.entries))
        case Call():
            target = node.target and inner(node.target)
            call = replace(node, args=tuple(map(inner, node.args)), target=target)
            try:
                return _expanded_call(call)
            except CelSyntaxError as error:
                problems.extend(error.problems)
    return node


def _expanded_call(call: Call) -> Node:
    if call.target is None:
        if call.function == "has" and len(call.args) == 1 and isinstance(call.args[0], Select):
            return replace(call.args[0], is_test=True, at=call.at)
        if call.function == "has" and len(call.args) == 1:
            raise CelSyntaxError(Problem(call.args[0].at, "invalid argument to has() macro"))
        return call
    if not is_macro(call):
        return call
    names = names_of(call)
    if call.function in ("optMap", "optFlatMap"):
        return _mapped_optional(call, call.target, names[0])
    bodies, at = call.args[len(names) :], call.at
    if call.function == "sortBy":
        return _sorted(call, call.target, names)
    start, condition, step, result = _LOOPS[call.function](at, names, bodies, call)
    return Comprehension(call.target, names, ACCU, start, condition, step, result, at=at)


_Loop = tuple[Node, Node, Node, Node]


def _all(at: int, _names: Any, bodies: tuple[Node, ...], _call: Call) -> _Loop:
    going = Call("@not_strictly_false", (_accu(at),), at=at)
    return Literal(value=True, at=at), going, Call("&&", (_accu(at), bodies[0]), at=at), _accu(at)


def _exists(at: int, _names: Any, bodies: tuple[Node, ...], _call: Call) -> _Loop:
    going = Call("@not_strictly_false", (Call("!", (_accu(at),), at=at),), at=at)
    return Literal(value=False, at=at), going, Call("||", (_accu(at), bodies[0]), at=at), _accu(at)


def _exists_one(at: int, _names: Any, bodies: tuple[Node, ...], _call: Call) -> _Loop:
    more = Call("+", (_accu(at), Literal(1, at=at)), at=at)
    step = Call("?:", (bodies[0], more, _accu(at)), at=at)
    return Literal(0, at=at), _true(at), step, Call("==", (_accu(at), Literal(1, at=at)), at=at)


def _list(at: int, _names: Any, bodies: tuple[Node, ...], _call: Call) -> _Loop:
    more = Call("+", (_accu(at), ListNode((bodies[-1],), at=at)), at=at)
    return ListNode((), at=at), _true(at), _where(at, bodies[:-1], more), _accu(at)


def _filter(at: int, names: Any, bodies: tuple[Node, ...], call: Call) -> _Loop:
    return _list(at, names, (*bodies, call.args[0]), call)


def _map(at: int, names: tuple[str, ...], bodies: tuple[Node, ...], call: Call) -> _Loop:
    key = () if call.function == "transformMapEntry" else (Name(names[0], at=at),)
    more = Call("cel.@mapInsert", (_accu(at), *key, bodies[-1]), at=at)
    return MapNode((), at=at), _true(at), _where(at, bodies[:-1], more), _accu(at)


def _where(at: int, condition: tuple[Node, ...], step: Node) -> Node:
    return Call("?:", (*condition, step, _accu(at)), at=at) if condition else step


def _mapped_optional(call: Call, target: Node, name: str) -> Node:
    at = call.at
    value = Call("value", (), target, at=at)
    bound = _bound(name, value, call.args[1], at)
    some = bound if call.function == "optFlatMap" else _namespaced("of", (bound,), at)
    return Call("?:", (Call("hasValue", (), target, at=at), some, _namespaced("none", (), at)), at=at)


def _namespaced(function: str, args: tuple[Node, ...], at: int) -> Node:
    return Call(function, args, Name("optional", at=at), at=at)


def _sorted(call: Call, target: Node, names: tuple[str, ...]) -> Node:
    at, name = call.at, "@__sortBy_input__"
    start, condition, step, result = _list(at, names, call.args[1:], call)
    keys = Comprehension(Name(name, at=at), names, ACCU, start, condition, step, result, at=at)
    return _bound(name, target, Call("@sortByAssociatedKeys", (keys,), Name(name, at=at), at=at), at)


def _bound(name: str, value: Node, result: Node, at: int) -> Node:
    """Return a loop over an empty list, which evaluates result with name bound to value."""
    return Comprehension(
        ListNode((), at=at),
        ("#unused",),
        name,
        value,
        Literal(value=False, at=at),
        Name(name, at=at),
        result,
        at=at,
    )


def _accu(at: int) -> Name:
    return Name(ACCU, at=at)


def _true(at: int) -> Node:
    return Literal(value=True, at=at)


_LOOPS: Final[dict[str, Callable[[int, Any, tuple[Node, ...], Call], _Loop]]] = {
    "all": _all,
    "exists": _exists,
    "exists_one": _exists_one,
    "existsOne": _exists_one,
    "map": _list,
    "transformList": _list,
    "filter": _filter,
    "transformMap": _map,
    "transformMapEntry": _map,
}
