"""
Validation of single fields that many kinds have in common, with Kubernetes' messages.

Each function returns the errors for one value; path is the field that they name.
Follows: apimachinery pkg/util/validation, pkg/apis/meta/v1/validation and kubernetes
pkg/apis/core/validation.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from handloop_sandbox.wire import names
from handloop_sandbox.wire.causes import forbidden_field, invalid_value, not_supported, quoted, required
from handloop_sandbox.wire.status import Cause

Object = Mapping[str, Any]

NEGATIVE: Final = "must be greater than or equal to 0"
IMMUTABLE: Final = "field is immutable"
MISMATCH: Final = "`selector` does not match template `labels`"
PORT_RANGE: Final = "must be between 1 and 65535, inclusive"
MAX_INT32: Final = 2**31 - 1
MAX_PORT: Final = 65535
MAX_PORT_NAME: Final = 15
_WHOLE: Final = 100
_PERCENT: Final = re.compile(r"[0-9]+%")


def part(obj: Object | None, *path: str) -> Mapping[str, Any]:
    """Return the nested object at a path, or {} if it does not exist."""
    found: Any = obj
    for name in path:
        found = (found or {}).get(name)
    return found if isinstance(found, dict) else {}


def entries(obj: Object, name: str) -> Sequence[Any]:
    """Return the list in a field, or () if it is absent."""
    found = obj.get(name)
    return found if isinstance(found, list) else ()


def sorted_map(found: Object) -> Object | None:
    """Return a map in the key order in which Go prints it, or None if it is empty."""
    return dict(sorted(found.items())) or None


def not_found_value(path: str, value: Any) -> Cause:
    """Return the error for a value that refers to something that does not exist."""
    return Cause("FieldValueNotFound", f"Not found: {quoted(str(value))}", path)


def all_invalid(path: str, value: Any, complaints: Iterable[str]) -> list[Cause]:
    """Return a Cause for each problem with a value."""
    return [invalid_value(path, value, complaint) for complaint in complaints]


def nonnegative(path: str, obj: Object, *members: str) -> list[Cause]:
    """Return the validation errors for negative fields. Absent fields are allowed."""
    return [
        invalid_value(f"{path}.{name}", obj[name], NEGATIVE)
        for name in members
        if isinstance(obj.get(name), int) and obj[name] < 0
    ]


def one_of(path: str, value: Any, supported: Sequence[str]) -> list[Cause]:
    """Return the error for a value that is unsupported, or missing because it is empty."""
    if not value:
        return [required(path)]
    return [] if value in supported else [not_supported(path, value, supported)]


def named_by(path: str, value: Any, rule: Callable[[str], list[str]]) -> list[Cause]:
    """Return the validation errors for a required name. rule returns the problems with a name."""
    return all_invalid(path, value, rule(str(value))) if value else [required(path)]


def port_number(path: str, value: Any) -> list[Cause]:
    """Return the validation error for a port number that is not from 1 to 65535."""
    valid = isinstance(value, int) and 1 <= value <= MAX_PORT
    return [] if valid else [invalid_value(path, value, PORT_RANGE)]


def port_name(name: str) -> list[str]:
    """Return the problems with a port's name, which must be a valid IANA service name."""
    found = []
    if len(name) > MAX_PORT_NAME:
        found.append(f"must be no more than {MAX_PORT_NAME} characters")
    if not re.fullmatch(r"[-a-z0-9]+", name):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", name):
        found.append("must contain at least one letter (a-z)")
    if "--" in name:
        found.append("must not contain consecutive hyphens")
    if name and (name.startswith("-") or name.endswith("-")):
        found.append("must not begin or end with a hyphen")
    return found


def port_number_or_name(path: str, value: Any) -> list[Cause]:
    """Return the validation errors for a port number or a port name."""
    return all_invalid(path, value, port_name(value)) if isinstance(value, str) else port_number(path, value)


def immutable(path: str, new: Any, old: Any) -> list[Cause]:
    """Return the validation error for an immutable field if its value has changed."""
    return [] if new == old else [invalid_value(path, new, IMMUTABLE)]


def int_or_percent(path: str, value: Any) -> list[Cause]:
    """Return the error for a value that is neither a nonnegative number nor a percentage."""
    if isinstance(value, str):
        if _PERCENT.fullmatch(value):
            return []
        example = names.regex_error(
            "a valid percent string must be a numeric string followed by an ending '%'",
            "[0-9]+%",
            "1%",
            "93%",
        )
        return [invalid_value(path, value, example)]
    return [invalid_value(path, value, NEGATIVE)] if isinstance(value, int) and value < 0 else []


def at_most_100_percent(path: str, value: Any) -> list[Cause]:
    """Return the error for a percentage above 100. Numbers are not limited."""
    percent = int(value[:-1]) if isinstance(value, str) and _PERCENT.fullmatch(value) else 0
    return [invalid_value(path, value, "must not be greater than 100%")] if percent > _WHOLE else []


def amount(value: Any) -> int:
    """Return the integer in an int-or-percent value, or 0 for any other value."""
    if isinstance(value, int):
        return value
    return int(value[:-1]) if isinstance(value, str) and _PERCENT.fullmatch(value) else 0


def labels(path: str, found: Object) -> list[Cause]:
    """Return the validation errors for the keys and values of labels or of a node selector."""
    causes: list[Cause] = []
    for key, value in found.items():
        causes += all_invalid(path, key, names.qualified_name(key))
        causes += all_invalid(path, value, names.label_value(value))
    return causes


def label_selector(path: str, selector: Object | None) -> list[Cause]:
    """Return the validation errors for a label selector's labels and expressions."""
    if selector is None:
        return []
    causes = labels(f"{path}.matchLabels", selector.get("matchLabels") or {})
    for index, term in enumerate(entries(selector, "matchExpressions")):
        causes += _expression(f"{path}.matchExpressions[{index}]", term)
    return causes


def _expression(path: str, term: Object) -> list[Cause]:
    operator, values = term.get("operator", ""), entries(term, "values")
    causes = []
    if operator in {"In", "NotIn"}:
        if not values:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            causes.append(required(f"{path}.values", text))
    elif operator in {"Exists", "DoesNotExist"}:
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            causes.append(forbidden_field(f"{path}.values", text))
    else:
        causes.append(invalid_value(f"{path}.operator", operator, "not a valid selector operator"))
    causes += all_invalid(f"{path}.key", term.get("key", ""), names.qualified_name(term.get("key", "")))
    for index, value in enumerate(values):
        causes += all_invalid(f"{path}.values[{index}]", value, names.label_value(value))
    return causes


def difference(old: Object, new: Object) -> str:
    """Return the diff of two objects' JSON."""
    before, after = (json.dumps(value, indent=1, sort_keys=True).splitlines() for value in (old, new))
    lines = list(difflib.unified_diff(before, after, n=3, lineterm=""))[2:]
    return "\n".join(lines) + "\n"


def is_valid_selector(selector: Object | None) -> bool:
    """Return whether a label selector is valid, so that it can be evaluated."""
    return not label_selector("", selector)
