from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.wire import field_rules
from handloop_sandbox.wire.status import Cause


def _told(causes: list[Cause]) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in causes]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1, None),
        (65535, None),
        (0, "Invalid value: 0: must be between 1 and 65535, inclusive"),
        (70000, "Invalid value: 70000: must be between 1 and 65535, inclusive"),
        ("http", None),
        ("a--b", 'Invalid value: "a--b": must not contain consecutive hyphens'),
        ("80", 'Invalid value: "80": must contain at least one letter (a-z)'),
        ("-a", 'Invalid value: "-a": must not begin or end with a hyphen'),
        ("a" * 16, f'Invalid value: "{"a" * 16}": must be no more than 15 characters'),
    ],
)
def test_ports_by_number_or_name(value: int | str, message: str | None) -> None:
    """A number in range, or an IANA service name."""
    found = _told(field_rules.port_number_or_name("p", value))
    assert found == ([("p", message)] if message else [])


@pytest.mark.parametrize(
    ("term", "field", "message"),
    [
        (
            {"key": "a", "operator": "In"},
            "s.matchExpressions[0].values",
            "Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            "s.matchExpressions[0].values",
            "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        ),
        (
            {"key": "a", "operator": "Is"},
            "s.matchExpressions[0].operator",
            'Invalid value: "Is": not a valid selector operator',
        ),
    ],
)
def test_selectors_that_mean_nothing(term: dict[str, Any], field: str, message: str) -> None:
    """Operators and what they need."""
    selector = {"matchExpressions": [term]}
    assert _told(field_rules.label_selector("s", selector)) == [(field, message)]
    assert not field_rules.is_valid_selector(selector)
