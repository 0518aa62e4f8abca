"""
The entries of x-kubernetes-validations: what they have to say beside the expressions.

Follows: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go; types and
costs of expressions are not looked at.
"""

from __future__ import annotations

import re
from typing import Any, Final

from handloop.sandbox.custom.cel import names_in
from handloop.sandbox.custom.cel_syntax import CelSyntaxError
from handloop.sandbox.custom.structural_rules import children
from handloop.sandbox.wire.causes import invalid_value, not_supported, required
from handloop.sandbox.wire.field_rules import Object, part
from handloop.sandbox.wire.status import Cause

_ABSENT: Final = ("cel", "math")
"""Libraries of CEL (cel.bind, math.greatest) that Kubernetes leaves out."""

_RULES: Final = "x-kubernetes-validations"
_REASONS: Final = (
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
)
_LINES: Final = "must not contain line breaks"
_STEP: Final = re.compile(r"\.([A-Za-z_][A-Za-z0-9_]*)|\['((?:[^'\\]|\\.)*)'\]")


def expression_causes(path: str, schema: Object, uncorrelatable: str = "") -> list[Cause]:
    """Everything wrong with the rules of a schema; uncorrelatable is the list that hides what was before."""
    causes: list[Cause] = []
    for index, rule in enumerate(schema.get(_RULES) or ()):
        causes += _rule(f"{path}.{_RULES}[{index}]", rule, schema, uncorrelatable)
    for below, child, level in children(path, schema):
        is_lost = level == "item" and schema.get("x-kubernetes-list-type") != "map"
        causes += expression_causes(below, child, uncorrelatable or (path if is_lost else ""))
    return causes


def _rule(path: str, rule: Object, schema: Object, uncorrelatable: str) -> list[Cause]:
    text, expression = rule.get("rule", ""), rule.get("messageExpression")
    if not text.strip():
        return [required(f"{path}.rule", "rule is not specified")]
    causes = _message(path, rule)
    if expression and not expression.strip():
        told = "messageExpression must be non-empty if specified"
        causes.append(required(f"{path}.messageExpression", told))
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        causes.append(not_supported(f"{path}.reason", reason, _REASONS))
    causes += _field_path(f"{path}.fieldPath", rule.get("fieldPath", ""), schema)
    return causes + _transition(path, rule, uncorrelatable)


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
    """Whether a path leads from an object to a field that its schema has."""
    while text:
        step = _STEP.match(text)
        if step is None or not isinstance(schema, dict):
            return False
        schema = part(schema, "properties").get(step[1] or step[2]) or schema.get("additionalProperties")
        text = text[step.end() :]
    return isinstance(schema, dict)


def _transition(path: str, rule: Object, uncorrelatable: str) -> list[Cause]:
    try:
        names = names_in(rule["rule"])
    except CelSyntaxError:
        return []
    if absent := names.intersection(_ABSENT):
        told = f"compilation failed: undeclared reference to '{min(absent)}' (in container '')"
        return [invalid_value(f"{path}.rule", rule["rule"], told)]
    is_transition = "oldSelf" in names
    if not is_transition and rule.get("optionalOldSelf") is not None:
        told = "may not be set if oldSelf is not used in rule"
        return [invalid_value(f"{path}.optionalOldSelf", rule["optionalOldSelf"], told)]
    if is_transition and uncorrelatable:
        told = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelatable}"
        return [invalid_value(f"{path}.rule", rule["rule"], told)]
    return []
