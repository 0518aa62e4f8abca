"""
The types of CEL: how they are parsed, printed and assigned to each other.

Follows: cel-go 0.26.0 checker/types.go, checker/format.go.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_WORD: Final = re.compile(r"[\w.]+|[(),]")
_NULLABLE: Final = frozenset(("duration", "timestamp", "optional_type"))
_NEVER_NULL: Final = frozenset(
    ("bool", "bytes", "double", "dyn", "error", "int", "list", "map", "null", "string", "type", "uint")
)


class CelType(NamedTuple):
    """A type: its name, and the types of its elements. The name of a type variable starts with a %."""

    name: str
    params: tuple[CelType, ...] = ()

    def __str__(self) -> str:
        name = self.name.removeprefix("%")
        return f"{name}({', '.join(map(str, self.params))})" if self.params else name

    @property
    def is_variable(self) -> bool:
        """Whether this is a type variable."""
        return self.name.startswith("%")

    @property
    def is_open(self) -> bool:
        """Whether the type is unknown."""
        return self.name in ("dyn", "!error!")

    @property
    def is_nullable(self) -> bool:
        """Whether a value of this type can be null."""
        return self.name in _NULLABLE or self.name not in _NEVER_NULL


ERROR: Final = CelType("!error!")
DYN: Final = CelType("dyn")
BOOL: Final = CelType("bool")
BYTES: Final = CelType("bytes")
DOUBLE: Final = CelType("double")
DURATION: Final = CelType("duration")
INT: Final = CelType("int")
NULL: Final = CelType("null")
STRING: Final = CelType("string")
TIMESTAMP: Final = CelType("timestamp")
UINT: Final = CelType("uint")

Bindings = dict[CelType, CelType]
"""Maps type variables to the types that are bound to them."""


def list_of(element: CelType) -> CelType:
    """Return the type of a list with these elements."""
    return CelType("list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    """Return the type of a map with these keys and values."""
    return CelType("map", (key, value))


def optional_of(value: CelType) -> CelType:
    """Return the type of an optional value, which may be missing."""
    return CelType("optional_type", (value,))


def read_type(text: str) -> CelType:
    """Parse a type. A single capital letter is a type variable."""
    found, rest = _read(_WORD.findall(text))
    assert not rest, text
    return found


def _read(words: list[str]) -> tuple[CelType, list[str]]:
    name, *rest = words
    params: list[CelType] = []
    if rest[:1] == ["("]:
        while rest[0] != ")":
            param, rest = _read(rest[1:])
            params.append(param)
        rest = rest[1:]
    return CelType(f"%{name}" if len(name) == 1 and name.isupper() else name, tuple(params)), rest


def resolved(bindings: Bindings, found: CelType, *, open_ends: bool = False) -> CelType:
    """Return a type with its variables replaced. If open_ends is true, unbound variables become dyn."""
    while found.is_variable and found in bindings:
        found = bindings[found]
    if found.is_variable:
        return DYN if open_ends else found
    if not found.params:
        return found
    return found._replace(
        params=tuple(resolved(bindings, param, open_ends=open_ends) for param in found.params)
    )


def fits(bindings: Bindings, given: CelType, wanted: CelType) -> bool:
    """Return whether given is assignable to wanted. Type variables are added to bindings."""
    if wanted.is_variable:
        bound, was_bound = _binds(bindings, given, wanted)
        if bound or was_bound:
            return bound
    if given.is_variable:
        return _binds(bindings, wanted, given)[0]
    if given.is_open or wanted.is_open:
        return True
    if "null" in (given.name, wanted.name):
        return given.name == wanted.name or (wanted if given.name == "null" else given).is_nullable
    if given.name != wanted.name:
        return False
    return given.name == "type" or all_fit(bindings, given.params, wanted.params)


def all_fit(bindings: Bindings, given: tuple[CelType, ...], wanted: tuple[CelType, ...]) -> bool:
    """Return whether each given type is assignable to the wanted type at the same index."""
    return len(given) == len(wanted) and all(map(fits, [bindings] * len(given), given, wanted))


def _binds(bindings: Bindings, found: CelType, variable: CelType) -> tuple[bool, bool]:
    """Return whether a variable can be bound to a type, and whether it was already bound."""
    if found == variable:
        return True, True
    known = bindings.get(variable)
    if known is None:
        if not _is_within(bindings, variable, found):
            bindings[variable] = found
            return True, False
        return False, False
    if found == known:
        return True, True
    if not fits(bindings, found, known):
        return False, True
    wider = wider_of(found, known)
    if not _is_within(bindings, variable, wider):
        bindings[variable] = wider
    return True, True


def _is_within(bindings: Bindings, variable: CelType, found: CelType) -> bool:
    if found == variable:
        return True
    if found.is_variable:
        known = bindings.get(found)
        return known is not None and _is_within(bindings, variable, known)
    return any(_is_within(bindings, variable, param) for param in found.params)


def wider_of(one: CelType, other: CelType) -> CelType:
    """Return the less specific of two compatible types."""
    return one if _is_wider(one, other) else other


def _is_wider(one: CelType, other: CelType) -> bool:
    if one.name == "dyn" or one.is_variable:
        return True
    if other.name == "dyn" or other.is_variable or one.name != other.name:
        return False
    if one.name == "type":
        return True
    return len(one.params) == len(other.params) and all(map(_is_wider, one.params, other.params))
