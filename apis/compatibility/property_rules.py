"""
The rules for a single field. Each compares the field's old and new schemas and ignores nested fields.

A new schema applies to a stored object at its next write. Since Kubernetes 1.33, the server tolerates an
existing invalid value that a write does not change, but it still refuses a new one.
Follows: the rules of crdify, and the API conventions (changing the API).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from handloop.apis.compatibility.finding import BREAKS, WARNS, Finding, Severity

Schema = Mapping[str, Any]

INT_OR_STRING: Final = "x-kubernetes-int-or-string"
PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_VALIDATIONS: Final = "x-kubernetes-validations"
_MAP_KEYS: Final = "x-kubernetes-list-map-keys"
_BRANCHES: Final = ("allOf", "anyOf", "oneOf", "not")
_WORDS: Final = ("description", "title", "example", "externalDocs")
_HANDLED_BELOW: Final = ("properties", "items", "additionalProperties", "$schema", "id")
_ABSENT: Final = object()
_READ: Final = re.compile(r"\bself\.(\w+)")
"""Matches the names of the fields that a CEL rule reads."""
_CHECKED_FORMATS: Final = {"int32": ("int64",), "float": ("double",), "": ("int64", "double")}
"""The formats that each format can become without making a value invalid. "" allows any 64-bit number."""


def changes(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    """
    Return the differences in one field's schema.

    Args: path leads to the field, and is "" for the object itself.
    """
    seen = {*_HANDLED_BELOW}
    for keys, rule in _RULES:
        seen.update(keys)
        if any(old.get(key, _ABSENT) != new.get(key, _ABSENT) for key in keys):
            yield from rule(path, old, new)
    for key in sorted({*old, *new} - seen):
        if old.get(key) != new.get(key):
            text = f"{key} changed, with an unknown effect"
            yield Finding("unhandled", WARNS, path, old.get(key), new.get(key), text)


def kind_of(schema: Schema) -> str:
    """Return the type of a schema in one word."""
    if schema.get(INT_OR_STRING):
        return "int-or-string"
    kind: str = schema.get("type") or "anything"
    is_map = kind == "object" and isinstance(schema.get("additionalProperties"), Mapping)
    return "map" if is_map and not schema.get("properties") else kind


def _type(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = kind_of(old), kind_of(new)
    if before == after or ("map" in (before, after) and "object" in (before, after)):
        return
    is_wider = after == "anything" or (after == "int-or-string" and before in ("integer", "string"))
    severity: Severity = WARNS if is_wider else BREAKS
    yield Finding("type", severity, path, before, after, f"the type changed from {before} to {after}")


def _enum(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = old.get("enum"), new.get("enum")
    if before is None:
        yield Finding("enum", BREAKS, path, None, after, "only some values are accepted now")
        return
    if gone := [value for value in before if value not in (after or before)]:
        text = f"no longer accepted: {_listed(gone)}"
        yield Finding("enum", BREAKS, path, before, after, text)
    elif after is None:
        yield Finding("enum", WARNS, path, before, None, "a client may receive values that it does not know")
    elif came := [value for value in after if value not in before]:
        text = f"a client may receive values that it does not know: {_listed(came)}"
        yield Finding("enum", WARNS, path, before, after, text)


def _listed(values: list[Any]) -> str:
    return ", ".join(repr(value) if isinstance(value, str) else str(value) for value in values)


def _bound(name: str, *, is_least: bool) -> Callable[[str, Schema, Schema], Iterator[Finding]]:
    exclusive = f"exclusive{name[:1].upper()}{name[1:]}"

    def rule(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
        before, after = old.get(name), new.get(name)
        was_open, is_open = bool(old.get(exclusive)), bool(new.get(exclusive))
        if after is None:
            return
        is_tighter = before is None or (after > before if is_least else after < before)
        if is_tighter or (after == before and is_open and not was_open):
            sign = (
                "above"
                if is_open and is_least
                else "below"
                if is_open
                else "at least"
                if is_least
                else "at most"
            )
            yield Finding(name, BREAKS, path, before, after, f"only {sign} {after} is accepted now")

    return rule


def _pattern(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = old.get("pattern"), new.get("pattern")
    severity: Severity = BREAKS if after is not None else WARNS
    text = "only another pattern is accepted now" if after else "any string is accepted now"
    yield Finding("pattern", severity, path, before, after, text)


def _format(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = old.get("format"), new.get("format")
    if after in _CHECKED_FORMATS.get(before or "", ()):
        return
    severity: Severity = BREAKS if after is not None else WARNS
    yield Finding("format", severity, path, before, after, f"the format changed from {before} to {after}")


def _multiple(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = old.get("multipleOf"), new.get("multipleOf")
    if after is not None and not (before is not None and before % after == 0):
        yield Finding("multipleOf", BREAKS, path, before, after, f"only multiples of {after} are valid now")


def _nullable(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    if old.get("nullable", False) == new.get("nullable", False):
        return
    if new.get("nullable"):
        yield Finding("nullable", WARNS, path, False, True, "a client may receive null now")
    else:
        yield Finding("nullable", BREAKS, path, True, False, "null is dropped or refused now")


def _default(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = old.get("default"), new.get("default")
    if "default" not in old:
        text = "is filled in now, including in stored objects when they are read"
        yield Finding("default", WARNS, path, None, after, f"{_listed([after])} {text}")
    elif "default" not in new:
        yield Finding("default", WARNS, path, before, None, f"{_listed([before])} is no longer filled in")
    else:
        text = f"{_listed([after])} is filled in instead of {_listed([before])}"
        yield Finding("default", WARNS, path, before, after, text)


def _required(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    before, after = old.get("required") or [], new.get("required") or []
    fields = new.get("properties") or {}
    came = [name for name in after if name not in before and "default" not in fields.get(name, {})]
    if came:
        text = f"is required now: {', '.join(came)}"
        yield Finding("required", BREAKS, path, [*before], [*after], text)
    elif filled := [name for name in after if name not in before]:
        text = f"is required now, and is filled in by a default: {', '.join(filled)}"
        yield Finding("required", WARNS, path, [*before], [*after], text)


def _preserved(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    """Return the finding about preserving unknown fields. There is none for scalars, which have no fields."""
    if kind_of(new) not in ("object", "map", "array", "anything"):
        return
    if old.get(PRESERVE) and not new.get(PRESERVE):
        text = "fields that the schema does not name are erased now"
        if kind_of(new) == "map":
            text = "entries of any other shape are refused or erased now"
        yield Finding("preserve-unknown-fields", BREAKS, path, True, None, text)
    elif new.get(PRESERVE) and not old.get(PRESERVE):
        text = "fields that the schema does not name are kept now"
        yield Finding("preserve-unknown-fields", WARNS, path, None, True, text)


def _list_type(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    key = "x-kubernetes-list-type"
    before = (old.get(key) or "atomic", old.get(_MAP_KEYS))
    after = (new.get(key) or "atomic", new.get(_MAP_KEYS))
    if before == after:
        return
    text = f"the list changed from {_shown(before)} to {_shown(after)}"
    if after[0] != "atomic":
        yield Finding("list-type", BREAKS, path, before[0], after[0], f"{text}: duplicates are refused now")
    else:
        yield Finding(
            "list-type", WARNS, path, before[0], after[0], f"{text}: an apply replaces the whole list"
        )


def _shown(list_type: tuple[str, Any]) -> str:
    return f"a map by {', '.join(list_type[1] or ())}" if list_type[0] == "map" else list_type[0]


def _map_type(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    key = "x-kubernetes-map-type"
    before, after = old.get(key) or "granular", new.get(key) or "granular"
    if before != after:
        text = f"the map changed from {before} to {after}: an apply may conflict with other field owners"
        yield Finding("map-type", WARNS, path, before, after, text)


def _rules(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    known = {rule.get("rule") for rule in old.get(_VALIDATIONS) or ()}
    fields = old.get("properties") or {}
    for text in (rule.get("rule", "") for rule in new.get(_VALIDATIONS) or ()):
        if text not in known:
            read = _READ.findall(text)
            is_new = bool(read) and not any(name in fields for name in read)
            about = "about new fields alone" if is_new else "a new rule"
            yield Finding("rule", WARNS if is_new else BREAKS, path, None, text, f"{about}: {text}")


def _branches(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    for key in _BRANCHES:
        before, after = old.get(key), new.get(key)
        if before != after:
            severity: Severity = WARNS if after is None else BREAKS
            yield Finding(key, severity, path, before, after, f"{key} changed")


def _unique(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    key = "x-kubernetes-embedded-resource"
    if new.get(key) and not old.get(key):
        text = "must be a complete object now, with apiVersion, kind and metadata"
        yield Finding("embedded-resource", BREAKS, path, None, True, text)
    elif old.get(key) and not new.get(key):
        yield Finding("embedded-resource", WARNS, path, True, None, "no longer has to be a complete object")


def _text(path: str, old: Schema, new: Schema) -> Iterator[Finding]:
    for key in _WORDS:
        if old.get(key) != new.get(key):
            yield Finding("description", WARNS, path, old.get(key), new.get(key), f"another {key}")


_LEAST: Final = ("minimum", "minLength", "minItems", "minProperties")
_MOST: Final = ("maximum", "maxLength", "maxItems", "maxProperties")
BOUNDS: Final = (*_LEAST, *_MOST)
_RULES: Final[tuple[tuple[tuple[str, ...], Callable[[str, Schema, Schema], Iterator[Finding]]], ...]] = (
    (("type", INT_OR_STRING, "additionalProperties"), _type),
    (("enum",), _enum),
    *(((name, f"exclusive{name[:1].upper()}{name[1:]}"), _bound(name, is_least=True)) for name in _LEAST),
    *(((name, f"exclusive{name[:1].upper()}{name[1:]}"), _bound(name, is_least=False)) for name in _MOST),
    (("pattern",), _pattern),
    (("format",), _format),
    (("multipleOf",), _multiple),
    (("nullable",), _nullable),
    (("default",), _default),
    (("required",), _required),
    ((PRESERVE,), _preserved),
    (("x-kubernetes-list-type", _MAP_KEYS), _list_type),
    (("x-kubernetes-map-type",), _map_type),
    ((_VALIDATIONS,), _rules),
    (_BRANCHES, _branches),
    (("x-kubernetes-embedded-resource",), _unique),
    (_WORDS, _text),
)
