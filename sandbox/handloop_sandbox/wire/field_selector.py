"""The field selectors of queries: the grammar of `grammar.fields`, with a 400 for errors."""

from __future__ import annotations

from handloop_sandbox.grammar import fields
from handloop_sandbox.grammar.labels import SelectorError
from handloop_sandbox.wire.resource import ServedResource
from handloop_sandbox.wire.status import bad_request


def parse(text: str) -> tuple[fields.FieldTerm, ...]:
    """
    Return the terms of a selector, all of which must hold; () selects everything.

    Raises: StatusError 400 with the server's words.
    """
    try:
        return fields.parse_fields(text)
    except SelectorError as error:
        raise bad_request(str(error)) from error


def check_supported(terms: tuple[fields.FieldTerm, ...], resource: ServedResource) -> None:
    """Refuse (400) fields that cannot be used to select this kind."""
    own, scope = resource.selectable_fields, resource.namespaced
    try:
        fields.check_offered(terms, own, kind=resource.kind, namespaced=scope, custom=resource.custom)
    except SelectorError as error:
        raise bad_request(str(error)) from error
