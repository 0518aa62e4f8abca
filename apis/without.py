"""Creates types that omit some of a kind's fields, for programs that cache thousands of its objects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from handloop.apis.declaration import fields_of, no_field
from handloop.apis.meta import Kind

S = TypeVar("S", bound=msgspec.Struct)
K = TypeVar("K", bound=Kind)


class Abridged(NamedTuple, Generic[K]):
    """
    Two types for a kind's objects: the kind itself, and brief, a subtype such as `without` returns.

    Each object is decoded as brief first. If needs_whole returns true for the result, the whole object is
    decoded as well. needs_whole must be a pure function.
    """

    kind: type[K]
    brief: type[K]
    needs_whole: Callable[[K], bool]


def without(kind: type[S], *paths: str) -> type[S]:
    """
    Return a subtype of the same name that does not decode the fields at some paths, such as "spec.template".

    In objects of the subtype, these fields have their default values. Like any partial view, such an object
    cannot be used for an update.
    Raises: TypeError for a path that does not exist, and for a field without a default.
    """
    known, left_out = fields_of(kind), dict[str, list[str]]()
    for path in paths:
        name, _, rest = path.partition(".")
        if name not in known or known[name].required:
            raise TypeError(
                f"only a field with a default can be left out: {kind.__name__} {no_field(known, name)}"
            )
        left_out.setdefault(name, []).append(rest)
    body: dict[str, Any] = {"__doc__": kind.__doc__, "__module__": kind.__module__, "__annotations__": {}}
    if hasattr(kind, "partial"):
        body["partial"] = True
    for name, rests in left_out.items():
        field: Any = known[name]
        whole = "" in rests
        body["__annotations__"][name] = field.type if whole else without(field.type, *rests)
        # No server sends a field with this name, so the decoder skips the real one.
        wire = f"-{name}" if whole else field.encode_name
        body[name] = msgspec.field(default=field.default, default_factory=field.default_factory, name=wire)  # type: ignore[call-overload] # one of them is not set
    made: Any = type(kind)
    subtype: type[S] = made(kind.__name__, (kind,), body)
    return subtype
