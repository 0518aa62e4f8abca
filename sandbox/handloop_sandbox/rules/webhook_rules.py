"""
Validation rules for webhook configurations.

Follows: kubernetes pkg/apis/admissionregistration/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from handloop_sandbox.rules.policy_expressions import BOOL, Expressions
from handloop_sandbox.wire import names, webhook_client
from handloop_sandbox.wire.causes import duplicate, invalid_value, not_supported, required, too_many
from handloop_sandbox.wire.field_rules import Object, all_invalid, entries, label_selector, part
from handloop_sandbox.wire.status import Cause

FAILURE_POLICIES: Final = ("Fail", "Ignore")
MATCH_POLICIES: Final = ("Equivalent", "Exact")
REINVOCATION: Final = ("IfNeeded", "Never")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_HARMLESS: Final = ("None", "NoneOnDryRun")
_REVIEWS: Final = f"must specify one of {', '.join(webhook_client.UNDERSTOOD)}"
_SEGMENTS: Final = 3
_LONGEST_TIMEOUT: Final = 30
_MOST_CONDITIONS: Final = 64
_OTHERS: Final = (("apiGroups", "API groups"), ("apiVersions", "API versions"))


def configuration(new: Object, old: Object | None, subresource: str) -> list[Cause]:
    """Return the validation errors for a MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""
    del old, subresource
    causes: list[Cause] = []
    seen: set[str] = set()
    for index, hook in enumerate(entries(new, "webhooks")):
        path, name = f"webhooks[{index}]", hook.get("name", "")
        causes += _hook(path, hook)
        reviews = entries(hook, "admissionReviewVersions")
        causes += webhook_client.reviews(f"{path}.admissionReviewVersions", reviews, _REVIEWS)
        causes += [duplicate(f"{path}.name", name)] if name and name in seen else []
        seen.add(name)
    return causes


def _hook(path: str, hook: Object) -> list[Cause]:
    causes = _full_name(f"{path}.name", hook.get("name", ""))
    for index, rule in enumerate(entries(hook, "rules")):
        causes += rule_causes(f"{path}.rules[{index}]", rule)
    causes += chosen(path, hook, "failurePolicy", FAILURE_POLICIES)
    causes += chosen(path, hook, "matchPolicy", MATCH_POLICIES)
    effects, seconds = hook.get("sideEffects"), hook.get("timeoutSeconds")
    if effects is None:
        causes.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(_HARMLESS)}"))
    causes += chosen(path, hook, "sideEffects", _HARMLESS)
    if seconds is not None and not 1 <= seconds <= _LONGEST_TIMEOUT:
        text = "the timeout value must be between 1 and 30 seconds"
        causes.append(invalid_value(f"{path}.timeoutSeconds", seconds, text))
    for name in ("namespaceSelector", "objectSelector"):
        causes += label_selector(f"{path}.{name}", hook.get(name))
    causes += chosen(path, hook, "reinvocationPolicy", REINVOCATION)
    causes += webhook_client.client(f"{path}.clientConfig", part(hook, "clientConfig"))
    return causes + conditions(f"{path}.matchConditions", entries(hook, "matchConditions"), Expressions())


def chosen(path: str, obj: Object, name: str, supported: Sequence[str]) -> list[Cause]:
    """Return the validation errors for an optional field with a fixed set of supported values."""
    value = obj.get(name)
    return [] if value is None or value in supported else [not_supported(f"{path}.{name}", value, supported)]


def conditions(path: str, given: Sequence[Any], expressions: Expressions) -> list[Cause]:
    """Return the errors for match conditions. Each needs a unique name and an expression of type bool."""
    causes = [too_many(path, len(given), _MOST_CONDITIONS)] if len(given) > _MOST_CONDITIONS else []
    seen: set[str] = set()
    for index, condition in enumerate(given):
        at, name = f"{path}[{index}]", condition.get("name", "")
        text = condition.get("expression", "")
        if text.strip():
            causes += expressions.causes(f"{at}.expression", text, BOOL)
        else:
            causes.append(required(f"{at}.expression"))
        if not name:
            causes.append(required(f"{at}.name"))
            continue
        causes += all_invalid(f"{at}.name", name, names.qualified_name(name))
        causes += [duplicate(f"{at}.name", name)] if name in seen else []
        seen.add(name)
    return causes


def rule_causes(path: str, rule: Object) -> list[Cause]:
    """Return the validation errors for a rule's operations and resources."""
    operations = list(entries(rule, "operations"))
    causes = [] if operations else [required(f"{path}.operations")]
    if "*" in operations and len(operations) > 1:
        text = "if '*' is present, must not specify other operations"
        causes.append(invalid_value(f"{path}.operations", operations, text))
    causes += [
        not_supported(f"{path}.operations[{index}]", operation, _OPERATIONS)
        for index, operation in enumerate(operations)
        if operation not in _OPERATIONS
    ]
    for name, what in _OTHERS:
        values = list(entries(rule, name))
        causes += [] if values else [required(f"{path}.{name}")]
        if "*" in values and len(values) > 1:
            text = f"if '*' is present, must not specify other {what}"
            causes.append(invalid_value(f"{path}.{name}", values, text))
    for index, version in enumerate(entries(rule, "apiVersions")):
        causes += [] if version else [required(f"{path}.apiVersions[{index}]")]
    causes += _resources(f"{path}.resources", list(entries(rule, "resources")))
    return causes + chosen(path, rule, "scope", _SCOPES)


def _resources(path: str, resources: list[str]) -> list[Cause]:
    causes = [] if resources else [required(path)]
    whole: set[str] = set()
    everywhere: set[str] = set()
    for index, given in enumerate(resources):
        resource, slash, inner = given.partition("/")
        at = f"{path}[{index}]"
        if not given:
            causes.append(required(at))
        if not slash:
            continue
        if resource in whole:
            text = f"if '{resource}/*' is present, must not specify {given}"
            causes.append(invalid_value(at, given, text))
        if inner in everywhere:
            causes.append(invalid_value(at, given, f"if '*/{inner}' is present, must not specify {given}"))
        whole |= {resource} if inner == "*" else set()
        everywhere |= {inner} if resource == "*" else set()
    if "*/*" in resources and len(resources) > 1:
        text = "if '*/*' is present, must not specify other resources"
        causes.append(invalid_value(path, resources, text))
    plain = [given for given in resources if given and "/" not in given]
    if "*" in plain and plain[-1] != "*":
        text = "if '*' is present, must not specify other resources without subresources"
        causes.append(invalid_value(path, resources, text))
    return causes


def _full_name(path: str, name: str) -> list[Cause]:
    if not name:
        return [required(path)]
    if wrong := names.dns_1123_subdomain(name):
        return [invalid_value(path, name, ",".join(wrong))]
    if len(name.split(".")) < _SEGMENTS:
        text = "should be a domain with at least three segments separated by dots"
        return [invalid_value(path, name, text)]
    return []
