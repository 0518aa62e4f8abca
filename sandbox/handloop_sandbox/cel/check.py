"""
The type checker of CEL expressions.

Follows: cel-go 0.26.0 checker/checker.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from handloop_sandbox.cel import types as cel_types
from handloop_sandbox.cel.declarations import TYPES, functions
from handloop_sandbox.cel.literals import Checked, literal_problems
from handloop_sandbox.cel.macros import expand
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
from handloop_sandbox.cel.syntax import parse
from handloop_sandbox.cel.tokens import CelSyntaxError, Problem, Uint
from handloop_sandbox.cel.types import BOOL, DYN, ERROR, INT, CelType, fits, resolved

Fields = Mapping[str, Mapping[str, CelType]]
"""Maps the name of each object type to the types of its fields."""
_OPERATORS: Final = {"!": "!_", "negate": "-_", "?:": "_?_:_", "in": "@in"}
_LITERALS: Final[dict[type, CelType]] = {
    bool: BOOL,
    bytes: cel_types.BYTES,
    float: cel_types.DOUBLE,
    int: INT,
    type(None): cel_types.NULL,
    str: cel_types.STRING,
    Uint: cel_types.UINT,
}


def check(text: str, variables: Mapping[str, CelType], fields: Fields) -> Checked:
    """
    Parse and check an expression, and return it with the type of each node.

    Raises: CelSyntaxError with all problems in the expression.
    """
    checker = _Checker(expand(parse(text)), variables, fields)
    checked = checker.run()
    problems = checker.problems or list(literal_problems(checked))
    if problems:
        raise CelSyntaxError(*problems)
    return checked


class _Checker:
    def __init__(self, root: Node, variables: Mapping[str, CelType], fields: Fields) -> None:
        self.problems: list[Problem] = []
        self._checked = Checked(root)
        self._scope = dict(variables)
        self._fields = fields
        self._bindings: cel_types.Bindings = {}
        self._number = 0

    def run(self) -> Checked:
        """Check the whole expression. Types that remain unknown become dyn."""
        self._check(self._checked.root)
        types = self._checked.types
        for key, found in types.items():
            types[key] = resolved(self._bindings, found, open_ends=True)
        return self._checked

    def _check(self, node: Node) -> CelType:
        found = self._type(node)
        self._checked.types[id(node)] = found
        return found

    def _type(self, node: Node) -> CelType:
        match node:
            case Literal(value=value):
                found = _LITERALS[type(value)]
            case Name(name=name):
                found = self._scope.get(name) or TYPES.get(name) or self._undeclared(node, name)
            case Select():
                found = self._select(node)
            case Index():
                name = "_[?_]" if node.optional else "_[_]"
                types = (self._check(node.operand), self._check(node.key))
                found = self._applied(node, name, types, is_method=False)
            case Call():
                found = self._call(node)
            case ListNode():
                found = self._list(node)
            case MapNode():
                found = self._map(node)
            case _:
                found = self._comprehension(node)
        return found

    def _undeclared(self, node: Node, name: str) -> CelType:
        return self._wrong(node, f"undeclared reference to '{name}' (in container '')")

    def _wrong(self, node: Node, message: str) -> CelType:
        self.problems.append(Problem(node.at, message))
        return ERROR

    def _select(self, node: Select) -> CelType:
        qualified = None if node.is_test or node.optional else _qualified(node)
        if qualified in TYPES:
            return TYPES[qualified]
        whole = self._resolved(self._check(node.operand))
        is_optional = whole.name == "optional_type"
        found = self._field(node, whole.params[0] if is_optional else whole)
        if node.is_test:
            return BOOL
        return cel_types.optional_of(found) if is_optional or node.optional else found

    def _field(self, node: Select, found: CelType) -> CelType:
        if found.name == "map":
            return self._resolved(found.params[1])
        if found.is_variable or found.is_open:
            fits(self._bindings, DYN, found)
            return DYN
        if found.name in self._fields:
            known = self._fields[found.name].get(node.field)
            return known or self._wrong(node, f"undefined field '{node.written}'")
        if found.name.startswith("kubernetes."):
            return self._wrong(node, f"unexpected failed resolution of '{found}'")
        self._wrong(node, f"type '{found}' does not support field selection")
        return DYN

    def _call(self, node: Call) -> CelType:
        args = tuple(map(self._check, node.args))
        if node.target is None:
            name = node.function
            if not name[0].isalpha() and not name.startswith("@"):
                name = f"_{name}_"
            name = _OPERATORS.get(node.function, name)
            if name in ("_&&_", "_||_"):
                return self._logic(node, args)
            if name not in functions():
                return self._undeclared(node, name)
            return self._applied(node, name, args, is_method=False)
        prefix = _qualified(node.target)
        if prefix is not None and f"{prefix}.{node.function}" in functions():
            return self._applied(node, f"{prefix}.{node.function}", args, is_method=False)
        target = self._check(node.target)
        if node.function not in functions():
            return self._undeclared(node, node.function)
        return self._applied(node, node.function, (target, *args), is_method=True)

    def _logic(self, node: Call, types: Iterable[CelType]) -> CelType:
        wrong = False
        for arg, found in zip(node.args, types, strict=True):
            if not self._fits(found, BOOL):
                wrong = True
                self._wrong(arg, f"expected type 'bool' but found '{found}'")
        return ERROR if wrong else BOOL

    def _applied(self, node: Node, name: str, types: tuple[CelType, ...], *, is_method: bool) -> CelType:
        matching, result = [], None
        for overload in functions()[name]:
            if overload.is_method is not is_method or len(overload.args) != len(types):
                continue
            wanted, given = overload.args, overload.result
            if overload.variables:
                wanted, given = overload.instance(self._number)
                self._number += len(overload.variables)
            bindings = dict(self._bindings)
            if not cel_types.all_fit(bindings, types, wanted):
                continue
            self._bindings = bindings
            matching.append(overload)
            given = self._resolved(given)
            if result is None:
                result = given
            elif result not in (DYN, given):
                result = DYN
        if result is None:
            shown = [str(resolved(self._bindings, one, open_ends=True)) for one in types]
            target = f"{shown.pop(0)}." if is_method else ""
            applied = f"{target}({', '.join(shown)})"
            return self._wrong(node, f"found no matching overload for '{name}' applied to '{applied}'")
        self._checked.overloads[id(node)] = matching
        return result

    def _list(self, node: ListNode) -> CelType:
        element: CelType | None = None
        for index, item in enumerate(node.items):
            found = self._unwrapped(item, self._check(item), is_optional=index in node.optional)
            element = self._joined(element, found)
        return cel_types.list_of(element or self._variable())

    def _map(self, node: MapNode) -> CelType:
        key_type: CelType | None = None
        value_type: CelType | None = None
        for index, (key, value) in enumerate(node.entries):
            key_type = self._joined(key_type, self._check(key))
            found = self._unwrapped(value, self._check(value), is_optional=index in node.optional)
            value_type = self._joined(value_type, found)
        return cel_types.map_of(key_type or self._variable(), value_type or self._variable())

    def _unwrapped(self, node: Node, found: CelType, *, is_optional: bool) -> CelType:
        if not is_optional or found == DYN:
            return found
        if found.name == "optional_type":
            return found.params[0]
        self._wrong(node, f"expected type '{cel_types.optional_of(found)}' but found '{found}'")
        return found

    def _joined(self, before: CelType | None, found: CelType) -> CelType:
        if before is None:
            return found
        if self._fits(before, found):
            return cel_types.wider_of(before, found)
        return DYN

    def _comprehension(self, node: Comprehension) -> CelType:
        over = self._resolved(self._check(node.over))
        accu = self._check(node.start)
        outer = self._scope
        self._scope = {**outer, node.accu: accu}
        inner = self._scope
        self._scope = {**inner, **dict(zip(node.names, self._entries(node, over), strict=True))}
        for part, wanted in ((node.condition, BOOL), (node.step, accu)):
            found = self._check(part)
            if not self._fits(wanted, found):
                self._wrong(part, f"expected type '{wanted}' but found '{found}'")
        self._scope = inner
        result = self._check(node.result)
        self._scope = outer
        return self._resolved(result)

    def _entries(self, node: Comprehension, over: CelType) -> tuple[CelType, ...]:
        """Return the types of a loop's variables."""
        if over.name == "list":
            return (INT, over.params[0])[-len(node.names) :]
        if over.name == "map":
            return over.params[: len(node.names)]
        if over.is_variable or over.is_open:
            fits(self._bindings, DYN, over)
            return (DYN,) * len(node.names)
        told = (
            f"expression of type '{over}' cannot be range of a comprehension (must be list, map, or dynamic)"
        )
        self._wrong(node.over, told)
        return (ERROR,) * len(node.names)

    def _variable(self) -> CelType:
        self._number += 1
        return CelType(f"%_var{self._number - 1}")

    def _fits(self, given: CelType, wanted: CelType) -> bool:
        bindings = dict(self._bindings)
        if not fits(bindings, given, wanted):
            return False
        self._bindings = bindings
        return True

    def _resolved(self, found: CelType) -> CelType:
        return resolved(self._bindings, found)


def _qualified(node: Node) -> str | None:
    """Return a node's dotted name, such as `a.b`, or None if the node is not a name."""
    if isinstance(node, Name):
        return node.name
    if isinstance(node, Select) and not node.is_test and not node.optional:
        prefix = _qualified(node.operand)
        return prefix and f"{prefix}.{node.field}"
    return None
