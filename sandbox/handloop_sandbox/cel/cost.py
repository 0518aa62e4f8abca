"""
Computes the highest cost that an expression can have for an object that fits into a request.

Follows: cel-go 0.26.0 checker/cost.go, ext/sets.go, ext/lists.go; apiserver 0.36 pkg/cel/library/cost.go.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from handloop_sandbox.cel.call_cost import (
    MOST,
    ONE,
    UNKNOWN,
    Argument,
    Estimate,
    Size,
    call_cost,
    union,
)
from handloop_sandbox.cel.call_cost import (
    Call as Operation,
)
from handloop_sandbox.cel.declarations import Overload
from handloop_sandbox.cel.declared import Declared
from handloop_sandbox.cel.literals import Checked
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
from handloop_sandbox.cel.types import CelType

_LIST: Final = 10
_MAP: Final = 30
_FACTOR: Final = 0.1
_SCALAR: Final = frozenset(("bool", "double", "duration", "int", "timestamp", "uint"))
_ADDED: Final = ("string", "bytes", "list")
_ORDERED: Final = ("string", "bytes")
_Path = tuple[str, ...]


class _Entries(NamedTuple):
    """The sizes of a collection's keys and values, and its kind: "list" or "map"."""

    kind: str
    key: Size
    value: Size

    def union(self, other: _Entries | None) -> _Entries | None:
        return other and _Entries(self.kind, union(self.key, other.key), union(self.value, other.value))


class _Local(NamedTuple):
    """The known facts about a loop's variable."""

    path: _Path
    size: Size | None = None
    entries: _Entries | None = None


def cost_of(checked: Checked, root: Declared) -> int:
    """Return the maximum cost of an expression, up to 2**64 - 1. root declares self and oldSelf."""
    return _Coster(checked, root).cost(checked.root)


