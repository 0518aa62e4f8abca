from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.wire.go_format import escaped, go_float, go_type, go_value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "<nil>"),
        (True, "true"),
        (False, "false"),
        (5, "5"),
        ("a b", "a b"),
        ({"b": [1, "x"], "a": {"c": None}}, "map[a:map[c:<nil>] b:[1 x]]"),
        ([], "[]"),
        ({}, "map[]"),
        (1.5, "1.5"),
    ],
)
def test_values_as_fmt_prints_them(value: Any, text: str) -> None:
    """Decoded JSON by `%v`, the keys of maps sorted."""
    assert go_value(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2"),
        (-0.5, "-0.5"),
        (100000.0, "100000"),
        (1000000.0, "1e+06"),
        (1234567.0, "1.234567e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (-1.5e-7, "-1.5e-07"),
        (1e100, "1e+100"),
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
    ],
)
def test_floats(value: float, text: str) -> None:
    """Exponents from 6 up and from -5 down are written as such."""
    assert go_float(value) == text


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({}, "map[string]interface {}"),
        ([], "[]interface {}"),
        ("", "string"),
        (True, "bool"),
        (1, "int64"),
        (1.5, "float64"),
        (None, "%!s(<nil>)"),
    ],
)
def test_types(value: Any, name: str) -> None:
    """What Go calls the type of decoded JSON."""
    assert go_type(value) == name


def test_json_is_safe_inside_html() -> None:
    """As Go's encoder writes it."""
    assert escaped('{"a":"<b>&"}') == '{"a":"\\u003cb\\u003e\\u0026"}'
