"""
Checks the class attributes that a type adds to its definition.

An unknown name is refused. Otherwise it would have no effect, and the author would not notice.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, Final

import msgspec

if sys.version_info >= (3, 14):
    import annotationlib

OF_STRUCTS: Final = ("crd_rules", "crd_required")
OF_KINDS: Final = (
    *OF_STRUCTS,
    "printer_columns",
    "scale",
    "categories",
    "crd_annotations",
    "selectable_fields",
    "deprecation_warning",
    "status_subresource",
    "kept_fields",
)
_MADE: Final = ("resource", "partial", "previous", "api_version", "keeps_last_applied")
"""The attributes that class keywords create, or that a view may set."""
_NEAR: Final = 0.8
_OUR_OWN: Final = ("handloop.apis.", "handloop.kinds.", "msgspec")
"""The modules whose classes are not checked."""
_ONE_VERSION: Final = (
    "a class describes one version; name the previous one with previous=... in the class line"
)
_WHY: Final = dict.fromkeys(("versions", "conversion", "served", "storage"), _ONE_VERSION)
_OR_YOURS: Final = "write a constant of your own in capitals, or annotate it as a ClassVar"


def has_status_subresource(cls: type[msgspec.Struct]) -> bool:
    """Return True if a kind has a status field, and does not opt out of the status subresource."""
    return "status" in cls.__struct_fields__ and bool(getattr(cls, "status_subresource", True))


def check_attributes(cls: type[msgspec.Struct]) -> None:
    """
    Check the class attributes of a struct or a kind. Attributes inherited from handloop are not checked.

    Raises: TypeError for an attribute that has no effect.
    """
    known = OF_KINDS if hasattr(cls, "resource") else OF_STRUCTS
    for base in cls.__mro__:
        if issubclass(base, msgspec.Struct) and not base.__module__.startswith(_OUR_OWN):
            for name in _unused(base, known):
                raise TypeError(f"nothing uses {base.__name__}.{name}: {_hint(name, known)}")


def _unused(cls: type[msgspec.Struct], known: Sequence[str]) -> Iterator[str]:
    declared = _class_variables(cls)
    for name, value in vars(cls).items():
        if name.startswith("_") or name in known or name in _MADE or name in cls.__struct_fields__:
            continue
        is_meant = name in declared or name.isupper() or callable(value) or hasattr(value, "__get__")
        if not is_meant or get_close_matches(name, known, 1, _NEAR):
            yield name


def _class_variables(cls: type) -> set[str]:
    if sys.version_info >= (3, 14):
        found: dict[str, Any] = annotationlib.get_annotations(cls, format=annotationlib.Format.FORWARDREF)
    else:
        found = vars(cls).get("__annotations__", {})
    return {name for name, annotation in found.items() if "ClassVar" in str(annotation)}


def _hint(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, 1, _NEAR)
    return f"did you mean {near[0]}?" if near else _WHY.get(name, _OR_YOURS)
