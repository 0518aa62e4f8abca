"""
The parameter `shardSelector`, which selects objects by a hash of their UID or namespace.

The parameter has an effect only if the feature gate ShardedListAndWatch is on. Otherwise even invalid values
are ignored.
Follows: apiserver 0.36.3 pkg/sharding/parser.go, apimachinery pkg/sharding/selector.go,
pkg/storage/selection_predicate.go (SetShardInfoOnList).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from handloop_sandbox.cel.nodes import (
    Call,
    Index,
    ListNode,
    Literal,
    MapNode,
    Name,
    Node,
    Select,
)
from handloop_sandbox.cel.syntax import parse
from handloop_sandbox.cel.tokens import CelSyntaxError
from handloop_sandbox.grammar.labels import SelectorError
from handloop_sandbox.grammar.shard_selector import HASHES, ShardField, ShardRange, fnv1a_64
from handloop_sandbox.requests.call import Call as RequestCall
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.wire.causes import quoted
from handloop_sandbox.wire.status import internal_error

_END: Final = f"0x{HASHES:x}"
_DIGITS: Final = 16
_ARGUMENTS: Final = 3
_ONLY: Final = "expected shardRange() call or || operator"
# cel-go's numbers for expression kinds, cel-go's operator names, and Go's type names
_KINDS: Final = {Call: 1, Index: 1, Name: 3, ListNode: 4, Literal: 5, MapNode: 6, Select: 7}
_OPERATORS: Final = {"!": "!_", "negate": "-_", "?:": "_?_:_", "in": "@in"}
_TYPES: Final = {bool: "bool", int: "int64", float: "float64", type(None): "structpb.NullValue"}


@dataclass(frozen=True, slots=True)
class ShardSelector:
    """The hash ranges that a request selects for one field. Ranges may overlap or occur more than once."""

    field: ShardField
    ranges: tuple[ShardRange, ...]

    def matches(self, obj: Object) -> bool:
        """Return whether an object is selected. The namespace of a cluster-scoped object is ""."""
        value = fnv1a_64(obj["metadata"].get(self.field.rpartition(".")[2], ""))
        return any(start <= value < end for start, end in self.ranges)

    def __str__(self) -> str:
        return " || ".join(f"shardRange({self.field}, '0x{a:016x}', '0x{b:016x}')" for a, b in self.ranges)


def shard_selector(call: RequestCall) -> ShardSelector | None:
    """
    Return the shardSelector of a request, or None if the parameter is missing or the feature gate is off.

    Raises: StatusError 500, with a real server's text, if the parameter is invalid. The code is not 400,
    because a real server does not classify this error.
    """
    text = call.request.query.get("shardSelector")
    if not text or not call.context.sharded_list_and_watch:
        return None
    try:
        return _parsed(text)
    except CelSyntaxError as error:
        raise internal_error(f"invalid shard selector: CEL parse error: {error}") from error
    except SelectorError as error:
        raise internal_error(f"invalid shard selector: {error}") from error


def shard_info(call: RequestCall) -> dict[str, Any]:
    """Return the shardInfo of a ListMeta. Only lists of complete objects of built-in kinds have it."""
    selector = None if call.resource.custom or call.form.shape else shard_selector(call)
    return {} if selector is None else {"shardInfo": {"selector": str(selector)}}


@lru_cache(maxsize=64)
def _parsed(text: str) -> ShardSelector:
    if not text.strip():
        raise SelectorError("empty shard selector is not allowed; omit the parameter for unfiltered lists")
    found = list(_ranges(parse(text)))
    first = found[0][0]
    for field, _ in found:
        if field != first:
            raise SelectorError(
                f"all shard ranges must use the same field, got {quoted(first)} and {quoted(field)}"
            )
    return ShardSelector(first, tuple(shard for _, shard in found))


def _ranges(node: Node) -> Iterator[tuple[ShardField, ShardRange]]:
    match node:
        case Call("||", (left, right)):
            yield from _ranges(left)
            yield from _ranges(right)
        case Call("shardRange", arguments):
            yield _range(arguments)
        case Call(function):
            named = function if function.isalpha() and function != "in" else f"_{function}_"
            name = _OPERATORS.get(function, named)
            raise SelectorError(f"unsupported function {quoted(name)}; only shardRange() and || are allowed")
        case _:
            raise SelectorError(f"unexpected expression kind {_KINDS[type(node)]}; {_ONLY}")


def _range(arguments: tuple[Node, ...]) -> tuple[ShardField, ShardRange]:
    if len(arguments) != _ARGUMENTS:
        raise SelectorError(f"shardRange() requires exactly 3 arguments, got {len(arguments)}")
    path = _path(arguments[0])
    if path not in list(ShardField):
        raise SelectorError(f"unsupported field path {quoted(path)}; supported: {', '.join(ShardField)}")
    start, end = _hash(arguments[1], "hexStart"), _hash(arguments[2], "hexEnd")
    shard = ShardRange(int(start, 16), int(end, 16))
    if shard.start >= shard.end:
        raise SelectorError(f"shard range start {start} must be less than end {end}")
    return ShardField(path), shard


def _path(node: Node) -> str:
    match node:
        case Name(name):
            return name
        case Select(operand, field):
            return f"{_path(operand)}.{field}"
    found = f"got expression kind {_KINDS[type(node)]}"
    raise SelectorError(
        f"shardRange() first argument: expected field path (e.g. object.metadata.uid), {found}"
    )


def _hash(node: Node, name: str) -> str:
    """
    Return the text of a hash.

    Raises: SelectorError if the text is neither 0x with 16 lower-case hex digits nor _END (2**64).
    """
    if not isinstance(node, Literal):
        kind = _KINDS[type(node)]
        raise SelectorError(f"{name} must be a string literal (e.g. '0xff'), got expression kind {kind}")
    text = node.value
    if not isinstance(text, str):
        raise SelectorError(f"{name} must be a string literal, got {_TYPES[type(text)]}")
    if not text.startswith("0x"):
        raise SelectorError(f"{name} must have '0x' prefix, got {quoted(text)}")
    if problem := _digit_problem(text, text.removeprefix("0x")):
        raise SelectorError(f"{name}{problem}")
    return text


def _digit_problem(text: str, digits: str) -> str:
    if not digits:
        return ": hex value is required after '0x'"
    if len(digits.encode()) > len(_END) - 2:
        return f": hex value too long ({len(digits.encode())} chars, max 17): {quoted(digits)}"
    for char in digits:
        if char not in "0123456789abcdef":
            return f": invalid hex character {quoted(char)} in {quoted(text)}"
    if len(digits) > _DIGITS and text != _END:
        return f": 17-digit hex value must be '{_END}' (2^64), got {quoted(text)}"
    if len(digits) < _DIGITS:
        padded = quoted(f"0x{digits.zfill(_DIGITS)}")
        return f" must be a 0x-prefixed 16-digit hex value, got {quoted(text)} (did you mean {padded}?)"
    return ""
