"""
Objects that a schema allows: the smallest one, and others that differ from it in one place.

If a check fails for an object that differs in one place, the cause is that one field. Random objects have
many fields, and show how fields interact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from random import Random
from typing import Any, Final

from handloop.testing.schema_values import NoValueError, Schema, some_value, values_of

_INT32_MAX: Final = 2**31 - 1
_ENVELOPE: Final = ("apiVersion", "kind", "metadata")


def fields_schema(schema: Schema) -> Schema:
    """Return an object's schema without the fields that every kind has."""
    properties = {name: one for name, one in schema["properties"].items() if name not in _ENVELOPE}
    return {**schema, "properties": properties}


def objects_of(schema: Schema, random: Random, by_chance: int) -> Iterator[dict[str, Any]]:
    """
    Yield the smallest object, one object for each value of each field, and up to by_chance random objects.

    Raises: NoValueError if no known value fits a required field.
    """
    least = _least(schema, random)
    yield least
    yield from _others(schema, least, random)
    for _ in range(by_chance):
        with suppress(NoValueError):
            yield some_value(schema, random)


def unknown_fields(schema: Schema, random: Random, path: str = "") -> Iterator[str]:
    """Yield the fields for which no value is known."""
    for name, inner in (schema.get("properties") or {}).items():
        here = f"{path}.{name}" if path else name
        if inner.get("properties"):
            yield from unknown_fields(inner, random, here)
            continue
        try:
            values_of(inner, random)
        except NoValueError:
            yield here


def overlaid(below: Any, above: Any) -> Any:
    """Merge two values, and return the result. If both values set a field, the field of above is used."""
    if not (isinstance(below, Mapping) and isinstance(above, Mapping)):
        return above
    return {**below, **{name: overlaid(below.get(name), value) for name, value in above.items()}}


def _least(schema: Schema, random: Random) -> Any:
    if "properties" not in schema:
        values = values_of(schema, random)
        return min(values, key=lambda value: len(value) if isinstance(value, list | dict) else 0)
    required = schema.get("required", ())
    fields = schema["properties"].items()
    return {name: _least(inner, random) for name, inner in fields if name in required}


def _others(schema: Schema, least: Any, random: Random) -> Iterator[Any]:
    """Yield values that each differ from the smallest one in one place."""
    if "properties" in schema:
        for name, inner in schema["properties"].items():
            with suppress(NoValueError):
                base = least.get(name) if name in least else _least(inner, random)
                for value in (base, *_others(inner, base, random)):
                    yield {**least, name: value}
    elif schema.get("type") == "array" and "items" in schema:
        yield from _lists(schema, random)
    elif isinstance(inner := schema.get("additionalProperties"), Mapping):
        base = _least(inner, random)
        values = [base, *_others(inner, base, random)]
        yield from ({"b": value} for value in values)
        yield {"b": base, "a": values[-1]}
    else:
        yield from values_of(schema, random)
        yield from _extremes(schema)


def _lists(schema: Schema, random: Random) -> Iterator[list[Any]]:
    inner = schema["items"]
    base = _least(inner, random)
    entries = [base, *(other for other in _others(inner, base, random) if other != base)]
    yield from ([entry] for entry in entries)
    for other in entries[1:]:
        yield [other, base]
        yield [base, other]
    yield [entries[-1], base, *entries[1:2]]


def _extremes(schema: Schema) -> list[int]:
    """Return the largest and smallest integers. They do no harm, because the objects are never applied."""
    if schema.get("type") != "integer":
        return []
    least, most = schema.get("minimum", -_INT32_MAX - 1), schema.get("maximum", _INT32_MAX)
    step = schema.get("multipleOf", 1)
    return [int(most // step * step), int(-(-least // step) * step)]
