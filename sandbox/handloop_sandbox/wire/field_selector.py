"""
Field selectors: which fields of an object a query may compare, and how.

Each kind offers the fields of its registry strategy.
Follows: apimachinery pkg/fields/selector.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import bad_request

ObjectPredicate = Callable[[Mapping[str, Any]], bool]

_ABSENT: Final = {"spec.unschedulable": "false", "spec.hostNetwork": "false", "status.successful": "0"}
_ALIASES: Final = {"spec.host": "spec.nodeName", "name": "metadata.name"}
_ESCAPABLE: Final = "\\,="


class FieldTerm(NamedTuple):
    """One comparison; equal False means `!=`."""

    field: str
    equal: bool
    value: str


def parse(text: str) -> tuple[FieldTerm, ...]:
    """
    The terms of a selector, all of which must hold; () selects everything.

    Raises: StatusError 400 with the server's words.
    """
    terms = (_term(part) for part in _split(text) if part)
    return tuple(term for term in terms if term.field or term.value)


def check_supported(terms: tuple[FieldTerm, ...], resource: ServedResource) -> None:
    """Refuse fields the kind does not offer (400)."""
    supported = supported_fields(resource)
    for term in terms:
        if term.field not in supported:
            raise bad_request(_unsupported(term.field, resource))


def supported_fields(resource: ServedResource) -> tuple[str, ...]:
    """The fields a query on this resource may name."""
    own = resource.selectable_fields
    if resource.namespaced or not (own or resource.custom):
        return ("metadata.name", "metadata.namespace", *own)
    return ("metadata.name", *own)


def predicate(terms: tuple[FieldTerm, ...]) -> ObjectPredicate | None:
    """A function of objects; None when everything is selected."""
    if not terms:
        return None
    compiled = [(tuple(_ALIASES.get(t.field, t.field).split(".")), t) for t in terms]
    return lambda obj: all((value_of(obj, path) == t.value) is t.equal for path, t in compiled)


def exact(terms: tuple[FieldTerm, ...], field: str) -> str | None:
    """The value a field must equal, None when the selector does not pin it."""
    return next((term.value for term in terms if term.field == field and term.equal), None)


def value_of(obj: Mapping[str, Any], path: tuple[str, ...]) -> str:
    """A field as selectors see it: a string, "" when absent."""
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
    """The parts between unescaped commas."""
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
    raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")


def _unescaped(value: str) -> str:
    result: list[str] = []
    characters = iter(value)
    for char in characters:
        if char == "\\":
            following = next(characters, "")
            if not following or following not in _ESCAPABLE:
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{following}")
            result.append(following)
        elif char in ",=":
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(char)}")
        else:
            result.append(char)
    return "".join(result)


def _unsupported(field: str, resource: ServedResource) -> str:
    if resource.kind == "Job":
        return f'field label "{field}" not supported for Job'
    if resource.custom or resource.selectable_fields:
        return f"field label not supported: {field}"
    return f'"{field}" is not a known field selector: only "metadata.name", "metadata.namespace"'
