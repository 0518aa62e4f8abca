"""Quantities: their amounts, and refused texts."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from handloop.apis.grammar.quantity import PATTERN, QuantityError, parse_quantity, same_quantity


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", 0),
        ("1", 1),
        ("+1.5", Fraction(3, 2)),
        (".5", Fraction(1, 2)),
        ("5.", 5),
        ("100m", Fraction(1, 10)),
        ("3u", Fraction(3, 10**6)),
        ("7n", Fraction(7, 10**9)),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1.5Gi", 3 * 2**29),
        ("2M", 2 * 10**6),
        ("2E", 2 * 10**18),
        ("2Ei", 2 * 2**60),
        ("2e3", 2000),
        ("2E-3", Fraction(1, 500)),
        ("-1", -1),
        ("0.1n", Fraction(1, 10**9)),
        ("8Ei", 2**63 - 1),
        ("9007199254740992Ki", 2**63 - 1),
        ("10E", 10**19),
        # what Go takes, too
        ("m", 0),
        ("+", 0),
        ("-", 0),
        (".", 0),
        ("-.m", 0),
        ("E", 0),
        ("e3", 0),
        ("Ki", 0),
        ("1.m", Fraction(1, 1000)),
        ("-0.5n", Fraction(-1, 10**9)),
        ("-1.5n", Fraction(-2, 10**9)),
        ("1e-10", Fraction(1, 10**9)),
        ("0.0000000001Ki", Fraction(103, 10**9)),
        ("-9Ei", -(2**63) + 1),
        ("1000000000000000000000n", 10**12),
        ("1e999", 10**999),
    ],
)
def test_amounts(text: str, amount: Fraction | int) -> None:
    """Decimal and binary suffixes, exponents, and nothing smaller than a billionth. Follows ParseQuantity."""
    assert parse_quantity(text) == amount


@pytest.mark.parametrize(
    "text",
    ["", " 1", "1 ", "one", "1KI", "1.2.3", "1e1.5", "0x1", "1_0", "\u0661", "1\u0661", "1e\u0661", "nan"],
)
def test_what_is_no_quantity(text: str) -> None:
    """It is refused by the parser, in Go's words, and by the schema's pattern."""
    with pytest.raises(QuantityError, match="quantities must match"):
        parse_quantity(text)
    assert not re.search(PATTERN, text)


@pytest.mark.parametrize(
    "text", ["1K", "1mi", "1i", "1e", "1e+", "1ee3", "1u1", "1n-", "1+", "--1", "+-1", "1Mi3", "0e"]
)
def test_suffixes_that_there_are_not(text: str) -> None:
    """They have the letters of suffixes, and are refused."""
    with pytest.raises(QuantityError, match="unable to parse quantity's suffix"):
        parse_quantity(text)
    assert not re.search(PATTERN, text)


@pytest.mark.parametrize("text", ["Ei", "Pi", "e-12"])
def test_suffixes_that_need_digits(text: str) -> None:
    """Others mean zero alone."""
    with pytest.raises(QuantityError, match="unable to parse numeric part of quantity"):
        parse_quantity(text)


def test_the_schema_wants_digits_and_no_sign() -> None:
    """What Go takes for zero is no amount of memory, nor is less than nothing."""
    assert re.search(PATTERN, "1")
    for text in ("m", "+", "-", ".", "-1"):
        assert not re.search(PATTERN, text)


@pytest.mark.parametrize("text", ["1e99999999", "1E-99999999", "9" * 5000, "1" * 900 + "x", "1" * 10**6])
def test_numbers_beyond_reason(text: str) -> None:
    """They are refused at once; Go would count for minutes."""
    with pytest.raises(QuantityError):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("0.1", "100m"),
        ("", ""),
        ("x", "x"),
        # as the server answers them in the limits of a container
        ("500u", "1m"),
        ("1n", "1m"),
        ("0.0000000001", "1m"),
        ("1e-9", "1e-3"),
        ("1.0005", "1001m"),
        ("1000000100n", "1001m"),
        ("12345678901234567890n", "12345678901235m"),
        ("1.0001Ki", "1024103m"),
        ("7.9Ei", "9108079886394091110400m"),
        ("8Ei", "9223372036854775807"),
        ("9Ei", "9223372036854775807"),
        ("9223372036854775808", "9223372036854775808"),
        ("1e19", "10e18"),
        ("10000P", "10E"),
        ("1e20", "100e18"),
        ("1e21", "1000e18"),
        ("1000E", "1"),
        ("100000E", "100"),
        ("12000000000000000000000000", "12"),
    ],
)
def test_the_same_amount(one: str, other: str) -> None:
    """Texts differ where amounts do not, or not once the server has rounded and capped them."""
    assert same_quantity(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "2"),
        ("1k", "1Ki"),
        ("", "0"),
        ("0", ""),
        ("x", "1"),
        ("1", "x"),
        ("1m", "2m"),
        ("0", "1n"),
        ("1001u", "1m"),
        ("8Ei", "9223372036854775808"),
        ("1e21", "1"),
        ("1500E", "1500"),
    ],
)
def test_other_amounts(one: str, other: str) -> None:
    """An absent one is not zero, and a text that is no quantity equals no amount."""
    assert not same_quantity(one, other)
