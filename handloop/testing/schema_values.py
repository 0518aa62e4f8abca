"""Values that a CRD's OpenAPI schema allows, mostly values at its bounds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any, Final

from handloop.testing.pattern_words import pattern_words

Schema = Mapping[str, Any]

_WORDS: Final = (
    *("a", "b", "a-b", "A", "1", "", "10m", "1Gi", "0.5", "1h", "a.example.com", "https://a.example.com/b"),
    *("/a", "a@example.com", "nginx:1.27", "10.0.0.0/8", "10.0.0.1", "*/5 * * * *", "v1", "A_B"),
    *("2024-01-01T00:00:00Z", "00000000-0000-4000-8000-000000000000", "b" * 63),
)
_FEW: Final = 10
"""
How far numbers can exceed the smallest one. The limit is low, because some numbers make the cluster create
pods.
"""
_HALF: Final = 0.5


class NoValueError(Exception):
    """The schema allows no value that this module knows."""


def other_values(schema: Schema, present: Any, random: Random) -> list[Any]:
    """Return values other than the current one; [] if this module knows none."""
    try:
        return [value for value in values_of(schema, random) if value != present]
    except NoValueError:
        return []


def values_of(schema: Schema, random: Random) -> Sequence[Any]:
    """
    Return several values that a schema allows.

    Raises: NoValueError if this module knows none.
    """
    if "enum" in schema:
        return tuple(schema["enum"])
    if schema.get("x-kubernetes-int-or-string"):
        return (0, 1, "1", "50%")
    made: Sequence[Any]
    match schema.get("type"):
        case "boolean":
            made = (False, True)
        case "integer" | "number":
            made = _numbers(schema)
        case "string":
            made = _words(schema)
        case "array":
            made = _lists(schema, random)
        case _:
            made = [_fields(schema, random) for _ in range(2)]
    if not made:
        raise NoValueError(f"nothing is known that fits {dict(schema)}")
    return made


def _numbers(schema: Schema) -> list[int]:
    least = int(schema.get("minimum", 0)) + bool(schema.get("exclusiveMinimum"))
    most = int(schema.get("maximum", least + _FEW)) - bool(schema.get("exclusiveMaximum"))
    multiple = schema.get("multipleOf", 1)
    wanted = {least, least + 1, least + 2, min(most, least + _FEW)} | {-least, 0}
    return sorted(one for one in wanted if least <= one <= most and one % multiple == 0)


def _words(schema: Schema) -> Sequence[str]:
    return _fitting(schema.get("pattern", ""), schema.get("minLength", 0), schema.get("maxLength"))


@cache
def _fitting(pattern: str, least: int, most: int | None) -> Sequence[str]:
    fitting = [word for word in _WORDS if _fits(word, pattern, least, most)]
    return fitting or [word for word in pattern_words(pattern) if _fits(word, pattern, least, most)]


def _fits(word: str, pattern: str, least: int, most: int | None) -> bool:
    if len(word) < least or (most is not None and len(word) > most):
        return False
    try:
        return re.search(pattern.replace(r"\z", r"\Z"), word) is not None
    except re.error:  # Python cannot parse the pattern, so the server decides
        return True


def _lists(schema: Schema, random: Random) -> list[list[Any]]:
    """Return lists of zero, one and two items. The items of a map list or a set are different."""
    least, most = schema.get("minItems", 0), schema.get("maxItems", 2)
    keys = schema.get("x-kubernetes-list-map-keys", ())
    made: dict[str, Any] = {}
    for _ in range(_FEW):
        entry = some_value(schema["items"], random)
        made.setdefault(str([entry.get(key) for key in keys] if keys else entry), entry)
    entries = list(made.values())
    return [entries[:count] for count in range(least, max(least, min(most, 2)) + 1) if count <= len(entries)]


def _fields(schema: Schema, random: Random) -> dict[str, Any]:
    """Return an object with its required fields, and about half of the others. A map has 0 or 1 entries."""
    made, required = {}, schema.get("required", ())
    for name, inner in schema.get("properties", {}).items():
        if name in required:
            made[name] = some_value(inner, random)
        elif random.random() < _HALF:
            with suppress(NoValueError):
                made[name] = some_value(inner, random)
    inner = schema.get("additionalProperties")
    if isinstance(inner, Mapping) and random.random() < _HALF:
        made["a"] = some_value(inner, random)
    return made


def some_value(schema: Schema, random: Random) -> Any:
    """
    Return a random value, without first creating every value of a struct or a list.

    Raises: NoValueError if this module knows none.
    """
    if schema.get("type") == "array":
        return random.choice(_lists(schema, random))
    if "properties" in schema or isinstance(schema.get("additionalProperties"), Mapping):
        return _fields(schema, random)
    return random.choice(values_of(schema, random))
