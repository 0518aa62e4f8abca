"""
Random types that the CRD generator takes, each with JSON values near its bounds.

The same seed makes the same types and values.
"""

from __future__ import annotations

import enum
import random
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from handloop.apis.json_value import JSON
from handloop.apis.meta import APIStruct, FrozenMap, MapOf, ObjectMeta, decode_hook
from handloop.apis.schema_annotations import MAP_ATOMIC, NO_FORMAT, SERVER_DEFAULT

JUNK: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, 1, -1, 1.0, 1.5, 2**31, 2**63 - 1, -(2**63), 1e17, 1e300),
    *("", "a", "1", "é\n", [], [None], ["a"], {}, {"a": None}, {"a": 1}),
)
_DEPTH: Final = 2
_WHOLE: Final = (-(2**63), -(2**53) - 1, -(2**31), -5, -1, 0, 1, 3, 2**31 - 1, 2**31, 2**53, 2**63 - 1)
_FLOATS: Final = (-1e300, -2.5, -1.0, 0.0, 0.5, 1.0, 2.5, 1e16, 1e300)
_PATTERNS: Final = (r"^[a-z]*\Z", "a", r"(?a)^\w+\Z", r"^.\Z", r"^(a|é)?\n*\Z", "[^a]")
_TEXTS: Final = ("", "a", "b", "ab", "abc", "abcd", "A", "_", "é", "éé", "\u0663", "😀", "a\n", "\n")


class Colour(enum.StrEnum):
    """Texts."""

    RED = "red"
    NONE = ""


class Level(enum.IntEnum):
    """Numbers."""

    LOW = -1
    HIGH = 2**31


class Plain(enum.Enum):
    """Texts that are no str."""

    ONE = "1"
    TRUE = "true"


_CHOICES: Final[Mapping[Any, tuple[Any, ...]]] = {
    Literal["a", "b"]: ("a", "b", "A"),
    Literal[1, 2]: (1, 2, 3, 1.0, "1", 2.5),
    Literal[True]: (True, False, 1, "true"),
    Colour: ("red", "", "RED"),
    Level: (-1, 2**31, 0, -1.0),
    Plain: ("1", "true", True, 1),
}


class Sample(NamedTuple):
    """A type, a value that fits it, and values that may or may not; and whether a schema can allow null."""

    annotation: Any
    good: Any
    near: tuple[Any, ...]
    nullable: bool = True


def samples(seed: int, count: int) -> list[Sample]:
    """So many types; each of the leaves is among them when there are enough."""
    chance = random.Random(seed)
    return [_sample(chance, 0, _MAKERS[number % len(_MAKERS)]) for number in range(count)]


def _sample(chance: random.Random, depth: int, make: Callable[..., Sample] | None = None) -> Sample:
    if make is None:
        make = chance.choice(_MAKERS if depth < _DEPTH else _LEAVES)
    return make(chance, depth)


def _bounds(chance: random.Random, pool: tuple[Any, ...]) -> tuple[dict[str, Any], list[Any]]:
    """Constraints of a number, and the bounds themselves."""
    low, high = sorted(chance.sample(pool, 2))
    given = {}
    if chance.random() < 0.7:
        given[chance.choice(["ge", "gt"])] = low
    if chance.random() < 0.7:
        given[chance.choice(["le", "lt"])] = high
    return given, [low, high]


def _integer(chance: random.Random, _depth: int) -> Sample:
    given, bounds = _bounds(chance, _WHOLE)
    if chance.random() < 0.3:
        given["multiple_of"] = chance.choice([2, 5])
    near = {each + step for each in bounds for step in (-1, 0, 1, 5)} | {0, 10, 7}
    kept = tuple(sorted(each for each in near if -(2**63) <= each < 2**63))
    annotation = Annotated[int, Meta(**given)] if given else int
    if chance.random() < 0.3:
        annotation = Annotated[annotation, NO_FORMAT]
    return _fitting(annotation, (*kept, *map(float, kept)))


def _float(chance: random.Random, _depth: int) -> Sample:
    given, bounds = _bounds(chance, _FLOATS)
    near = {each + step for each in bounds for step in (-1, -0.5, 0, 0.5, 1)}
    whole = tuple(int(each) for each in sorted(near) if abs(each) < 2**63)
    return _fitting(Annotated[float, Meta(**given)] if given else float, (*sorted(near), *whole))


def _text(chance: random.Random, _depth: int) -> Sample:
    given: dict[str, Any] = {}
    if chance.random() < 0.5:
        given["min_length"] = chance.choice([0, 1, 2])
    if chance.random() < 0.5:
        given["max_length"] = chance.choice([2, 3])
    if chance.random() < 0.5:
        given["pattern"] = chance.choice(_PATTERNS)
    return _fitting(Annotated[str, Meta(**given)] if given else str, _TEXTS)


