"""
Label selectors in queries, and LabelSelectors in objects.

A query's selector has the grammar of `grammar.labels`; an error in it raises StatusError 400 with a real
server's message. A LabelSelector has matchLabels and matchExpressions.
Follows: apimachinery pkg/labels, pkg/apis/meta/v1/helpers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from handloop_sandbox.grammar.labels import Requirement, SelectorError, parse_selector
from handloop_sandbox.wire.status import bad_request

LabelPredicate = Callable[[Mapping[str, str]], bool]


def parse(text: str) -> tuple[Requirement, ...]:
    """
    Return a selector's requirements. Labels must satisfy all of them; () selects everything.

    Raises: StatusError 400 with a real server's message if the selector is invalid.
    """
    try:
        return parse_selector(text).requirements
    except SelectorError as error:
        raise bad_request(str(error)) from error


def predicate(requirements: tuple[Requirement, ...]) -> LabelPredicate | None:
    """Return a function that checks whether labels are selected, or None if all labels are."""
    if not requirements:
        return None
    if len(requirements) == 1:
        return requirements[0].matches
    return lambda labels: all(requirement.matches(labels) for requirement in requirements)


def matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str] | None) -> bool:
    """Return whether a LabelSelector selects labels. None selects nothing, and {} selects everything."""
    if selector is None:
        return False
    labels = labels or {}
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_holds(term, labels) for term in selector.get("matchExpressions") or ())


def is_everything(selector: Mapping[str, Any] | None) -> bool:
    """Return whether a LabelSelector has no requirements."""
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def text(selector: Mapping[str, Any] | None) -> str:
    """Return a LabelSelector, or a ReplicationController's map of labels, as a query string."""
    selector = selector or {}
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    terms += [(term["key"], _term(term)) for term in selector.get("matchExpressions") or ()]
    return ",".join(shown for _, shown in sorted(terms, key=lambda term: term[0]))


def _holds(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    value, values = labels.get(term.get("key", "")), term.get("values") or ()
    match term.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values  # an absent key is not in any set
        case "Exists":
            return value is not None
        case _:
            return value is None


def _term(term: Mapping[str, Any]) -> str:
    key, values = term["key"], ",".join(sorted(term.get("values") or ()))
    match term.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "Exists":
            return str(key)
        case _:
            return f"!{key}"
