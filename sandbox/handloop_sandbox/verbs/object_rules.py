"""
Sets the defaults of objects, and validates the objects.

Custom resources are validated by their schema, and built-in kinds by their own rules. The metadata of both
is validated, too.

Follows: apiextensions pkg/registry/customresource/validator.go, kubernetes pkg/registry strategies.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

from handloop_sandbox.custom import cel_rules, embedded, schema, structural
from handloop_sandbox.custom.cel_rules import Verdict
from handloop_sandbox.custom.correlation import ABSENT
from handloop_sandbox.kinds import defaults, formats, structure
from handloop_sandbox.rules import pod_warnings, validation
from handloop_sandbox.rules.endpoint_rules import slice_notices
from handloop_sandbox.rules.key_pairs import secret_notices
from handloop_sandbox.rules.network_rules import ingress_notices
from handloop_sandbox.rules.service_rules import service_notices
from handloop_sandbox.rules.storage_rules import claim_notices
from handloop_sandbox.storage.stored import Object
from handloop_sandbox.verbs import metadata
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.go_format import go_value
from handloop_sandbox.wire.resource import Schema, ServedResource
from handloop_sandbox.wire.status import Cause

_BLOCKING: Final = (
    "FieldValueNotSupported",
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
)
_ANY_FINALIZER: Final = ("customresourcedefinitions", "events", "leases", "poddisruptionbudgets")
"""The built-in kinds whose finalizers do not need a domain."""
_HOOKS: Final = "admissionregistration.k8s.io"
_NO_WEBHOOKS: Final = ("the sandbox does not call webhooks",)
_NO_POLICIES: Final = ("the sandbox does not evaluate admission policies",)
_WITHOUT_EFFECT: Final = {
    (_HOOKS, "mutatingwebhookconfigurations"): _NO_WEBHOOKS,
    (_HOOKS, "validatingwebhookconfigurations"): _NO_WEBHOOKS,
    (_HOOKS, "mutatingadmissionpolicybindings"): _NO_POLICIES,
    (_HOOKS, "validatingadmissionpolicybindings"): _NO_POLICIES,
}
_MAX_INT32: Final = 2**31 - 1
_NOTICES: Final[Mapping[tuple[str, str], Callable[[Object, Object | None], Iterable[str]]]] = {
    ("", "persistentvolumeclaims"): claim_notices,
    ("", "secrets"): secret_notices,
    ("", "services"): service_notices,
    ("discovery.k8s.io", "endpointslices"): slice_notices,
    ("networking.k8s.io", "ingresses"): ingress_notices,
}
_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


_METADATA_LAST = frozenset({("", "events"), ("events.k8s.io", "events"), ("policy", "poddisruptionbudgets")})
"""The kinds whose metadata errors are reported only if the kind's own rules are satisfied."""


def defaulted(resource: ServedResource, obj: Object, *, keep_nulls: bool = False) -> Object:
    """Return the object with the defaults of its kind. structural.default explains keep_nulls."""
    if resource.custom:
        return structural.default(resource.schema, obj, keep_nulls=keep_nulls)
    if resource.kind == "Secret" and obj.get("stringData"):
        obj = _with_string_data(obj)
    return defaults.default_object(resource, obj)


def _with_string_data(secret: Object) -> Object:
    """Return a Secret with its stringData moved into data."""
    added = {key: base64.b64encode(text.encode()).decode() for key, text in secret["stringData"].items()}
    rest = {key: value for key, value in secret.items() if key != "stringData"}
    return {**rest, "data": {**(secret.get("data") or {}), **added}}


def validate_new(resource: ServedResource, obj: Object) -> list[Cause]:
    """Return the errors in a new object."""
    if not resource.custom:
        causes = metadata.validate(obj["metadata"], validation.name_rule(resource))
        causes += _finalizers(resource, obj, is_update=False)
        own = validation.validate(resource, obj, None)
        return own if own and resource.group_resource in _METADATA_LAST else causes + own
    causes = metadata.validate(obj["metadata"], metadata.subdomain_rule)
    return _with_rules(resource, obj, None, causes + _schema_causes(resource, obj)).causes


