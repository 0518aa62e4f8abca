"""
Checks the CEL expressions in admission policies and match conditions: their variables and result types.

Follows: apiserver pkg/admission/plugin/cel/compile.go (BuildRequestType, BuildNamespaceType), composition.go,
pkg/cel/library/authz.go. Differs: expressions are not evaluated, and those of mutations are not compiled.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handloop_sandbox.cel.check import check
from handloop_sandbox.cel.tokens import CelSyntaxError, told
from handloop_sandbox.cel.types import DYN, CelType, read_type
from handloop_sandbox.wire.causes import invalid_value
from handloop_sandbox.wire.status import Cause

BOOL: Final = ("bool",)
STRING: Final = ("string",)
STRING_OR_NULL: Final = ("string", "null_type")

_VARIABLES: Final = "kubernetes.variables"
_TEXTS: Final = "map(string, string)"
_FIELDS: Final = {
    "kubernetes.AdmissionRequest": {
        **dict.fromkeys(("kind", "requestKind"), "kubernetes.GroupVersionKind"),
        **dict.fromkeys(("resource", "requestResource"), "kubernetes.GroupVersionResource"),
        **dict.fromkeys(("subResource", "requestSubResource", "name", "namespace", "operation"), "string"),
        "userInfo": "kubernetes.UserInfo",
        "dryRun": "bool",
        "options": "dyn",
    },
    "kubernetes.GroupVersionKind": dict.fromkeys(("group", "version", "kind"), "string"),
    "kubernetes.GroupVersionResource": dict.fromkeys(("group", "version", "resource"), "string"),
    "kubernetes.UserInfo": {
        "username": "string",
        "uid": "string",
        "groups": "list(string)",
        "extra": "map(string, list(string))",
    },
    "kubernetes.Namespace": {
        "metadata": "kubernetes.NamespaceMetadata",
        "spec": "kubernetes.NamespaceSpec",
        "status": "kubernetes.NamespaceStatus",
    },
    "kubernetes.NamespaceMetadata": {
        **dict.fromkeys(("name", "generateName", "namespace", "UID", "resourceVersion"), "string"),
        **dict.fromkeys(("labels", "annotations"), _TEXTS),
        **dict.fromkeys(("creationTimestamp", "deletionTimestamp"), "timestamp"),
        **dict.fromkeys(("generation", "deletionGracePeriodSeconds"), "int"),
        "finalizers": "list(string)",
    },
    "kubernetes.NamespaceSpec": {"finalizers": "list(string)"},
    "kubernetes.NamespaceStatus": {"phase": "string", "conditions": "list(dyn)"},
    "kubernetes.authorization.Authorizer": {"requestResource": "kubernetes.authorization.ResourceCheck"},
}
_KNOWN: Final = {
    name: {field: read_type(text) for field, text in fields.items()} for name, fields in _FIELDS.items()
}
_GIVEN: Final = {
    **dict.fromkeys(("object", "oldObject"), DYN),
    "request": CelType("kubernetes.AdmissionRequest"),
    "namespaceObject": CelType("kubernetes.Namespace"),
    "authorizer": CelType("kubernetes.authorization.Authorizer"),
}


class Expressions:
    """
    A checker for the expressions of one policy or webhook configuration.

    State: _own maps the variables declared so far to their types; it is None before the first declaration.
    """

    def __init__(self, *, has_params: bool = False) -> None:
        self._given = _GIVEN | ({"params": DYN} if has_params else {})
        self._own: dict[str, CelType] | None = None

    def declare(self, path: str, name: str, text: str) -> list[Cause]:
        """Declare a variable. Returns: the validation errors for its expression."""
        self._own = self._own or {}
        if not text.strip():
            return []
        causes, found = self._checked(path, text, ())
        self._own[name] = found
        return causes

    def causes(self, path: str, text: str, wanted: Sequence[str]) -> list[Cause]:
        """Return the validation errors for an expression whose result must have one of the wanted types."""
        return self._checked(path, text, wanted)[0]

    def _checked(self, path: str, text: str, wanted: Sequence[str]) -> tuple[list[Cause], CelType]:
        own = {} if self._own is None else {"variables": CelType(_VARIABLES)}
        try:
            found = check(text, self._given | own, {**_KNOWN, _VARIABLES: self._own or {}}).result
        except CelSyntaxError as error:
            return [invalid_value(path, text, f"compilation failed: {told(text, error.problems)}")], DYN
        name = "null_type" if str(found) == "null" else str(found)
        if not wanted or name in wanted:
            return [], found
        types = wanted[0] if len(wanted) == 1 else f"one of [{' '.join(wanted)}]"
        return [invalid_value(path, text, f"must evaluate to {types} but got {found}")], found
