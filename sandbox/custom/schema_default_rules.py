"""
Defaults in the schema of a custom resource: values that the schema itself accepts.

Follows: apiextensions-apiserver pkg/apiserver/schema/defaulting/validation.go.
"""

from __future__ import annotations

from handloop.sandbox.custom import cel_rules, schema, structural
from handloop.sandbox.custom.structural_rules import children
from handloop.sandbox.wire.causes import forbidden_field, invalid_value
from handloop.sandbox.wire.field_rules import Object
from handloop.sandbox.wire.status import Cause


def default_causes(path: str, root: Object) -> list[Cause]:
    """Everything wrong with the defaults of a schema."""
    causes = _own(path, root)
    for below, child, _ in children(path, root):
        if below == f"{path}.properties[metadata]":
            text = "must not be set in top-level metadata"
            causes += [forbidden_field(f"{below}.default", text)] if "default" in child else []
        else:
            causes += _below(below, child)
    return causes


def _below(path: str, node: Object) -> list[Cause]:
    causes = _own(path, node)
    for below, child, _ in children(path, node):
        causes += _below(below, child)
    return causes


def _own(path: str, node: Object) -> list[Cause]:
    value = node.get("default")
    if value is None:
        return []
    at = f"{path}.default"
    if node.get("x-kubernetes-int-or-string"):
        return []
    wrong = schema.validate(node, value) or cel_rules.check(node, value, None)
    causes = [cause._replace(field=_field(at, cause.field)) for cause in wrong]
    if structural.has_unknown(node, value):
        causes.append(invalid_value(at, value, "must not have unknown fields"))
    return causes


def _field(at: str, field: str) -> str:
    return at if field in ("", "<nil>") else f"{at}.{field.removeprefix('.')}"
