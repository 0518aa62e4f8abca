"""
The costs of function calls, in addition to the costs of their arguments.

A size is the minimum and maximum number of characters or elements; a cost is a maximum.
Follows: apiserver 0.36 pkg/cel/library/cost.go; cel-go 0.26.0 checker/cost.go, ext/sets.go, ext/lists.go.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from handloop_sandbox.cel.declarations import Overload
from handloop_sandbox.cel.nodes import Literal, Node
from handloop_sandbox.cel.types import CelType

Size = tuple[int, int]
MOST: Final = 2**64 - 1
ONE: Final = (1, 1)
UNKNOWN: Final = (0, MOST)
_AUTHORIZATION: Final = 350_000
_CHARACTER: Final = 0.1
_PATTERN: Final = 0.25
_LIST: Final = 10
_ADDRESSES: Final = 4  # two addresses of up to 16 bytes
_NAME_PATTERN: Final = 128 * _PATTERN
_EQUAL_FORMATS: Final = 7
_ORDERED: Final = ("string", "bytes")
_SETS: Final = {"sets.contains": 1, "sets.intersects": 1, "sets.equivalent": 2}
_EQUAL_AT_ONCE: Final = frozenset(("net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"))


class Argument(NamedTuple):
    """An argument or method target: its node, its type and, if known, its size and its elements' size."""

    node: Node
    kind: CelType
    size: Size | None
    element: Size | None

    @property
    def known(self) -> Size:
        """The value's size. If it is unknown, the range from 0 to the largest possible size."""
        return self.size or UNKNOWN


class Call(NamedTuple):
    """A call: the function's name, the chosen overload, a method's target, and the arguments."""

    name: str
    overload: Overload
    target: Argument | None
    args: Sequence[Argument]

    @property
    def subject(self) -> Size:
        """The size of the target or, for a function, of the first argument."""
        return (self.target or self.args[0]).known

    @property
    def kind(self) -> str:
        """The type of the overload's first argument (a method's target), or "" if it has no arguments."""
        return self.overload.args[0].name if self.overload.args else ""


class Estimate(NamedTuple):
    """The cost of a call, and the size of its result if it is known."""

    cost: int
    size: Size | None = None


def union(one: Size, other: Size) -> Size:
    """Return the size range that covers both sizes."""
    return min(one[0], other[0]), max(one[1], other[1])


def plus(one: Size, other: Size) -> Size:
    """Return the sum of two sizes."""
    return min(one[0] + other[0], MOST), min(one[1] + other[1], MOST)


def times(one: Size, other: Size) -> Size:
    """Return the product of two sizes."""
    return min(one[0] * other[0], MOST), min(one[1] * other[1], MOST)


def scaled(size: Size, factor: float) -> Size:
    """Return a size multiplied by a factor, rounded up."""
    return tuple(min(math.ceil(float(side) * factor), MOST) for side in size)  # type: ignore[return-value]


def call_cost(call: Call) -> Estimate:
    """Return the cost of a call to any function or operator except `?:`."""
    return _COSTS.get(call.name, _once)(call)


def _once(_call: Call) -> Estimate:
    return Estimate(1)


def _read(call: Call, factor: float = _CHARACTER) -> Estimate:
    """Return the cost of reading a string once. The result is estimated to be as long as the string."""
    return Estimate(scaled(call.subject, factor)[1], call.subject)


def _parsed(call: Call) -> Estimate:
    return Estimate(1) if call.name == "ip" and call.target else Estimate(_read(call).cost)


def _canonical(call: Call) -> Estimate:
    return Estimate(_read(call, 2 * _CHARACTER).cost)


def _equality(call: Call) -> Estimate:
    one, other = call.args
    name = one.kind.name if one.kind == other.kind and call.name == "_==_" else ""
    if name in _EQUAL_AT_ONCE:
        return Estimate(1)
    if name == "kubernetes.NamedFormat":
        return Estimate(_EQUAL_FORMATS)
    if name == "kubernetes.URL":
        return Estimate(scaled(other.size or ONE, _CHARACTER)[1])
    return _compared(call)


def _order(call: Call) -> Estimate:
    return _compared(call) if call.kind in _ORDERED else Estimate(1)


def _compared(call: Call) -> Estimate:
    least = min(arg.known[1] for arg in call.args)
    return Estimate(scaled((0, least), _CHARACTER)[1])


def _added(call: Call) -> Estimate:
    if call.kind not in (*_ORDERED, "list"):
        return Estimate(1)
    size = plus(call.args[0].known, call.args[1].known)
    return Estimate(1 if call.kind == "list" else scaled(size, _CHARACTER)[1], size)


def _in(call: Call) -> Estimate:
    return Estimate(call.args[1].known[1] if call.overload.args[1].name == "list" else 1)


def _begins(call: Call) -> Estimate:
    return Estimate(scaled(call.args[0].known, _CHARACTER)[1])


