from __future__ import annotations

from typing import Any

import pytest

from handloop.sandbox.wire import field_rules, names
from handloop.sandbox.wire.status import Cause


def _told(causes: list[Cause]) -> list[tuple[str, str]]:
    return [(cause.field, cause.message) for cause in causes]


def test_reading_what_may_be_missing() -> None:
    """Parts and entries of anything are empty where there are none."""
    assert field_rules.part({"a": {"b": {"c": 1}}}, "a", "b") == {"c": 1}
    assert field_rules.part({"a": None}, "a", "b") == {}
    assert field_rules.part(None, "a") == {}
    assert field_rules.part({"a": [1]}, "a") == {}
    assert field_rules.entries({"a": [1]}, "a") == [1]
    assert field_rules.entries({"a": "text"}, "a") == ()


def test_negative_numbers() -> None:
    """Only members that are there and below zero."""
    assert _told(field_rules.nonnegative("spec", {"a": -1, "b": 0, "c": None}, "a", "b", "c", "d")) == [
        ("spec.a", "Invalid value: -1: must be greater than or equal to 0")
    ]


@pytest.mark.parametrize(
    ("value", "needed", "message"),
    [
        ("A", True, None),
        ("C", True, 'Unsupported value: "C": supported values: "A", "B"'),
        ("", True, "Required value"),
        ("", False, None),
    ],
)
def test_one_of_a_few(value: str, needed: bool, message: str | None) -> None:
    """An empty value is missing, if it is needed at all."""
    found = _told(field_rules.one_of("p", value, ("A", "B"), needed=needed))
    assert found == ([("p", message)] if message else [])


def test_names_that_must_be_there() -> None:
    """A complaint for each part of the rule that is broken."""
    assert _told(field_rules.named_by("p", "", names.dns_1123_label)) == [("p", "Required value")]
    assert field_rules.named_by("p", "a", names.dns_1123_label) == []
    assert len(field_rules.named_by("p", "A" * 70, names.dns_1123_label)) == 2


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
    ("value", "wrong", "above", "amount"),
    [
        (5, False, False, 5),
        (-1, True, False, -1),
        ("25%", False, False, 25),
        ("101%", False, True, 101),
        ("25", True, False, 0),
        ("-5%", True, False, 0),
        (None, False, False, 0),
    ],
)
def test_numbers_or_percentages(value: Any, wrong: bool, above: bool, amount: int) -> None:
    """What is one, what is more than all, and how much it is."""
    assert bool(field_rules.int_or_percent("p", value)) is wrong
    assert bool(field_rules.at_most_100_percent("p", value)) is above
    assert field_rules.amount(value) == amount


def test_what_may_not_change() -> None:
    """The new value is quoted."""
    assert field_rules.immutable("p", 1, 1) == []
    assert _told(field_rules.immutable("p", "b", "a")) == [("p", 'Invalid value: "b": field is immutable')]


def test_labels() -> None:
    """Keys are qualified names, values are short."""
    assert field_rules.labels("p", {"example.com/a": "b", "c": ""}) == []
    told = _told(field_rules.labels("p", {"a b": "-"}))
    assert [message.partition(":")[0] for _, message in told] == ["Invalid value", "Invalid value"]


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


def test_part_never_fails() -> None:
    """A missing, empty or odd step is an empty object."""
    obj = {"a": {"b": {"c": 1}, "n": None, "s": "text"}}
    assert field_rules.part(obj, "a", "b") == {"c": 1}
    assert field_rules.part(obj, "a", "n", "x") == {}
    assert field_rules.part(obj, "z") == {}
    assert field_rules.part(obj, "a", "s") == {}


def test_what_names_nothing() -> None:
    """The value is quoted as Go quotes."""
    found = field_rules.not_found_value("p", "x")
    assert (found.reason, found.message, found.field) == ("FieldValueNotFound", 'Not found: "x"', "p")
