"""Amounts in lists of resources."""

from __future__ import annotations

import pytest

from handloop.sandbox.kinds.resource_lists import rounded


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("500u", "1m"),
        ("1n", "1m"),
        ("1000000100n", "1001m"),
        ("999999999n", "1"),
        ("500e-6", "1e-3"),
        ("1e-9", "1e-3"),
        ("-1u", "-1m"),
    ],
)
def test_what_is_finer_than_a_thousandth_is_rounded_up(given: str, kept: str) -> None:
    """In the form that it has: with a suffix, or with an exponent."""
    assert rounded({"cpu": given, "memory": "1Gi"}) == {"cpu": kept, "memory": "1Gi"}


def test_other_amounts_stay() -> None:
    """It is the very same mapping: nobody has to copy what is above it."""
    amounts = {"cpu": "1m", "memory": "1Gi", "a": "0", "b": "1e3", "c": "9223372036854775807", "d": "1001e-3"}
    assert rounded(amounts) is amounts
