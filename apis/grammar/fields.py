"""
Field selectors choose the objects of a query or a watch by the few fields that the server supports.

Follows: apimachinery pkg/fields/selector.go and the registry strategies; the grammar, the fields and the
error texts are those of kube-apiserver 1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from .labels import SelectorError

NAME: Final = "metadata.name"
NAMESPACE: Final = "metadata.namespace"

_ABSENT: Final = {"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.succeeded": "0"}
_ALIASES: Final = {"spec.host": "spec.nodeName", "name": NAME, "status.successful": "status.succeeded"}
_ESCAPABLE: Final = "\\,="
_INVOLVED: Final = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
# The selectable fields per `plural.group`, in addition to name and namespace.
_OFFERED: Final[dict[str, tuple[str, ...]]] = {
    "events": (
        *(f"involvedObject.{field}" for field in _INVOLVED),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "events.events.k8s.io": (
        *(f"regarding.{field}" for field in _INVOLVED),
        "reason",
        "reportingController",
        "source",
        "type",
    ),
    "namespaces": ("status.phase",),
    "nodes": ("spec.unschedulable",),
    "pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "replicationcontrollers": ("status.replicas",),
    "secrets": ("type",),
    "services": ("spec.clusterIP", "spec.type"),
    "jobs.batch": ("status.successful",),
    "certificatesigningrequests.certificates.k8s.io": ("spec.signerName",),
}


class FieldTerm(NamedTuple):
    """One comparison; equal=False means `!=`."""

    field: str
    equal: bool
    value: str

    def __str__(self) -> str:
        value = "".join(f"\\{char}" if char in _ESCAPABLE else char for char in self.value)
        return f"{self.field}{'=' if self.equal else '!='}{value}"


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """
    Return the terms of a selector, all of which must hold. An empty tuple selects everything.

    Raises: SelectorError if the text is not a field selector.
    """
    terms = (_term(part) for part in _split(text) if part)
    return tuple(term for term in terms if term.field or term.value)


def built_in_fields(group_resource: str) -> tuple[str, ...]:
    """Return the fields that the server supports for a built-in kind, besides name and namespace."""
    return _OFFERED.get(group_resource, ())


def check_offered(
    terms: Iterable[FieldTerm], own: Sequence[str], *, kind: str, namespaced: bool, custom: bool
) -> None:
    """
    Check that the server supports every field of a selector.

    Args: own holds the kind's selectable fields besides name and namespace.
    Raises: SelectorError with the server's message.
    """
    offered = offered_fields(own, namespaced=namespaced, custom=custom)
    for term in terms:
        if term.field in offered:
            continue
        if kind == "Job":
            raise SelectorError(f'field label "{term.field}" not supported for Job')
        if custom or own:
            raise SelectorError(f"field label not supported: {term.field}")
        raise SelectorError(
            f'"{term.field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
        )


def offered_fields(own: Sequence[str], *, namespaced: bool, custom: bool) -> tuple[str, ...]:
    """
    Return the fields that a query may name.

    They include the namespace even for built-in cluster-scoped kinds.
    """
    if namespaced or not (own or custom):
        return (NAME, NAMESPACE, *own)
    return (NAME, *own)


def matcher(
    terms: Iterable[FieldTerm], *, custom: bool = False
) -> Callable[[Mapping[str, Any]], bool] | None:
    """
    Return a predicate for decoded objects, or None if the selector selects everything.

    Args: custom is true for a custom kind. The server accepts field aliases only for built-in kinds.
    """
    aliases = {} if custom else _ALIASES
    compiled = [(tuple(aliases.get(t.field, t.field).split(".")), t) for t in terms]
    if not compiled:
        return None
    return lambda obj: all((value_of(obj, path) == t.value) is t.equal for path, t in compiled)


def exact(terms: Iterable[FieldTerm], field: str) -> str | None:
    """Return the value that a field must equal, or None if the selector requires no particular value."""
    return next((term.value for term in terms if term.field == field and term.equal), None)


def value_of(obj: Mapping[str, Any], path: tuple[str, ...]) -> str:
    """Return a field's value as selectors compare it: a string, or "" if the field is absent."""
    node: Any = obj
    for part in path:
        node = node.get(part) if isinstance(node, Mapping) else None
    if path == ("source",):
        node = _event_source(obj)
    if node is None:
        return _ABSENT.get(".".join(path), "")
    if isinstance(node, bool):
        return "true" if node else "false"
    return str(node)


def _event_source(obj: Mapping[str, Any]) -> str:
    source = obj.get("source") or {}
    return source.get("component") or obj.get("reportingComponent") or ""


def _split(text: str) -> list[str]:
    """Split a text at its unescaped commas."""
    parts, start, escaped = [], 0, False
    for index, char in enumerate(text):
        if escaped:
            escaped = False
        elif char == "\\":
            escaped = True
        elif char == ",":
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def _term(part: str) -> FieldTerm:
    for index in range(len(part)):
        for operator in ("!=", "==", "="):
            if part.startswith(operator, index):
                value = _unescaped(part[index + len(operator) :])
                return FieldTerm(part[:index], operator != "!=", value)
    raise SelectorError(f"invalid selector: '{part}'; can't understand '{part}'")


def _unescaped(value: str) -> str:
    result: list[str] = []
    characters = iter(value)
    for char in characters:
        if char == "\\":
            following = next(characters, "")
            if not following or following not in _ESCAPABLE:
                raise SelectorError(f"invalid field selector: invalid escape sequence: \\{following}")
            result.append(following)
        elif char in ",=":
            raise SelectorError(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            result.append(char)
    return "".join(result)
