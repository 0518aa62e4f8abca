from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop_sandbox.grammar.quantity import QuantityError, parse_quantity
from handloop_sandbox.wire import quantity


@pytest.mark.parametrize(
    ("given_", "canonical"),
    [
        ("1", "1"),
        (1, "1"),
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1500Mi", "1500Mi"),
        ("1Ki", "1Ki"),
        ("1000Ki", "1000Ki"),
        ("0", "0"),
        ("1e3", "1e3"),
        ("1500e6", "1500e6"),
        ("12345", "12345"),
        ("100000", "100k"),
        ("1.5Gi", "1536Mi"),
        ("-1500m", "-1500m"),
        ("0.1n", "1n"),
        ("10E", "10E"),
        ("1e19", "10e18"),
        ("1e1000", "10e999"),
        ("12345678901234567890", "12345678901234567890"),
        ("12345678901234567890.5", "12345678901234567890500m"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("1000E", "1"),
        ("7Ei", "7Ei"),
        ("8Ei", "9223372036854775807"),
        ("-9Ei", "-9223372036854775807"),
        ("999999999999999999999Ki", "9223372036854775807"),
    ],
)
def test_the_form_a_quantity_is_written_in(given_: str | int, canonical: str) -> None:
    """A quantity is written with the largest suffix that leaves a whole number, in the family it came in."""
    assert quantity.canonical(given_) == canonical


@pytest.mark.parametrize("text", ["x", "", "1.2.3", "1 Gi", "Ei"])
def test_texts_that_are_no_quantity(text: str) -> None:
    """Anything else raises with Go's words."""
    with pytest.raises(QuantityError, match=r"quantities must match|unable to parse"):
        quantity.canonical(text)


_TEXTS = st.builds(
    lambda number, suffix: f"{number}{suffix}",
    st.integers(min_value=0, max_value=10**9),
    st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi", "u", "n"]),
)


@given(_TEXTS)
def test_writing_keeps_the_value_and_is_stable(text: str) -> None:
    """The canonical form stands for the same number and is its own canonical form."""
    written = quantity.canonical(text)
    assert parse_quantity(written) == parse_quantity(text)
    assert quantity.canonical(written) == written


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("0", (0, 0, "DecimalSI", "0")),
        ("100m", (100, -3, "DecimalSI", "100m")),
        ("2k", (2, 3, "DecimalSI", "2k")),
        ("1Gi", (1 << 30, 0, "BinarySI", "1Gi")),
        ("8Gi", (1 << 33, 0, "BinarySI", "")),
        ("12e6", (12, 6, "DecimalExponent", "12e6")),
    ],
)
def test_amounts_as_go_keeps_them(text: str, amount: tuple[int, int, str, str]) -> None:
    """Value, scale and format of a quantity, and whether Go keeps its spelling. Follows ParseQuantity."""
    assert quantity.int64_amount(text) == amount
