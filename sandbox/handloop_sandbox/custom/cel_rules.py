"""
Evaluates a schema's validation rules (x-kubernetes-validations) on an object.

Follows: apiextensions pkg/apiserver/schema/cel/validation.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from handloop_sandbox.cel.rule import compile_rule, names_in
from handloop_sandbox.cel.tokens import CelSyntaxError
from handloop_sandbox.cel.values import NONE, CelError, Optional, bound, readable
from handloop_sandbox.custom.correlation import ABSENT, elements, identity, is_unchanged, member
from handloop_sandbox.kinds import structure
from handloop_sandbox.wire.causes import shown
from handloop_sandbox.wire.resource import Schema
from handloop_sandbox.wire.status import Cause

RULES: Final = "x-kubernetes-validations"
_NO_OVERLOAD: Final = "no such overload"
_NO_SIGNATURE: Final = (
    "call arguments did not match a supported operator, function or macro signature for rule"
)


class _Place(NamedTuple):
    """
    A value in an object, its old value, and its path.

    If the place has no old value, `above` is the nearest enclosing place that has one.
    """

    schema: Schema
    value: Any
    old: Any
    path: str
    above: _Place | None = None

    @property
    def is_unchanged(self) -> bool:
        """Whether the value equals its old value. If there is no old value, compare `above` instead."""
        place = self if self.old is not ABSENT else self.above
        return place is not None and is_unchanged(place.schema, place.value, place.old)

    def below(self, schema: Schema, value: Any, old: Any, path: str) -> _Place:
        """Return the place of a value that is contained in this one."""
        return _Place(schema, value, old, path, self if self.old is not ABSENT else self.above)


class Verdict(NamedTuple):
    """The errors from validation rules. Errors about unchanged values are only warnings."""

    causes: list[Cause]
    warnings: list[Cause]


Judge = Callable[[Schema, Mapping[str, Any]], str]
"""(schema, rule) -> what is wrong with the rule itself, or "" if it is valid."""


def check(schema: Schema, value: Any, old: Any, path: str = "", judge: Judge | None = None) -> Verdict:
    """
    Evaluate a schema's rules on a value, which is new if old is None.

    Args: judge validates each rule before the rule is evaluated, and no error is a mere warning; None if the
    rules have been validated.
    """
    before = ABSENT if old is None else old
    verdict = Verdict([], [])
    for place in _places(_Place(schema, value, before, path)):
        for rule, cause in _causes(place, judge):
            is_kept = judge is None and place.is_unchanged and "oldSelf" not in names_in(rule["rule"])
            (verdict.warnings if is_kept else verdict.causes).append(cause)
    return verdict


def _places(place: _Place) -> Iterator[_Place]:
    """Yield a place and all places below it."""
    yield place
    if isinstance(place.value, dict):
        for name, entry in place.value.items():
            schema = structure.property_of(place.schema, name)
            if schema:
                where = structure.member_path(place.schema, place.path, name)
                yield from _places(place.below(schema, entry, member(place.old, name), where))
    elif isinstance(place.value, list):
        yield from _elements(place)


def _elements(place: _Place) -> Iterator[_Place]:
    items = structure.items_of(place.schema)
    if items is None:
        return
    before, keys = elements(place.schema, place.old), structure.map_keys(place.schema)
    for index, entry in enumerate(place.value):
        old = before.get(identity(entry, keys), ABSENT)
        yield from _places(place.below(items, entry, old, f"{place.path}[{index}]"))


def _causes(place: _Place, judge: Judge | None) -> Iterator[tuple[Mapping[str, Any], Cause]]:
    """Yield each violated rule with its error. Rules are not evaluated on null."""
    if place.value is None:
        return
    for rule in place.schema.get(RULES) or ():
        wrong = judge(place.schema, rule) if judge is not None else ""
        cause = _unusable(place, wrong) if wrong else _cause(place, rule)
        if cause is not None:
            yield rule, cause


def _unusable(place: _Place, wrong: str) -> Cause:
    kind = place.schema.get("type", "")
    message = f'Invalid value: "{kind}": rule compile error: {wrong}'
    return Cause("FieldValueInvalid", message, place.path)


def _cause(place: _Place, rule: Mapping[str, Any]) -> Cause | None:
    text = rule["rule"]
    try:
        program = compile_rule(text)
        transition = "oldSelf" in names_in(text)
        optional = bool(rule.get("optionalOldSelf"))
        if transition and place.old is ABSENT and not optional:
            return None
        env = _environment(place, optional=optional)
        if program(env) is True:
            return None
    except CelError as error:
        kind = structure.TYPE_NAMES.get(type(place.value), "null")
        if str(error).startswith(_NO_OVERLOAD):
            told = f"'{error}': {_NO_SIGNATURE}: {rule.get('message') or text}"
        else:
            told = f"{error} evaluating rule: {_message(rule, {})}"
        message = f'Invalid value: "{kind}": {told}'
        return Cause("FieldValueInvalid", message, place.path)
    return _failed(place, rule, env)


def _environment(place: _Place, *, optional: bool) -> dict[str, Any]:
    env = {"self": readable(bound(place.schema, place.value))}
    old = None if place.old is ABSENT else readable(bound(place.schema, place.old))
    if optional:
        env["oldSelf"] = NONE if place.old is ABSENT else Optional(present=True, value=old)
    elif place.old is not ABSENT:
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
