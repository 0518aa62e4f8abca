"""
Evaluates CEL: compiles a syntax tree into a Python function that takes the variables.

A call to an unknown function fails at compile time, not at evaluation.
Follows: the CEL language definition (evaluation, errors absorbed by && and ||).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import lru_cache, partial
from itertools import repeat
from typing import Any, Final

from handloop_sandbox.cel.declarations import functions
from handloop_sandbox.cel.functions import FUNCTIONS, METHODS
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
    walk,
)
from handloop_sandbox.cel.syntax import parse
from handloop_sandbox.cel.tokens import CelSyntaxError, Problem
from handloop_sandbox.cel.values import (
    NONE,
    OPERATORS,
    CelError,
    Optional,
    Type,
    checked_int,
    readable,
    type_of,
)

Env = Mapping[str, Any]
Program = Callable[[Env], Any]

_LENIENT: Final = frozenset(("startsWith", "endsWith", "contains", "matches", "size", "or", "orValue"))
"""Functions that check their arguments themselves."""
_SHORT: Final = {
    "google.protobuf.Duration": "duration",
    "google.protobuf.Timestamp": "timestamp",
    "null_type": "null",
}
"""Maps type names to the names that signatures use instead."""
_TYPES: Final = {
    name: Type(name)
    for name in ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")
}


@lru_cache(maxsize=2048)
def compile_rule(text: str) -> Program:
    """
    Compile an expression into a function that evaluates it.

    Raises: CelSyntaxError if the expression is invalid. The returned function raises CelError if the
    evaluation fails.
    """
    return _compile(expand(parse(text)))


def names_in(text: str) -> frozenset[str]:
    """
    Return the identifiers in an expression: variables and type names.

    Raises: CelSyntaxError if the expression is invalid.
    """
    return frozenset(node.name for node in walk(parse(text)) if isinstance(node, Name))


def _compile(node: Node) -> Program:
    made: Program = _COMPILERS[type(node)](node)
    return made


def _literal(node: Literal) -> Program:
    return lambda _env: node.value


def _list(node: ListNode) -> Program:
    programs = [_compile(item) for item in node.items]
    if not node.optional:
        return lambda env: [program(env) for program in programs]

    def program(env: Env) -> list[Any]:
        return [value for _, value in _present(enumerate(item(env) for item in programs), node.optional)]

    return program


def _map(node: MapNode) -> Program:
    pairs = [(_compile(key), _compile(value)) for key, value in node.entries]
    return lambda env: dict(_present(((key(env), value(env)) for key, value in pairs), node.optional))


def _present(entries: Iterable[tuple[Any, Any]], optional: frozenset[int]) -> Iterator[tuple[Any, Any]]:
    """Yield the entries of a list or map literal, except for optional ones without a value."""
    for index, (key, value) in enumerate(entries):
        if index not in optional:
            yield key, value
        elif value.present:
            yield key, value.value


def _variable(node: Name) -> Program:
    name = node.name

    def program(env: Env) -> Any:
        if name in env:
            value = env[name]
            if isinstance(value, CelError):
                raise value
            return value
        if name in _TYPES:
            return _TYPES[name]
        raise CelError(f"undeclared reference to '{name}'")

    return program


def _select(node: Select) -> Program:
    operand, field, optional = _compile(node.operand), node.field, node.optional
    if node.is_test:
        return _has(operand, field)

    def program(env: Env) -> Any:
        value = operand(env)
        if optional or isinstance(value, Optional):
            return _optional_entry(value, field)
        return _entry(value, field)

    return program


def _has(operand: Program, field: str) -> Program:
    def program(env: Env) -> bool:
        value = operand(env)
        value = value.value if isinstance(value, Optional) else value
        return isinstance(value, dict) and field in value

    return program


def _index(node: Index) -> Program:
    operand, key, optional = _compile(node.operand), _compile(node.key), node.optional

    def program(env: Env) -> Any:
        value, at = operand(env), key(env)
        if optional or isinstance(value, Optional):
            return _optional_entry(value, at)
        return _entry(value, at)

    return program


def _entry(value: Any, key: Any) -> Any:
    if isinstance(value, dict):
        if key not in value:
            raise CelError(f"no such key: {key}")
        return readable(value[key])
    if isinstance(value, list) and isinstance(key, int):
        if not 0 <= key < len(value):
            raise CelError(f"index out of bounds: {key}")
        return readable(value[key])
    if isinstance(value, list):
        raise CelError(f"unsupported index type '{type_of(key).name}' in list")
    raise CelError(f"no such key: {key}")


def _optional_entry(value: Any, key: Any) -> Optional:
    inner = value.value if isinstance(value, Optional) else value
    try:
        return Optional(present=True, value=_entry(inner, key))
    except CelError:
        return NONE


def _call(node: Call) -> Program:
    special = _SPECIAL.get(node.function)
    if special is not None and node.target is None:
        return special(node)
    if node.target is None:
        return _applied(node, node.function, FUNCTIONS, node.args)
    namespaced = f"{node.target.name}.{node.function}" if isinstance(node.target, Name) else ""
    if namespaced in FUNCTIONS:
        return _applied(node, namespaced, FUNCTIONS, node.args)
    return _applied(node, node.function, METHODS, (node.target, *node.args))


def _applied(
    node: Call, name: str, known: Mapping[str, Callable[..., Any]], args: tuple[Node, ...]
) -> Program:
    function = known.get(name)
    if function is None:
        told = f"undeclared reference to '{node.function}' (in container '')"
        raise CelSyntaxError(Problem(node.at, told))
    programs = [_compile(arg) for arg in args]
    variants = [
        tuple(arg.name for arg in overload.args)
        for overload in functions().get(name, ())
        if overload.is_method is (known is METHODS) and len(overload.args) == len(args)
    ]
    is_checked = bool(variants) and name not in _LENIENT
    accepted: set[tuple[type, ...]] = set()  # argument types that fit, so that a loop checks them only once

    def program(env: Env) -> Any:
        values = [arg(env) for arg in programs]
        if is_checked and (classes := tuple(map(type, values))) not in accepted:
            if not any(map(_accepts, variants, repeat(values))):
                raise _no_overload(name, values)
            accepted.add(classes)
        try:
            return function(*values)
        except (TypeError, AttributeError, ValueError, IndexError, OverflowError) as error:
            raise _no_overload(name, values) from error

    return program


def _accepts(variant: Sequence[str], values: Sequence[Any]) -> bool:
    """Return whether an overload accepts these values, regardless of the contents of lists and maps."""
    return all(
        wanted[0] == "%" or wanted == "dyn" or _SHORT.get(given := type_of(value).name, given) == wanted
        for wanted, value in zip(variant, values, strict=True)
    )


def _no_overload(name: str, values: Sequence[Any]) -> CelError:
    types = ", ".join(type_of(value).name for value in values)
    return CelError("no such overload" if name in _LENIENT else f"no such overload: {name}({types})")


def _loop(node: Comprehension) -> Program:
    over, start, condition = _compile(node.over), _compile(node.start), _compile(node.condition)
    step, result = _compile(node.step), _compile(node.result)

    def program(env: Env) -> Any:
        inner = dict(env)
        inner[node.accu] = start(env)
        for entry in _entries(over(env), len(node.names)):
            if not condition(inner):
                break
            inner.update(zip(node.names, entry, strict=True))
            try:
                inner[node.accu] = step(inner)
            except CelError as error:
                inner[node.accu] = error
        return result({**env, node.accu: inner[node.accu]})

    return program


def _entries(values: Any, count: int) -> Iterable[tuple[Any, ...]]:
    """
    Return the values of a loop's variables.

    One variable receives list elements or map keys. Two variables receive an index or key, and its value.
    """
    if isinstance(values, dict):
        return values.items() if count > 1 else zip(values)
    if isinstance(values, list):
        return enumerate(values) if count > 1 else zip(values)
    raise CelError(f"got 'types.{type_of(values).name.title()}', expected iterable type")


def _going_on(node: Call) -> Program:
    """
    Compile a loop's condition.

    If the condition's evaluation fails, the loop continues, because a later entry can decide the result.
    """
    inner = _compile(node.args[0])

    def program(env: Env) -> bool:
        try:
            return inner(env) is not False
        except CelError:
            return True

    return program


def _settled(tests: Iterable[Callable[[], bool]], *, decisive: bool) -> bool:
    """
    Evaluate && or ||.

    An operand that equals decisive is the result, even after an error. If there is none, the first error is
    raised.
    """
    problem: CelError | None = None
    for test in tests:
        try:
            if test() is decisive:
                return decisive
        except CelError as error:
            problem = problem or error
    if problem is not None:
        raise problem
    return not decisive


def _tested(test: Callable[[Any], Any], value: Any) -> bool:
    return _truth(test(value))


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise CelError("no such overload")
    return value


def _logical(node: Call) -> Program:
    programs = [_compile(arg) for arg in node.args]
    decisive = node.function == "||"

    def logical(env: Env) -> bool:
        return _settled((partial(_tested, program, env) for program in programs), decisive=decisive)

    return logical


def _conditional(node: Call) -> Program:
    condition, then, otherwise = (_compile(arg) for arg in node.args)
    return lambda env: then(env) if _truth(condition(env)) else otherwise(env)


def _not(node: Call) -> Program:
    inner = _compile(node.args[0])
    return lambda env: not _truth(inner(env))


def _negate(node: Call) -> Program:
    inner = _compile(node.args[0])

    def program(env: Env) -> Any:
        value = inner(env)
        if isinstance(value, bool) or not isinstance(value, (int, float, timedelta)):
            raise CelError("no such overload")
        return checked_int(-value) if isinstance(value, int) else -value

    return program


def _binary(node: Call) -> Program:
    left, right = (_compile(arg) for arg in node.args)
    apply = OPERATORS[node.function]
    return lambda env: apply(left(env), right(env))


_SPECIAL: Final[dict[str, Callable[[Call], Program]]] = {
    "&&": _logical,
    "||": _logical,
    "?:": _conditional,
    "!": _not,
    "negate": _negate,
    "@not_strictly_false": _going_on,
    **dict.fromkeys(OPERATORS, _binary),
}

_COMPILERS: Final[dict[type, Callable[[Any], Program]]] = {
    Literal: _literal,
    Name: _variable,
    Select: _select,
    Index: _index,
    Call: _call,
    ListNode: _list,
    MapNode: _map,
    Comprehension: _loop,
}