def validate_update(resource: ServedResource, obj: Object, old: Object, subresource: str = "") -> Verdict:
    """Return the errors in a changed object. Some metadata errors occur twice, as on a real server."""
    about_metadata = metadata.validate_update(obj["metadata"], old["metadata"])
    if not resource.custom:
        causes = about_metadata + validation.validate(resource, obj, old, subresource)
        if not subresource:
            causes += _finalizers(resource, obj, is_update=True)
        return Verdict([*_immutable(about_metadata), *causes], [])
    if subresource == "status":
        causes = about_metadata + _status_causes(resource, obj, old)
    else:
        causes = about_metadata + _finalizers(resource, obj, is_update=True)
        causes += _schema_causes(resource, obj, old)
    verdict = _with_rules(resource, obj, old, causes)
    return verdict._replace(causes=[*_immutable(about_metadata), *verdict.causes])


def notices(resource: ServedResource, obj: Object, old: Object | None = None) -> list[str]:
    """
    Return the warnings about an object, and about features that the sandbox ignores.

    Args: old is None if the object is new.
    """
    if resource.group_resource in pod_warnings.KINDS:
        return list(pod_warnings.pod_notices(resource.group_resource, obj, old))
    about = _NOTICES.get(resource.group_resource)
    if about is not None:
        return list(about(obj, old))
    if resource.kind != "CustomResourceDefinition" or resource.custom:
        return list(_WITHOUT_EFFECT.get(resource.group_resource, ()))
    schemas = [(version.get("schema") or {}).get("openAPIV3Schema") for version in obj["spec"]["versions"]]
    told = [f'unrecognized format "{name}"' for entry in schemas if entry for name in formats.unknown(entry)]
    return [*dict.fromkeys(told)]


def _finalizers(resource: ServedResource, obj: Object, *, is_update: bool) -> list[Cause]:
    causes = metadata.more_about_finalizers(obj["metadata"], is_update=is_update)
    if resource.custom or resource.plural in _ANY_FINALIZER:
        return [cause for cause in causes if cause.field == "metadata.finalizers"]
    return causes


def kind_cause(given: str, expected: str) -> Cause:
    """Return the error for a custom resource of the wrong kind."""
    return invalid_value("kind", given, f"must be {expected}")


def _immutable(causes: list[Cause]) -> list[Cause]:
    # The generic update reports these errors before the kind's strategy reports them again.
    return [cause for cause in causes if cause.message.endswith("field is immutable") or _adds(cause)]


def _adds(cause: Cause) -> bool:
    return cause.message.startswith("Forbidden: no new finalizers")


def _schema_causes(resource: ServedResource, obj: Object, old: Object | None = None) -> list[Cause]:
    if resource.schema is None:
        return []
    causes = schema.validate(resource.schema, obj, ABSENT if old is None else old)
    causes += scale_spec_causes(resource, obj)
    causes += scale_status_causes(resource, obj)
    twice = list_causes(resource, obj)
    if not (twice and old is not None and list_causes(resource, old)):
        causes += twice
    return causes + _embedded_causes(resource.schema, obj) if embedded.is_in(resource) else causes


def _embedded_causes(schema: Schema, obj: Object) -> list[Cause]:
    causes = []
    for path, inner in embedded.found(schema, obj):
        causes += embedded.type_causes(path, inner)
        about = metadata.validate_embedded(inner.get("metadata") or {})
        causes += [cause._replace(field=f"{path}.{cause.field}") for cause in about]
    return causes


def list_causes(resource: ServedResource, obj: Object) -> list[Cause]:
    """Return the errors about duplicates in sets and maps, which are reported in addition to others."""
    return [] if resource.schema is None else schema.validate_lists(resource.schema, obj)