def _either(chance: random.Random, _depth: int) -> Sample:
    """A number or a text, with bounds that a schema can express without a rule."""
    number, text = _integer(chance, 0), _text(chance, 0)
    bounds = Annotated[int, Meta(ge=chance.choice([-1, 0]), lt=chance.choice([2, 2**31]))]
    annotation = (bounds if chance.random() < 0.5 else int) | text.annotation
    return _fitting(annotation, (-2, *number.near, *text.near))


def _choice(chance: random.Random, _depth: int) -> Sample:
    annotation = chance.choice(list(_CHOICES))
    return _fitting(annotation, _CHOICES[annotation])._replace(nullable=False)


def _boolean(_chance: random.Random, _depth: int) -> Sample:
    return Sample(bool, True, (False, "true", 1))


def _free(_chance: random.Random, _depth: int) -> Sample:
    return Sample(JSON, {"a": [1, None, {"b": 1.5}]}, ())


def _words(_chance: random.Random, _depth: int) -> Sample:
    return Sample(FrozenMap, {"a": "b"}, ({"a": "b", "c": 1}, {"a": ""}))


def _metadata(_chance: random.Random, _depth: int) -> Sample:
    near = ({"labels": {"a": 1}}, {"labels": None}, {"generation": 1}, {"name": 1})
    return Sample(ObjectMeta, {"labels": {"a": "b"}}, near)


def _list(chance: random.Random, depth: int) -> Sample:
    item = _optional(chance, _sample(chance, depth + 1))
    least, most = sorted((chance.choice([0, 1]), chance.choice([1, 2])))
    good = [item.good] * most
    near = ([], [item.good], [item.good] * 2, [item.good] * 3, *([each] for each in (*item.near, *JUNK)))
    annotation = _subscripted(tuple, (item.annotation, ...))
    if chance.random() < 0.5:
        return Sample(annotation, good, near)
    return Sample(Annotated[annotation, Meta(min_length=least, max_length=most)], good, near)


def _map(chance: random.Random, depth: int) -> Sample:
    value = _optional(chance, _sample(chance, depth + 1))
    annotation = _subscripted(MapOf, value.annotation)
    if chance.random() < 0.5:
        annotation = types.new_class("Bounded", (annotation,), {"min_length": 1, "max_length": 2})
    if chance.random() < 0.3:
        annotation = Annotated[annotation, MAP_ATOMIC]
    good = {"a": value.good}
    near: tuple[Any, ...] = ({}, {**good, "b": value.good}, {**good, "b": value.good, "": value.good})
    return Sample(annotation, good, (*near, *({"a": each} for each in (*value.near, *JUNK))))


def _subscripted(generic: Any, argument: Any) -> Any:
    return generic[argument]


def _optional(chance: random.Random, sample: Sample) -> Sample:
    """A quarter of the items and values may be null."""
    if chance.random() > 0.25 or sample.annotation is JSON or not sample.nullable:
        return sample
    return sample._replace(annotation=sample.annotation | None, near=(None, *sample.near))


def _struct(chance: random.Random, depth: int) -> Sample:
    """Fields of every way to be left out."""
    parts = {f"f{number}": _sample(chance, depth + 1) for number in range(chance.randint(1, 3))}
    fields: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for name, part in parts.items():
        ways = ["required", "default", "none", "unset", *(["null", "null or unset"] if part.nullable else [])]
        way = chance.choice(ways)
        has_null = way in ("none", "null", "null or unset") and part.annotation is not JSON
        kind = part.annotation | None if has_null else part.annotation
        if way == "default" and chance.random() < 0.5:
            kind = Annotated[kind, SERVER_DEFAULT]
        fields[name] = kind | UnsetType if "unset" in way else kind
        if way == "default":
            defaults[name] = msgspec.json.decode(
                msgspec.json.encode(part.good), type=part.annotation, dec_hook=decode_hook
            )
        elif "unset" in way:
            defaults[name] = UNSET
        elif way == "none":
            defaults[name] = None if has_null else JSON()
    good = {name: part.good for name, part in parts.items()}
    near: list[Any] = [good | {"unknown": 1}]
    for name, part in parts.items():
        near.append({other: value for other, value in good.items() if other != name})
        near += [good | {name: each} for each in (None, *part.near)]
    return Sample(struct_of(fields, defaults), good, tuple(near))


def struct_of(fields: Mapping[str, Any], defaults: Mapping[str, Any]) -> type[APIStruct]:
    """A struct with these types and defaults."""
    body = {"__annotations__": dict(fields), **defaults}
    return types.new_class("Part", (APIStruct,), {}, lambda namespace: namespace.update(body))


def _fitting(annotation: Any, values: tuple[Any, ...]) -> Sample:
    """The first of the values that the decoder takes is the good one; without any, the type is text."""
    for value in values:
        try:
            msgspec.json.decode(msgspec.json.encode(value), type=annotation)
        except msgspec.ValidationError:
            continue
        return Sample(annotation, value, values)
    return Sample(str, "a", _TEXTS)


_LEAVES: Final = (_integer, _float, _text, _either, _choice, _boolean, _free, _words, _metadata)
_NESTS: Final = (_list, _map, _struct)
_MAKERS: Final = (*_LEAVES, *_NESTS, *_NESTS)
