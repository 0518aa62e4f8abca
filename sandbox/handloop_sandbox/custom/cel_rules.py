"""
x-kubernetes-validations: the verdict of the expressions in a schema on an object.

A rule that uses something cel.py does not know is not evaluated. A definition with such a rule is accepted
with a warning.
Follows: apiextensions pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from handloop_sandbox.custom.cel import compile_rule, names_in
from handloop_sandbox.custom.cel_syntax import CelSyntaxError
from handloop_sandbox.custom.cel_values import NONE, CelError, Optional, bound
from handloop_sandbox.kinds import structure
from handloop_sandbox.wire.causes import shown
from handloop_sandbox.wire.resource import Schema
from handloop_sandbox.wire.status import Cause

RULES: Final = "x-kubernetes-validations"
_ABSENT: Final[Any] = object()
_TYPE_NAMES: Final = {
    bool: "boolean",
    int: "integer",
    float: "number",
    str: "string",
    list: "array",
    dict: "object",
}


class _Place(NamedTuple):
    """A value in an object, its former value (_ABSENT = none that is comparable), and its path."""

    schema: Schema
    value: Any
    old: Any
    path: str


def check(schema: Schema, value: Any, old: Any, path: str = "") -> list[Cause]:
    """The complaints of the rules about a value; old None = it is new."""
    before = _ABSENT if old is None else old
    return [cause for place in _places(_Place(schema, value, before, path)) for cause in _causes(place)]


def unknown_rules(schema: Schema) -> list[str]:
    """The expressions that cannot be evaluated here."""
    found = [rule["rule"] for rule in schema.get(RULES) or () if not _is_known(rule["rule"])]
    inner = [*structure.properties(schema).values(), structure.items_of(schema), structure.value_of(schema)]
    return found + [rule for entry in inner if entry for rule in unknown_rules(entry)]


def _is_known(rule: str) -> bool:
    try:
        compile_rule(rule)
    except CelSyntaxError:
        return False
    return True


def _places(place: _Place) -> Iterator[_Place]:
    """The place itself and everything below it."""
    yield place
    if isinstance(place.value, dict):
        before = place.old if isinstance(place.old, dict) else {}
        for name, entry in place.value.items():
            member = structure.property_of(place.schema, name)
            if member:
                where = f"{place.path}.{name}" if place.path else name
                yield from _places(_Place(member, entry, before.get(name, _ABSENT), where))
    elif isinstance(place.value, list):
        yield from _elements(place)


def _elements(place: _Place) -> Iterator[_Place]:
    items = structure.items_of(place.schema)
    if items is None:
        return
    before = _by_key(place.schema, place.old)
    keys = structure.map_keys(place.schema)
    for index, entry in enumerate(place.value):
        old = before.get(_identity(entry, keys), _ABSENT) if isinstance(entry, dict) else _ABSENT
        yield from _places(_Place(items, entry, old, f"{place.path}[{index}]"))


def _by_key(schema: Schema, old: Any) -> Mapping[tuple[str, ...], Any]:
    """The elements of a list of type map by their keys; elements of other lists have none."""
    if structure.list_type(schema) != "map" or not isinstance(old, list):
        return {}
    keys = structure.map_keys(schema)
    return {_identity(entry, keys): entry for entry in old if isinstance(entry, dict)}


def _identity(entry: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(repr(entry.get(key)) for key in keys)


def _causes(place: _Place) -> Iterator[Cause]:
    """No rule is evaluated on null."""
    if place.value is None:
        return
    for rule in place.schema.get(RULES) or ():
        cause = _cause(place, rule)
        if cause is not None:
            yield cause


def _cause(place: _Place, rule: Mapping[str, Any]) -> Cause | None:
    text = rule["rule"]
    try:
        program = compile_rule(text)
        transition = "oldSelf" in names_in(text)
        optional = bool(rule.get("optionalOldSelf"))
        if transition and place.old is _ABSENT and not optional:
            return None
        env = _environment(place, optional=optional)
        if program(env) is True:
            return None
    except CelSyntaxError:
        return None
    except CelError as error:
        kind = _TYPE_NAMES.get(type(place.value), "null")
        message = f'Invalid value: "{kind}": {error} evaluating rule: {_message(rule, {})}'
        return Cause("FieldValueInvalid", message, place.path)
    return _failed(place, rule, env)


def _environment(place: _Place, *, optional: bool) -> dict[str, Any]:
    env = {"self": bound(place.schema, place.value)}
    old = None if place.old is _ABSENT else bound(place.schema, place.old)
    if optional:
        env["oldSelf"] = NONE if place.old is _ABSENT else Optional(present=True, value=old)
    elif place.old is not _ABSENT:
        env["oldSelf"] = old
    return env


def _failed(place: _Place, rule: Mapping[str, Any], env: Mapping[str, Any]) -> Cause:
    message = _message(rule, env)
    path = place.path + (rule.get("fieldPath") or "")
    value = "" if isinstance(place.value, (dict, list)) else f"{shown(place.value)}: "
    reason = rule.get("reason") or "FieldValueInvalid"
    texts = {
        "FieldValueRequired": f"Required value: {message}",
        "FieldValueForbidden": f"Forbidden: {message}",
        "FieldValueDuplicate": f"Duplicate value: {shown(place.value)}",
    }
    return Cause(reason, texts.get(reason, f"Invalid value: {value}{message}"), path)


def _message(rule: Mapping[str, Any], env: Mapping[str, Any]) -> str:
    expression = rule.get("messageExpression")
    if expression and env:
        try:
            message = compile_rule(expression)(env)
        except (CelError, CelSyntaxError):
            message = None
        if isinstance(message, str) and message.strip() and "\n" not in message:
            return message
    return str(rule.get("message") or f"failed rule: {rule['rule'].strip()}")