class _Coster:
    def __init__(self, checked: Checked, root: Declared) -> None:
        self._checked = checked
        self._root = root
        self._paths: dict[int, _Path] = {}
        self._sizes: dict[int, Size] = {}
        self._entries: dict[int, _Entries] = {}
        self._locals: dict[str, _Local] = {}

    def cost(self, node: Node) -> int:
        match node:
            case Literal():
                total = 0
            case Name(name=name):
                known = self._locals.get(name)
                self._paths[id(node)] = known.path if known else (name,)
                total = 1
            case Select():
                total = self._select(node)
            case Index(operand=operand, key=key):
                total = self._call(node, "_[_]", None, (operand, key))
            case Call():
                total = self._called(node)
            case ListNode(items=items):
                total = sum(map(self.cost, items)) + _LIST
                self._entries[id(node)] = _Entries("list", ONE, self._widest(items))
            case MapNode(entries=entries):
                total = sum(self.cost(key) + self.cost(value) for key, value in entries) + _MAP
                keys, values = ([entry[side] for entry in entries] for side in (0, 1))
                self._entries[id(node)] = _Entries("map", self._widest(keys), self._widest(values))
            case _:
                total = self._bound(node) if _is_bound(node) else self._loop(node)
        return min(total, MOST)

    def _widest(self, nodes: list[Node] | tuple[Node, ...]) -> Size:
        widest = (MOST if nodes else 0, 0)
        for node in nodes:
            widest = union(widest, self._size_or_unknown(node))
        return widest

    def _select(self, node: Select) -> int:
        if id(node.operand) not in self._checked.types:
            self._paths[id(node)] = (node.written,)  # the dotted name of a type
            return 1
        operand = self.cost(node.operand)
        if node.optional:
            return operand + 1
        if node.is_test:
            return operand
        self._paths[id(node)] = (*self._path(node.operand), node.field)
        kind = self._checked.type_of(node.operand)
        is_read = (not kind.params and kind.name not in _PLAIN) or kind.name == "map"
        return operand + is_read

    def _called(self, node: Call) -> int:
        if node.function == "dyn" and node.target is None:
            cost = self.cost(node.args[0])
            self._copy(node, node.args[0])
            return cost + 1
        if node.function in ("&&", "||"):
            return sum(map(self.cost, node.args))
        overloads = self._checked.overloads.get(id(node), [])
        is_method = any(overload.is_method for overload in overloads)
        return self._call(node, _name(node), node.target if is_method else None, node.args)

    def _call(self, node: Node, name: str, target: Node | None, args: tuple[Node, ...]) -> int:
        costs = [self.cost(arg) for arg in args]
        given = [self._argument(arg) for arg in args]
        total = self.cost(target) if target is not None else 0
        on = self._argument(target) if target is not None else None
        most, size = 0, None
        for overload in self._checked.overloads.get(id(node), []):
            if name in ("_+_", "_?_:_"):
                self._joined(node, args[-2], args[-1])
            if name == "_?_:_":
                found = Estimate(costs[0] + max(costs[1:]), union(given[1].known, given[2].known))
            else:
                found = call_cost(Operation(name, overload, on, given))
                found = found._replace(cost=found.cost + sum(costs))
            most = max(most, found.cost)
            size = found.size if size is None else size if found.size is None else union(size, found.size)
            size = self._indexed(node, name, overload, args, size) or self._size(node)
        if size is not None:
            self._sizes[id(node)] = size
        return total + most

    def _indexed(
        self, node: Node, name: str, overload: Overload, args: tuple[Node, ...], size: Size | None
    ) -> Size | None:
        if name != "_[_]" or (isinstance(node, Index) and node.optional):
            return size
        kind = overload.args[0].name
        if kind in ("list", "map"):
            self._paths[id(node)] = (*self._path(args[0]), "@items" if kind == "list" else "@values")
            entries = self._entries_of(args[0])
            return entries.value if entries else None
        return size

    def _joined(self, node: Node, one: Node, other: Node) -> None:
        """Record the entry sizes of a node that evaluates to one of two other nodes, or to both combined."""
        entries = self._entries_of(one)
        if entries and (both := entries.union(self._entries_of(other))):
            self._entries[id(node)] = both

    def _loop(self, node: Comprehension) -> int:
        total = self.cost(node.over) + self.cost(node.start)
        outer = self._locals
        start = _Local(self._path(node.start), self._size(node.start), self._entries_of(node.start))
        inner = {**outer, node.accu: start}
        self._locals = {**inner, **self._variables(node)}
        step = self.cost(node.condition) + self.cost(node.step)
        entries = self._entries_of(node.step)
        self._locals = inner
        total += self.cost(node.result)
        self._locals = outer
        count = self._size_or_unknown(node.over)
        if isinstance(node.start, Literal):
            self._sizes[id(node)] = ONE
        else:
            self._sizes[id(node)] = count
            if entries:
                self._entries[id(node)] = entries
        return total + count[1] * min(step, MOST)

    def _variables(self, node: Comprehension) -> dict[str, _Local]:
        entries, path = self._entries_of(node.over), self._path(node.over)
        kind = entries.kind if entries else self._checked.type_of(node.over).name
        key = _Local((*path, "@indices" if kind == "list" else "@keys"), entries and entries.key)
        value = _Local((*path, "@items" if kind == "list" else "@values"), entries and entries.value)
        only = (value if kind == "list" else key,)
        return dict(zip(node.names, only if len(node.names) == 1 else (key, value), strict=True))

    def _bound(self, node: Comprehension) -> int:
        total = self.cost(node.over) + self.cost(node.start)
        outer = self._locals
        start = _Local(self._path(node.start), self._size(node.start), self._entries_of(node.start))
        self._locals = {**outer, node.accu: start}
        total += self.cost(node.result)
        self._copy(node, node.result)
        self._locals = outer
        return total

    def _copy(self, node: Node, source: Node) -> None:
        size, entries = self._size(source), self._entries_of(source)
        if size is not None:
            self._sizes[id(node)] = size
        if entries is not None:
            self._entries[id(node)] = entries

    def _argument(self, node: Node) -> Argument:
        path = self._path(node)
        kind = self._checked.type_of(node)
        element = self._at((*path, "@items")) if path and path[0] != "@result" and kind.params else None
        return Argument(node, kind, self._size(node), element)

    def _path(self, node: Node) -> _Path:
        if isinstance(node, Name) and node.name in self._locals:
            return self._locals[node.name].path
        return self._paths.get(id(node), ())

    def _size_or_unknown(self, node: Node) -> Size:
        return self._size(node) or UNKNOWN

    def _size(self, node: Node) -> Size | None:
        """Return a node's size, or None if it is unknown. Scalars have the size 1."""
        known = self._sizes.get(id(node)) or _written(node) or self._at(self._path(node))
        if known is not None or _is_scalar(self._checked.type_of(node)):
            return known or ONE
        local = self._locals.get(node.name) if isinstance(node, Name) else None
        return local and local.size

    def _at(self, path: _Path) -> Size | None:
        """Return the declared size at a path. The path's first name stands for the root value."""
        if not path:
            return None
        found = self._root
        for name in path[1:]:
            inner = _inner(found, name)
            if inner is None:
                return None
            found = inner
        return (0, found.most)

    def _entries_of(self, node: Node) -> _Entries | None:
        local = self._locals.get(node.name) if isinstance(node, Name) else None
        return self._entries.get(id(node)) or (local and local.entries)


_KEY: Final = Declared(CelType("string"))
_PLAIN: Final = frozenset((*_SCALAR, "string", "bytes", "null", "dyn", "!error!", "type"))
_COMPARISONS: Final = frozenset(("_<_", "_<=_", "_>_", "_>=_"))
_NAMES: Final = {"!": "!_", "negate": "-_", "?:": "_?_:_", "in": "@in"}


def _name(node: Call) -> str:
    name = node.function if node.function[0].isalpha() or node.function[0] == "@" else f"_{node.function}_"
    if isinstance(node.target, Name) and node.target.name in (
        "ip",
        "format",
        "sets",
        "lists",
        "strings",
        "optional",
    ):
        name = f"{node.target.name}.{name}"
    return _NAMES.get(node.function, name)


def _inner(found: Declared, name: str) -> Declared | None:
    """Return the declaration of a field, or of a collection's keys or elements."""
    if name in ("@items", "@values"):
        return found.elements
    if name == "@keys":
        return _KEY if found.kind.name == "map" else None
    return found.fields.get(name)


def _is_bound(node: Comprehension) -> bool:
    is_off = isinstance(node.condition, Literal) and node.condition.value is False
    return is_off and node.over == ListNode(())


def _written(node: Node) -> Size | None:
    """Return the size of a constant, or of a list or map literal."""
    match node:
        case Literal(value=str() | bytes() as value):
            return (len(value), len(value))
        case Literal():
            return ONE
        case ListNode(items=entries) | MapNode(entries=entries):
            return (len(entries), len(entries))
    return None


def _is_scalar(kind: CelType) -> bool:
    return kind.name in _SCALAR or (kind.name == "optional_type" and _is_scalar(kind.params[0]))
