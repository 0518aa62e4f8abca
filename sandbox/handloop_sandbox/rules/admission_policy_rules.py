"""
Validation rules for admission policies and their bindings.

Follows: kubernetes pkg/apis/admissionregistration/validation/validation.go.
Differs: a mutation must have an expression, but neither it nor the variables of its policy are compiled.
"""

from __future__ import annotations

import re
from typing import Final

from handloop_sandbox.rules.policy_expressions import BOOL, STRING, STRING_OR_NULL, Expressions
from handloop_sandbox.rules.webhook_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION,
    chosen,
    conditions,
    rule_causes,
)
from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import duplicate, forbidden_field, invalid_value, not_supported, required
from handloop_sandbox.wire.field_rules import (
    Object,
    all_invalid,
    entries,
    label_selector,
    named_by,
    one_of,
    part,
)
from handloop_sandbox.wire.status import Cause

_IDENTIFIER: Final = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_MUTATING: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_PATCHES: Final = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}
_NONE: Final = "validations or auditAnnotations must contain at least one item"
_BOTH: Final = (
    "must not contain both Deny and Warn "
    "(repeating the same validation failure information in the API response and headers serves no purpose)"
)
_ALONE: Final = "name and selector are mutually exclusive"


def validating_policy(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a ValidatingAdmissionPolicy."""
    del old
    if subresource == "status":
        return []
    spec = part(new, "spec")
    expressions = Expressions(has_params=spec.get("paramKind") is not None)
    causes = _policy(spec, expressions)
    for index, variable in enumerate(entries(spec, "variables")):
        causes += _variable(f"spec.variables[{index}]", variable, expressions)
    validations, notes = entries(spec, "validations"), entries(spec, "auditAnnotations")
    if not validations and not notes:
        return [*causes, *(required(f"spec.{name}", _NONE) for name in ("validations", "auditAnnotations"))]
    for index, validation in enumerate(validations):
        causes += _validation(f"spec.validations[{index}]", validation, expressions)
    keys = [note.get("key", "") for note in notes]
    for index, note in enumerate(notes):
        path, key = (
            f"spec.auditAnnotations[{index}]",
            f"{part(new, 'metadata').get('name', '')}/{keys[index]}",
        )
        causes += all_invalid(f"{path}.key", key, names.qualified_name(key))
        text = note.get("valueExpression", "")
        if text.strip():
            causes += expressions.causes(f"{path}.valueExpression", text, STRING_OR_NULL)
        else:
            causes.append(required(f"{path}.valueExpression", "valueExpression is not specified"))
        causes += [duplicate(f"{path}.key", keys[index])] if keys[index] in keys[:index] else []
    return causes


def mutating_policy(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a MutatingAdmissionPolicy."""
    del old, subresource
    spec = part(new, "spec")
    expressions = Expressions(has_params=spec.get("paramKind") is not None)
    causes = _policy(spec, expressions) + _only_mutating(
        "spec.matchConstraints", part(spec, "matchConstraints")
    )
    mutations = entries(spec, "mutations")
    if not mutations:
        causes.append(required("spec.mutations", "mutations must contain at least one item"))
    for index, variable in enumerate(entries(spec, "variables")):
        causes += _variable(f"spec.variables[{index}]", variable, None)
    for index, mutation in enumerate(mutations):
        causes += _mutation(f"spec.mutations[{index}]", mutation)
    return causes + one_of("spec.reinvocationPolicy", spec.get("reinvocationPolicy"), REINVOCATION)


def validating_binding(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a ValidatingAdmissionPolicyBinding."""
    del old, subresource
    spec = part(new, "spec")
    actions, path = list(entries(spec, "validationActions")), "spec.validationActions"
    causes = _binding(spec)
    for index, action in enumerate(actions):
        at = f"{path}[{index}]"
        causes += [] if action in _ACTIONS else [not_supported(at, action, _ACTIONS)]
        causes += [duplicate(at, action)] if action in actions[:index] else []
    if "Deny" in actions and "Warn" in actions:
        causes.append(invalid_value(path, actions, _BOTH))
    return causes + ([] if actions else [required(path, "at least one validation action is required")])


def mutating_binding(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a MutatingAdmissionPolicyBinding."""
    del old, subresource
    spec = part(new, "spec")
    return _binding(spec) + _only_mutating("spec.matchResources", part(spec, "matchResources"))


def _policy(spec: Object, expressions: Expressions) -> list[Cause]:
    causes = one_of("spec.failurePolicy", spec.get("failurePolicy"), FAILURE_POLICIES)
    if spec.get("paramKind") is not None:
        causes += _kind("spec.paramKind", spec["paramKind"])
    matched = spec.get("matchConstraints")
    if matched is None:
        causes.append(required("spec.matchConstraints"))
    else:
        causes += _matched("spec.matchConstraints", matched)
        if not entries(matched, "resourceRules"):
            causes.append(required("spec.matchConstraints.resourceRules"))
    return causes + conditions("spec.matchConditions", entries(spec, "matchConditions"), expressions)


def _variable(path: str, given: Object, expressions: Expressions | None) -> list[Cause]:
    """
    Return a variable's validation errors.

    If expressions is None, the variable's expression is not compiled, because the types of the objects that
    it can construct are unknown.
    """
    name, text = given.get("name", ""), given.get("expression", "")
    causes: list[Cause] = []
    if not name.strip():
        causes.append(required(f"{path}.name", "name is not specified"))
    elif not _IDENTIFIER.fullmatch(name):
        causes.append(invalid_value(f"{path}.name", name, "must be a valid CEL identifier"))
    if not text.strip():
        causes.append(required(f"{path}.expression", "expression is not specified"))
    return causes + (expressions.declare(f"{path}.expression", name, text) if expressions else [])


def _binding(spec: Object) -> list[Cause]:
    causes = named_by("spec.policyName", spec.get("policyName"), names.dns_1123_subdomain)
    if spec.get("paramRef") is not None:
        causes += _parameters("spec.paramRef", spec["paramRef"])
    matched = spec.get("matchResources")
    return causes if matched is None else causes + _matched("spec.matchResources", matched)


def _kind(path: str, given: Object) -> list[Cause]:
    version, kind = given.get("apiVersion", ""), given.get("kind", "")
    causes: list[Cause] = []
    group, _, number = version.rpartition("/")
    if not version:
        causes.append(required(f"{path}.apiVersion"))
    elif "/" in group:
        text = f"unexpected GroupVersion string: {version}"
        causes.append(invalid_value(f"{path}.apiVersion", version, text))
    else:
        if group and (wrong := names.dns_1123_subdomain(group)):
            causes.append(invalid_value(f"{path}.apiVersion", group, ",".join(wrong)))
        if not number:
            causes.append(invalid_value(f"{path}.apiVersion", version, "version must be specified"))
        elif wrong := names.dns_1035_label(number):
            causes.append(invalid_value(f"{path}.apiVersion", number, ",".join(wrong)))
    if not kind:
        return [*causes, required(f"{path}.kind")]
    if wrong := names.dns_1035_label(kind.lower()):
        text = f"may have mixed case, but should otherwise match: {','.join(wrong)}"
        causes.append(invalid_value(f"{path}.kind", kind, text))
    return causes


def _matched(path: str, given: Object) -> list[Cause]:
    causes = one_of(f"{path}.matchPolicy", given.get("matchPolicy"), MATCH_POLICIES)
    for name in ("namespaceSelector", "objectSelector"):
        causes += label_selector(f"{path}.{name}", given.get(name))
    for member in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(entries(given, member)):
            at, named = f"{path}.{member}[{index}]", entries(rule, "resourceNames")
            for nth, name in enumerate(named):
                causes += all_invalid(f"{at}.resourceNames[{nth}]", name, names.path_segment(name))
                causes += [duplicate(f"{at}.resourceNames[{nth}]", name)] if name in named[:nth] else []
            causes += rule_causes(at, rule)
    return causes


def _only_mutating(path: str, matched: Object) -> list[Cause]:
    """Return the validation errors for a policy that matches deletions, which cannot be mutated."""
    return [
        not_supported(f"{path}.resourceRules.operations", operation, _MUTATING)
        for rule in entries(matched, "resourceRules")
        for operation in entries(rule, "operations")
        if operation not in _MUTATING
    ]


def _validation(path: str, given: Object, expressions: Expressions) -> list[Cause]:
    causes: list[Cause] = []
    for name, wanted in (("expression", BOOL), ("messageExpression", STRING)):
        text = given.get(name, "")
        if text.strip():
            causes += expressions.causes(f"{path}.{name}", text, wanted)
        elif name == "expression":
            causes.append(required(f"{path}.expression", "expression is not specified"))
    for name in ("messageExpression", "message"):
        text = given.get(name, "")
        if text and not text.strip():
            causes.append(invalid_value(f"{path}.{name}", text, "must be non-empty if specified"))
        elif name == "message" and set("\r\n") & set(text.strip()):
            causes.append(invalid_value(f"{path}.message", text, "must not contain line breaks"))
    return causes + chosen(path, given, "reason", _REASONS)


def _mutation(path: str, given: Object) -> list[Cause]:
    kind = given.get("patchType", "")
    if kind not in _PATCHES:
        return one_of(f"{path}.patchType", kind, tuple(_PATCHES))
    causes: list[Cause] = []
    for other, member in _PATCHES.items():
        if other == kind and given.get(member) is None:
            causes.append(required(f"{path}.{member}", f"must be specified when patchType is {kind}"))
        elif other == kind and not part(given, member).get("expression", "").strip():
            causes.append(required(f"{path}.{member}.expression", "expression is not specified"))
        elif other != kind and given.get(member) is not None:
            text = f"must not be specified when patchType is {kind}"
            causes.append(invalid_value(f"{path}.{member}", f"{{{member}}}", text))
    return causes


def _parameters(path: str, given: Object) -> list[Cause]:
    name, selector = given.get("name", ""), given.get("selector")
    causes = all_invalid(f"{path}.name", name, names.path_segment(name)) + label_selector(
        f"{path}.selector", selector
    )
    if name and selector is not None:
        causes += [forbidden_field(f"{path}.{member}", _ALONE) for member in ("name", "selector")]
    if not name and selector is None:
        causes.append(required(path, "one of name or selector must be specified"))
    action, allowed = given.get("parameterNotFoundAction"), ("Deny", "Allow")
    return causes + one_of(f"{path}.parameterNotFoundAction", action, allowed)
