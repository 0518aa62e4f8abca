"""
The versions of a kind.

Each version is a class that names the previous version's class. A pair of functions can convert between them.
"""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from handloop.apis.declaration import fields_of
from handloop.apis.decoders import converted
from handloop.apis.meta import Kind, decode_hook, encode_hook

S = TypeVar("S", bound=msgspec.Struct)


def versions_of(kind: type[Kind]) -> list[type[Kind]]:
    """Return the versions of a kind, newest first."""
    found: list[type[Kind]] = []
    version: type[Kind] | None = kind
    while version is not None:
        found.append(version)
        version = version.previous
    return found


def has_functions(kind: type[Kind]) -> bool:
    """Return whether a version has functions that convert between it and the previous version."""
    return "from_previous" in vars(kind)


def is_converted(kind: type[Kind]) -> bool:
    """Return whether a kind has conversion functions. A webhook must then convert its objects."""
    return any(has_functions(version) for version in versions_of(kind))


def same_fields(obj: msgspec.Struct, of: type[S], /, **changes: Any) -> S:
    """
    Return a struct of another type, with the values of the fields that both types have.

    Fields match if they have the same name in JSON.

    Args: changes has further values for the new struct, by field name.
    Raises: msgspec.ValidationError for a value that does not fit its field in the other type; TypeError if a
    required field is missing.
    """
    given = msgspec.json.decode(msgspec.json.encode(obj, enc_hook=encode_hook))
    same = {
        name: converted(given[field.encode_name], field.type, decode_hook)
        for name, field in fields_of(of).items()
        if name not in changes and field.encode_name in given
    }
    return of(**same, **changes)
