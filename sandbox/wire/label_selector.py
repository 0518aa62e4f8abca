"""Label selectors of queries: the grammar of `handloop.apis.labels`, refused as the server refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from handloop.apis.labels import Requirement, SelectorError, parse_selector
from handloop.sandbox.wire.status import bad_request

LabelPredicate = Callable[[Mapping[str, str]], bool]


def parse(text: str) -> tuple[Requirement, ...]:
    """
    The requirements a selector is made of, all of which must hold; () selects everything.

    Raises: StatusError 400 with the server's words.
    """
    try:
        return parse_selector(text).requirements
    except SelectorError as error:
        raise bad_request(str(error)) from error


def predicate(requirements: tuple[Requirement, ...]) -> LabelPredicate | None:
    """A function of labels; None when everything is selected."""
    if not requirements:
        return None
    if len(requirements) == 1:
        return requirements[0].matches
    return lambda labels: all(requirement.matches(labels) for requirement in requirements)