def _status_causes(resource: ServedResource, obj: Object, old: Object) -> list[Cause]:
    inner = structure.properties(resource.schema or {}).get("status")
    if inner is None:
        return scale_status_causes(resource, obj)
    causes: list[Cause] = []
    status, before = obj.get("status"), old.get("status")
    if "status" in obj:
        causes += schema.validate(inner, status, ABSENT if before is None else before, prefix="status")
    causes += scale_status_causes(resource, obj)
    twice = schema.validate_lists(inner, status, "status")
    return causes if twice and schema.validate_lists(inner, before) else causes + twice


def _with_rules(resource: ServedResource, obj: Object, old: Object | None, causes: list[Cause]) -> Verdict:
    """
    Return the given errors, and those from the schema's validation rules.

    The rules are not evaluated if the object has certain errors, such as a missing field.
    """
    if resource.schema is None or not has_rules(resource):
        return Verdict(causes, [])
    if any(cause.reason in _BLOCKING for cause in causes):
        return Verdict([*causes, invalid_value("<nil>", None, _NOT_CHECKED)], [])
    verdict = cel_rules.check(resource.schema, obj, old)
    return verdict._replace(causes=causes + verdict.causes)


@lru_cache(maxsize=256)
def has_rules(resource: ServedResource) -> bool:
    """Return whether a schema contains x-kubernetes-validations."""
    return resource.schema is not None and _has_rules(resource.schema)


def _has_rules(node: Schema) -> bool:
    if node.get("x-kubernetes-validations"):
        return True
    inner = [*structure.properties(node).values(), structure.items_of(node), structure.value_of(node)]
    return any(_has_rules(entry) for entry in inner if entry)


def scale_spec_causes(resource: ServedResource, obj: Object) -> list[Cause]:
    """Return the errors in the number of replicas that a custom resource's /scale can set."""
    paths = resource.scale_paths
    return [] if paths is None else _replica_causes(obj, paths.spec_replicas)


def scale_status_causes(resource: ServedResource, obj: Object) -> list[Cause]:
    """Return the errors in the actual number of replicas and the selector in a custom resource's /scale."""
    paths = resource.scale_paths
    if paths is None:
        return []
    causes = _replica_causes(obj, paths.status_replicas)
    if paths.label_selector:
        _, problem = nested(obj, paths.label_selector, str, "string")
        if problem:
            causes.append(invalid_value(paths.label_selector, "", problem))
    return causes


def _replica_causes(obj: Object, path: str) -> list[Cause]:
    replicas, problem = nested(obj, path, int, "int64")
    if problem:
        return [invalid_value(path, 0, problem)]
    if replicas is None or 0 <= replicas <= _MAX_INT32:
        return []
    text = (
        "should be a non-negative integer"
        if replicas < 0
        else f"should be less than or equal to {_MAX_INT32}"
    )
    return [invalid_value(path, replicas, text)]


def nested(obj: Mapping[str, Any], path: str, expected: type, go_type: str) -> tuple[Any, str]:
    """
    Return the value at a path such as `.spec.replicas` (or None if it is missing), and "".

    If a value on the path has the wrong type, return None and Go's error message.
    """
    parts = path.removeprefix(".").split(".")
    node: Any = obj
    for index, part in enumerate(parts):
        if not isinstance(node, Mapping):
            at = ".".join(parts[: index + 1])
            return None, f".{at} accessor error: {_described(node)}, expected map[string]interface{{}}"
        node = node.get(part)
        if node is None and index < len(parts) - 1:
            return None, ""
    if node is None or (isinstance(node, expected) and not isinstance(node, bool)):
        return node, ""
    return None, f".{'.'.join(parts)} accessor error: {_described(node)}, expected {go_type}"


def _described(value: Any) -> str:
    names = {str: "string", bool: "bool", float: "float64", int: "int64", list: "[]interface {}"}
    name = names.get(type(value), "map[string]interface {}")
    return f"{go_value(value)} is of the type {name}"
