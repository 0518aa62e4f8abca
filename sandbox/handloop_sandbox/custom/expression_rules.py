"""
Checks the validation rules in a schema (x-kubernetes-validations).

The checks concern the rules' members, and the types and estimated costs of their expressions.

Follows: apiextensions pkg/apis/apiextensions/validation/validation.go and cel_validation.go,
pkg/apiserver/schema/cel/compilation.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from handloop_sandbox.cel.check import check
from handloop_sandbox.cel.cost import cost_of
from handloop_sandbox.cel.declared import REQUEST_BYTES, Declared, declared
from handloop_sandbox.cel.functions import FUNCTIONS
from handloop_sandbox.cel.literals import Checked
from handloop_sandbox.cel.nodes import Call, Literal, Name, walk
from handloop_sandbox.cel.tokens import CelSyntaxError, told
from handloop_sandbox.cel.types import BOOL, STRING, optional_of
from handloop_sandbox.cel.values import CelError
from handloop_sandbox.custom.structural_rules import children
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import Object, part
from handloop_sandbox.wire.status import Cause

_UNSEEN: Final = (
    "internal error: failed to construct type information for x-kubernetes-validations rules: unable to"
    " convert structural schema to CEL declarations"
)
_CONVERSIONS: Final = ("bool", "bytes", "double", "int", "string", "uint")
_ONE_RULE: Final = 10_000_000
_ALL_RULES: Final = 100_000_000
_NAMED: Final = 4
_EXACT: Final = 1.5
_COUNTED: Final = 100
_MOST: Final = 2**64 - 1
_ADVICE: Final = (
    "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and"
    " strings are declared)"
)
_RULES: Final = "x-kubernetes-validations"
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_LINES: Final = "must not contain line breaks"
_STEP: Final = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:[^'\\]|\\.)*)'\]")


class _Place(NamedTuple):
    """
    A schema, and its context in the whole schema.

    uncorrelatable is the path of the enclosing list whose elements cannot be matched with old values, or "".
    most is the maximum number of values that the schema can apply to; None means no limit.
    """

    path: str
    schema: Object
    uncorrelatable: str = ""
    most: int | None = 1
    is_root: bool = True

    def inner(self) -> Iterator[_Place]:
        """Yield the places directly below this one."""
        kind = self.schema.get("type")
        factor: int | None = 1
        if kind == "array":
            factor = self.schema.get("maxItems")
        elif kind == "object" and self.schema.get("additionalProperties") is not None:
            factor = self.schema.get("maxProperties")
        most = None if self.most is None or factor is None else min(self.most * max(factor, 0), _MOST)
        for below, child, level in children(self.path, self.schema):
            is_lost = level == "item" and self.schema.get("x-kubernetes-list-type") != "map"
            lost = self.uncorrelatable or (self.path if is_lost else "")
            is_root = bool(child.get("x-kubernetes-embedded-resource"))
            yield _Place(below, child, lost, most, is_root)


@dataclass(slots=True)
class _Budget:
    """The estimated cost of each expression in a schema, with the expression's path."""

    costs: list[tuple[int, str]] = field(default_factory=list)

    def spend(self, what: str, path: str, cost: int) -> list[Cause]:
        """Record an expression's cost. If this cost alone exceeds the limit, return an error."""
        self.costs.append((cost, path))
        return [forbidden_field(path, _too_much(what, cost, _ONE_RULE))] if cost > _ONE_RULE else []

    def causes(self, path: str) -> list[Cause]:
        """Return the errors if the sum of the costs exceeds the limit."""
        total = min(sum(cost for cost, _ in self.costs), _MOST)
        if total <= _ALL_RULES:
            return []
        highest = sorted(
            (entry for entry in self.costs if entry[0] >= _ALL_RULES // 100), reverse=True, key=_first
        )
        shared = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        return [
            *(forbidden_field(at, shared) for _, at in highest[:_NAMED]),
            forbidden_field(path, _too_much(what, total, _ALL_RULES)),
        ]


def _first(entry: tuple[int, str]) -> int:
    return entry[0]


def _too_much(what: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = f"{factor:f}x" if factor < _EXACT else f"{factor:.1f}x"
    times = "more than 100x" if factor > _COUNTED else shown
    return f"{what} exceeds budget by factor of {times} {_ADVICE}"


def expression_causes(
    path: str, schema: Object, wrong: Iterable[Cause] = (), *, is_compiled: bool = True
) -> list[Cause]:
    """
    Return the errors in a schema's rules.

    The rules at a place are compiled only if neither the place nor anything below it has an error.
    Args: wrong contains the errors of other checks. If is_compiled is false, no rules are compiled.
    """
    budget = _Budget()
    causes = _causes(_Place(path, schema), [cause.field for cause in wrong], budget if is_compiled else None)
    return causes + budget.causes(path)


def _causes(place: _Place, wrong: list[str], budget: _Budget | None) -> list[Cause]:
    causes = []
    for inner in place.inner():
        causes += _causes(inner, wrong, budget)
    rules = place.schema.get(_RULES) or ()
    members = []
    for index, rule in enumerate(rules):
        members += _members(f"{place.path}.{_RULES}[{index}]", rule, place.schema)
    wrong += [cause.field for cause in members]
    is_wrong = any(field.startswith(place.path) for field in wrong)
    if rules and budget is not None and not is_wrong:
        members += _compiled(place, rules, budget)
    return causes + members


def _members(path: str, rule: Object, schema: Object) -> list[Cause]:
    text, expression = rule.get("rule", ""), rule.get("messageExpression")
    causes = _message(path, rule) if text.strip() else [required(f"{path}.rule", "rule is not specified")]
    if expression and not expression.strip():
        told = "messageExpression must be non-empty if specified"
        causes.append(required(f"{path}.messageExpression", told))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        causes.append(not_supported(f"{path}.reason", reason, _REASONS))
    return causes + _field_path(f"{path}.fieldPath", rule.get("fieldPath", ""), schema)


def _message(path: str, rule: Object) -> list[Cause]:
    message = rule.get("message", "")
    if message and not message.strip():
        return [invalid_value(f"{path}.message", message, "must be non-empty if specified")]
    if "\n" in message.strip():
        return [invalid_value(f"{path}.message", message, _LINES)]
    if "\n" in rule["rule"].strip() and not message:
        told = "message must be specified if rule contains line breaks"
        return [required(f"{path}.message", told)]
    return []


def _field_path(path: str, text: str, schema: Object) -> list[Cause]:
    causes = []
    if text and not _is_field(text, schema):
        causes.append(invalid_value(path, text, "must be a valid path"))
    if "\n" in text:
        causes.append(invalid_value(path, text, _LINES))
    return causes


def _is_field(text: str, schema: Any) -> bool:
    """Return whether a path points to a field that an object's schema declares."""
    while text:
        step = _STEP.match(text)
        if step is None or not isinstance(schema, dict):
            return False
        schema = part(schema, "properties").get(step[1] or step[2]) or schema.get("additionalProperties")
        text = text[step.end() :]
    return isinstance(schema, dict)


def _compiled(place: _Place, rules: Iterable[Object], budget: _Budget) -> list[Cause]:
    root = declared(place.schema, is_root=place.is_root)
    if root is None:
        return [Cause("InternalError", f"Internal error: {_UNSEEN}", f"{place.path}.{_RULES}")]
    most = REQUEST_BYTES // (root.fewest_bytes + 1) if place.most is None else place.most
    causes = []
    for index, rule in enumerate(rules):
        causes += _compiled_rule(f"{place.path}.{_RULES}[{index}]", rule, _Scope(root, most, place), budget)
    return causes


class _Scope(NamedTuple):
    """The context of the rules at one place: its declarations, and the maximum number of values there."""

    root: Declared
    most: int
    place: _Place


def _compiled_rule(path: str, rule: Object, scope: _Scope, budget: _Budget) -> list[Cause]:
    at, expression = f"{path}.rule", rule.get("messageExpression")
    wrong, checked = _wrong(rule, scope.root)
    if checked is None:
        return [_invalid(at, rule, wrong), *_transition(path, rule, scope.place, uses_old=False)]
    uses_old = any(isinstance(node, Name) and node.name == "oldSelf" for node in walk(checked.root))
    cost = min(cost_of(checked, scope.root) * scope.most, _MOST)
    causes = budget.spend("estimated rule cost", at, cost)
    if expression:
        causes += _told(f"{path}.messageExpression", rule, scope.root, budget)
    return causes + _transition(path, rule, scope.place, uses_old=uses_old)


def what_is_wrong(schema: Object, rule: Object) -> str:
    """Return what is wrong with a rule's expression, or "" if it is valid."""
    root = declared(schema, is_root=bool(schema.get("x-kubernetes-embedded-resource")))
    return "" if root is None or not rule.get("rule", "").strip() else _wrong(rule, root)[0]


def _wrong(rule: Object, root: Declared) -> tuple[str, Checked | None]:
    """Return ("", the type-checked expression) if a rule is valid, or else (an error message, None)."""
    try:
        checked = _checked(rule["rule"], rule, root)
    except CelSyntaxError as error:
        return f"compilation failed: {told(rule['rule'], error.problems)}", None
    if checked.result != BOOL:
        return "cel expression must evaluate to a bool", None
    failure = _failed_conversion(checked)
    return (f"program instantiation failed: {failure}", None) if failure else ("", checked)


def _failed_conversion(checked: Checked) -> str:
    """Return the error if a constant cannot be converted, as in `int("x")`, or else ""."""
    for node in walk(checked.root):
        if isinstance(node, Call) and node.function in _CONVERSIONS and isinstance(node.args[0], Literal):
            try:
                FUNCTIONS[node.function](node.args[0].value)
            except CelError as error:
                return str(error)
    return ""


def _checked(text: str, rule: Object, root: Declared) -> Checked:
    old = optional_of(root.kind) if rule.get("optionalOldSelf") else root.kind
    return check(text, {"self": root.kind, "oldSelf": old}, root.all_fields())


def _told(path: str, rule: Object, root: Declared, budget: _Budget) -> list[Cause]:
    """Return the errors in a rule's messageExpression."""
    text = rule["messageExpression"]
    try:
        checked = _checked(text, rule, root)
    except CelSyntaxError as error:
        return [_invalid(path, rule, f"messageExpression compilation failed: {told(text, error.problems)}")]
    if checked.result != STRING:
        return [_invalid(path, rule, "messageExpression must evaluate to a string")]
    if failure := _failed_conversion(checked):
        return [_invalid(path, rule, f"messageExpression instantiation failed: {failure}")]
    return budget.spend("estimated messageExpression cost", path, cost_of(checked, root))


def _invalid(path: str, rule: Object, detail: str) -> Cause:
    """Return an error that shows the whole rule, in the form of Kubernetes' internal Go type."""
    shown = {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    text = json.dumps(shown, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return Cause("FieldValueInvalid", f"Invalid value: {text}: {detail}", path)


def _transition(path: str, rule: Object, place: _Place, *, uses_old: bool) -> list[Cause]:
    if not uses_old and rule.get("optionalOldSelf") is not None:
        detail = "may not be set if oldSelf is not used in rule"
        return [invalid_value(f"{path}.optionalOldSelf", rule["optionalOldSelf"], detail)]
    if uses_old and place.uncorrelatable:
        within = place.uncorrelatable
        detail = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {within}"
        return [invalid_value(f"{path}.rule", rule["rule"], detail)]
    return []