def _converted(call: Call) -> Estimate:
    if call.kind not in _ORDERED or call.kind == call.name:
        return Estimate(1)
    low, high = call.subject
    return Estimate(
        _read(call).cost, (low, min(high * 4, MOST)) if call.name == "bytes" else (low // 4, high)
    )


def _quoted(call: Call) -> Estimate:
    low, high = call.subject
    return Estimate(_read(call).cost, (low + 2, min(high * 2 + 2, MOST)))


def _contains(call: Call) -> Estimate:
    return Estimate(min(scaled(call.subject, _CHARACTER)[1] * _begins(call).cost, MOST))


def _found(call: Call) -> Estimate:
    if call.target is None:
        return Estimate(1)
    text = scaled(plus(call.subject, ONE), _CHARACTER)[1]
    cost = min(text * scaled(call.args[0].known, _PATTERN)[1], MOST)
    return Estimate(cost, None if call.name == "matches" else (0, call.subject[1]))


def _replace(call: Call) -> Estimate:
    old, new = (arg.known for arg in call.args[:2])
    return Estimate(_canonical(call).cost, _replaced(call.subject, old, new))


def _split(call: Call) -> Estimate:
    most = call.subject[1] if len(call.args) == 1 else _constant(call.args[1], call.subject[1])[1]
    return Estimate(_canonical(call).cost, (0, most))


def _join(call: Call) -> Estimate:
    assert call.target is not None
    size = times(call.subject, call.target.element or UNKNOWN) if call.target.kind.params else (0, 0)
    if call.args:
        low, high = call.subject
        size = plus(size, times(call.args[0].known, (max(low - 1, 0), max(high - 1, 0))))
    return Estimate(scaled(size, _CHARACTER)[1], size)


def _within(call: Call) -> Estimate:
    is_text = call.overload.args[1].name == "string"
    return Estimate(
        _ADDRESSES + (3 if call.name == "containsCIDR" else 0) + (_begins(call).cost if is_text else 0)
    )


def _validated(call: Call) -> Estimate:
    return Estimate(scaled(scaled(call.args[0].known, _CHARACTER), _NAME_PATTERN)[1])


def _sets(call: Call) -> Estimate:
    pairs = times(call.args[0].known, call.args[1].known)
    return Estimate(scaled(pairs, _SETS[call.name])[1] + 1)


def _traversed(call: Call) -> Estimate:
    assert call.target is not None
    if not call.target.kind.params:
        return Estimate(_read(call).cost)
    each = 1
    if call.target.kind.params[0].name in _ORDERED:
        each += scaled(call.target.element or UNKNOWN, _CHARACTER)[1]
    return Estimate(min(call.subject[1] * min(each, MOST), MOST))


def _new_list(call: Call) -> Estimate:
    size, factor = call.subject, 1.0
    match call.name:
        case "lists.range":
            size = _constant(call.args[0], MOST)
        case "slice":
            size = ((_constant(call.args[1], size[1])[1] - _constant(call.args[0], 0)[1]) % (MOST + 1),) * 2
        case "flatten" if call.args:
            factor = _constant(call.args[0], MOST)[1]
        case "distinct" | "sort" | "@sortByAssociatedKeys":
            keys = call.args[0].known if call.args else size
            size, factor = times(keys, keys), 2.0
            if call.name != "distinct" and call.overload.args[-1].params[0].name in _ORDERED:
                factor += _CHARACTER
    return Estimate(min(scaled(size, factor)[1] + 1 + _LIST, MOST), size)


def _replaced(text: Size, old: Size, new: Size) -> Size:
    """Return the size of a string after every occurrence of old has been replaced with new."""
    sides = []
    for side, kept in ((0, old[1] <= new[0]), (1, new[1] <= old[0])):
        other = old[1 - side]
        if other == 0:
            count, rest = min(text[side] + 1, MOST), text[side]
        elif kept:
            count, rest = 0, text[side]
        else:
            count, rest = math.ceil(float(text[side]) / float(other)), 0
        sides.append(min(min(count * new[side], MOST) + rest, MOST))
    return sides[0], sides[1]


def _constant(argument: Argument, otherwise: int) -> Size:
    """Return a constant integer's value as a size. For any other argument, return the size `otherwise`."""
    node = argument.node
    is_number = isinstance(node, Literal) and type(node.value) is int
    value = max(node.value, 0) if isinstance(node, Literal) and is_number else otherwise
    return value, value


_NAMED: Final[dict[str, Callable[[Call], Estimate]]] = {
    "check": lambda _: Estimate(_AUTHORIZATION),
    "url lowerAscii upperAscii substring trim": _read,
    "cidr isIP isCIDR ip quantity isQuantity semver isSemver format": _parsed,
    "ip.isCanonical": _canonical,
    "_==_ _!=_": _equality,
    "_<_ _<=_ _>_ _>=_": _order,
    "_+_": _added,
    "@in": _in,
    "startsWith endsWith": _begins,
    "bytes string": _converted,
    "strings.quote": _quoted,
    "contains": _contains,
    "matches find findAll": _found,
    "replace": _replace,
    "split": _split,
    "join": _join,
    "containsIP containsCIDR": _within,
    "validate": _validated,
    "sets.contains sets.intersects sets.equivalent": _sets,
    "isSorted sum max min indexOf lastIndexOf": _traversed,
    "lists.range slice flatten reverse distinct sort @sortByAssociatedKeys": _new_list,
}
_COSTS: Final = {name: cost for names, cost in _NAMED.items() for name in names.split()}
