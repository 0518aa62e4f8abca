"""Parses the field selectors of queries with `grammar.fields`, and raises StatusError 400 for errors."""

from __future__ import annotations

from handloop_sandbox.grammar import fields
from handloop_sandbox.grammar.labels import SelectorError
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import bad_request


def parse(text: str) -> tuple[fields.FieldTerm, ...]:
    """
    Return a selector's terms. An object must satisfy all of them; () selects every object.

    Raises: StatusError 400 with a real server's message if the selector is invalid.
    """
    try:
        return fields.parse_fields(text)
    except SelectorError as error:
        raise bad_request(str(error)) from error


def check_supported(terms: tuple[fields.FieldTerm, ...], resource: ServedResource) -> None:
    """Raise a StatusError 400 if a selector uses a field that this kind does not support."""
    own, scope = resource.selectable_fields, resource.namespaced
    try:
        fields.check_offered(terms, own, kind=resource.kind, namespaced=scope, custom=resource.custom)
    except SelectorError as error:
        raise bad_request(str(error)) from error
