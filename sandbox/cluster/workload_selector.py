"""Label selectors as objects carry them: matchLabels and matchExpressions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def matches(selector: Mapping[str, Any] | None, labels: Mapping[str, str] | None) -> bool:
    """Whether labels satisfy a LabelSelector; None selects nothing, an empty one everything."""
    if selector is None:
        return False
    labels = labels or {}
    wanted: Mapping[str, str] = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_meets(expression, labels) for expression in selector.get("matchExpressions") or ())


def is_everything(selector: Mapping[str, Any] | None) -> bool:
    """Whether a selector has no requirement at all."""
    return selector is not None and not selector.get("matchLabels") and not selector.get("matchExpressions")


def text(selector: Mapping[str, Any]) -> str:
    """A LabelSelector (or the bare map of a ReplicationController) in its query form."""
    if selector and "matchLabels" not in selector and "matchExpressions" not in selector:
        selector = {"matchLabels": selector}
    terms = {key: f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()}
    for entry in selector.get("matchExpressions") or ():
        key, values = entry["key"], ",".join(sorted(entry.get("values") or ()))
        terms[key] = {
            "In": f"{key} in ({values})",
            "NotIn": f"{key} notin ({values})",
            "Exists": key,
            "DoesNotExist": f"!{key}",
        }[entry["operator"]]
    return ",".join(terms[key] for key in sorted(terms))


def _meets(expression: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values") or ()
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values  # an absent key is not in any set
        case "Exists":
            return key in labels
        case _:
            return key not in labels
