"""
CEL evaluated: a tree becomes a Python function of the variables.

An expression with an unknown function is refused when it is compiled, not when it is used.
Follows: the CEL language definition (evaluation, errors absorbed by && and ||).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import timedelta
from functools import lru_cache, partial
from typing import Any, Final

from handloop_sandbox.custom.cel_functions import FUNCTIONS, METHODS
from handloop_sandbox.custom.cel_syntax import (
    Call,
    CelSyntaxError,
    Index,
    ListNode,
    Literal,
    MapNode,
    Name,
    Node,
    Select,
    parse,
)
from handloop_sandbox.custom.cel_values import NONE, OPERATORS, CelError, Optional, Type, checked_int

Env = Mapping[str, Any]
Program = Callable[[Env], Any]

_TYPES: Final = {
    name: Type(name)
    for name in ("bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type")
}
_NAMESPACES: Final = ("optional", "sets")
_MACROS: Final = ("all", "exists", "exists_one", "existsOne", "filter", "map")


@lru_cache(maxsize=2048)
def compile_rule(text: str) -> Program:
    """
    The function of an expression.

    Raises: CelSyntaxError. The function raises CelError.
    """
    return _compile(parse(text))


def names_in(text: str) -> frozenset[str]:
    """The variables an expression mentions. Raises: CelSyntaxError."""
    return frozenset(_names(parse(text)))


def _names(node: Node) -> Iterable[str]:
    if isinstance(node, Name):
        yield node.name
    for child in _children(node):
        yield from _names(child)


def _children(node: Node) -> Iterable[Node]:
    match node:
        case Select(operand=operand):
            return (operand,)
        case Index(operand=operand, key=key):
            return (operand, key)
        case Call(args=args, target=target):
            return args if target is None else (target, *args)
        case ListNode(items=items):
            return items
        case MapNode(entries=entries):
            return tuple(part for entry in entries for part in entry)
    return ()


def _compile(node: Node) -> Program:
    match node:
        case Literal(value=value):
            return lambda _env: value
        case Name(name=name):
            return _variable(name)
        case Select():
            return _select(node)
        case Index():
            return _index(node)
        case Call():
            return _call(node)
    return _collection(node)


def _collection(node: ListNode | MapNode) -> Program:
    if isinstance(node, ListNode):
        programs = [_compile(item) for item in node.items]
        return lambda env: [program(env) for program in programs]
    pairs = [(_compile(key), _compile(value)) for key, value in node.entries]
    return lambda env: {key(env): value(env) for key, value in pairs}


def _variable(name: str) -> Program:
    def program(env: Env) -> Any:
        if name in env:
            return env[name]
        if name in _TYPES:
            return _TYPES[name]
        raise CelError(f"undeclared reference to '{name}'")

    return program


def _select(node: Select) -> Program:
    operand, field, optional = _compile(node.operand), node.field, node.optional

    def program(env: Env) -> Any:
        value = operand(env)
        if optional or isinstance(value, Optional):
            return _optional_entry(value, field)
        return _entry(value, field)

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
        return value[key]
    if isinstance(value, list) and isinstance(key, int):
        if not 0 <= key < len(value):
            raise CelError(f"index out of bounds: {key}")
        return value[key]
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
        return _applied(node.function, FUNCTIONS, node.args)
    if node.function in _MACROS and node.args and isinstance(node.args[0], Name):
        return _macro(node)
    if isinstance(node.target, Name) and node.target.name in _NAMESPACES:
        return _applied(f"{node.target.name}.{node.function}", FUNCTIONS, node.args)
    return _applied(node.function, METHODS, (node.target, *node.args))


def _applied(name: str, known: Mapping[str, Callable[..., Any]], args: tuple[Node, ...]) -> Program:
    function = known.get(name)
    if function is None:
        raise CelSyntaxError(f"function {name!r} is not known here")
    programs = [_compile(arg) for arg in args]

    def program(env: Env) -> Any:
        values = [arg(env) for arg in programs]
        try:
            return function(*values)
        except (TypeError, AttributeError, ValueError, IndexError) as error:
            raise CelError(f"no such overload: {name}") from error

    return program


def _macro(node: Call) -> Program:
    assert node.target is not None
    assert isinstance(node.args[0], Name)
    name, target = node.args[0].name, _compile(node.target)
    bodies = [_compile(arg) for arg in node.args[1:]]
    fold = _FOLDS.get((node.function, len(bodies)))
    if fold is None:
        raise CelSyntaxError(f"{node.function} with {len(node.args)} arguments is not known here")

    def program(env: Env) -> Any:
        values = target(env)
        if not isinstance(values, (list, dict)):
            raise CelError("expression of this type cannot be range of a comprehension")
        tests = [_tester(body, env, name) for body in bodies]
        return fold(values, *tests)

    return program


def _tester(body: Program, env: Env, name: str) -> Callable[[Any], Any]:
    return lambda value: body({**env, name: value})


def _all(values: Iterable[Any], test: Callable[[Any], Any]) -> bool:
    return _settled((partial(_tested, test, value) for value in values), decisive=False)


def _exists(values: Iterable[Any], test: Callable[[Any], Any]) -> bool:
    return _settled((partial(_tested, test, value) for value in values), decisive=True)


def _exists_one(values: Iterable[Any], test: Callable[[Any], Any]) -> bool:
    return sum(_truth(test(value)) for value in values) == 1


def _filter(values: Iterable[Any], test: Callable[[Any], Any]) -> list[Any]:
    return [value for value in values if _truth(test(value))]


def _map(values: Iterable[Any], make: Callable[[Any], Any]) -> list[Any]:
    return [make(value) for value in values]


def _map_filtered(values: Iterable[Any], test: Callable[[Any], Any], make: Callable[[Any], Any]) -> list[Any]:
    return [make(value) for value in values if _truth(test(value))]


_FOLDS: Final[dict[tuple[str, int], Callable[..., Any]]] = {
    ("all", 1): _all,
    ("exists", 1): _exists,
    ("exists_one", 1): _exists_one,
    ("existsOne", 1): _exists_one,
    ("filter", 1): _filter,
    ("map", 1): _map,
    ("map", 2): _map_filtered,
}


def _settled(tests: Iterable[Callable[[], bool]], *, decisive: bool) -> bool:
    """The first decisive answer wins over errors before it; without one an error is raised."""
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


def _has(node: Call) -> Program:
    select = node.args[0] if len(node.args) == 1 else None
    if not isinstance(select, Select):
        raise CelSyntaxError("has() needs a member")
    operand, field = _compile(select.operand), select.field

    def program(env: Env) -> bool:
        value = operand(env)
        value = value.value if isinstance(value, Optional) else value
        if not isinstance(value, dict):
            raise CelError(f"no such key: {field}")
        return field in value

    return program


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
    "has": _has,
    **dict.fromkeys(OPERATORS, _binary),
}
