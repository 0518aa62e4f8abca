"""
Checks whether objects of a type are immutable. They must be, because all readers of a cache share them.

The check reads the annotations of each type once. A part counts as mutable unless it is known to be
immutable. `msgspec.Raw` also counts as mutable, because it keeps the whole response in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import msgspec
from msgspec import inspect

from handloop.apis.json_value import JSON
from handloop.apis.meta import MapOf

_PLAIN: Final = (
    inspect.NoneType,
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
    inspect.StrType,
    inspect.BytesType,
    inspect.LiteralType,
    inspect.EnumType,
    inspect.DateTimeType,
    inspect.DateType,
    inspect.TimeType,
    inspect.TimeDeltaType,
    inspect.UUIDType,
    inspect.DecimalType,
)


@cache  # every informer calls this function, and a Pod has many parts
def mutable_parts(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """
    Return the paths of a struct type's mutable parts, such as `spec.tags` for a list.

    Returns: () if everything is immutable: all structs are frozen, lists are tuples, maps are `FrozenMap` or
    `MapOf`, and parts without a declared shape are `JSON`.
    """
    # Inspect the whole tree in one call, because a call per struct would inspect nested structs again.
    return tuple(_parts(inspect.type_info(kind), "", frozenset()))


def _struct_parts(info: inspect.StructType, path: str, outer: frozenset[type[Any]]) -> Iterator[str]:
    """Yield the mutable parts of a struct. outer holds the enclosing structs, which are not visited again."""
    kind = info.cls
    if not kind.__struct_config__.frozen:
        yield path or kind.__name__
    for field in info.fields:
        yield from _parts(field.type, f"{path}.{field.name}".lstrip("."), outer | {kind})


def _parts(info: inspect.Type, path: str, outer: frozenset[type[Any]]) -> Iterator[str]:
    match info:
        case inspect.Metadata():
            yield from _parts(info.type, path, outer)
        case inspect.UnionType(types=types) | inspect.TupleType(item_types=types):
            for part in types:
                yield from _parts(part, path, outer)
        case inspect.VarTupleType(item_type=item) | inspect.FrozenSetType(item_type=item):
            yield from _parts(item, path, outer)
        case inspect.StructType(cls=cls):
            if cls not in outer:
                yield from _struct_parts(info, path, outer)
        case inspect.CustomType(cls=cls) if issubclass(cls, MapOf):
            yield from _parts(inspect.type_info(cls.values_type), path, outer)
        case inspect.CustomType(cls=cls) if cls is JSON:
            pass
        case _ if not isinstance(info, _PLAIN):
            yield path
