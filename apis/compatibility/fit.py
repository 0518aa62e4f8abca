"""
Finds where a server's definition does not fit a type: what it would drop, refuse or fill in differently.

The rules are those for a change from the type's definition to the served one, so `crd diff` and a program's
checks agree. A newer definition with more fields fits.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from handloop.apis.compatibility.finding import BREAKS, Finding
from handloop.apis.compatibility.property_rules import BOUNDS, Schema
from handloop.apis.compatibility.schema_changes import schema_changes

_OF_ANY: Final = ("field", "type")
_OF_WHAT_IS_SAID: Final = ("enum", "pattern", "multipleOf", *BOUNDS)
_LONGEST: Final = 80


def misfits(schema: Schema, served: Schema, absent: Iterable[str] = ()) -> list[Finding]:
    """
    Return the differences that make the server's definition unfit for one of our own kinds.

    Args: schema is from the program's definition, and served from the server's. absent names the subresources
    that only the program's definition has.
    """
    found = [
        Finding(f"no-{name}", BREAKS, name, {}, None, f"there is no subresource {name}") for name in absent
    ]
    changes = schema_changes(schema, served)
    return found + [each for each in changes if each.severity == BREAKS or each.rule == "default"]


def misfits_of_view(schema: Schema, served: Schema) -> list[Finding]:
    """
    Return the differences that make the server's definition unfit for a view of another program's kind.

    A view declares only some fields and few value rules. So there is no finding if only the server requires a
    field, or if a number's format differs (int32 or int64).
    """
    return [each for each in schema_changes(schema, served) if each.severity == BREAKS and _is_said(each)]


def _is_said(each: Finding) -> bool:
    return each.rule in _OF_ANY or (each.rule in _OF_WHAT_IS_SAID and each.old is not None)


def in_words(found: Sequence[Finding]) -> Iterator[str]:
    """Return a line for each finding. The first line lists all dropped fields."""
    if dropped := [each.path for each in found if each.rule == "field"]:
        yield f"the server drops {', '.join(dropped)}"
    yield from (_line(each) for each in found if each.rule != "field")


def _line(each: Finding) -> str:
    if each.rule.startswith("no-"):
        return each.message
    where = each.path or "the object"
    if each.rule == "required":
        names = [name for name in each.new if name not in each.old]
        return f"{where}: the server requires {', '.join(names)}, which the type may leave out"
    return f"{where}: {each.rule} is {_shown(each.old)} in the type, but {_shown(each.new)} on the server"


def _shown(value: Any) -> str:
    text = "none" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
