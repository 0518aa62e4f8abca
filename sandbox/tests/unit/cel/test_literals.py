from __future__ import annotations

import pytest

from handloop_sandbox.cel.check import check
from handloop_sandbox.cel.tokens import CelSyntaxError


@pytest.mark.parametrize(
    ("text", "offset", "message"),
    [
        ("'a'.matches('[')", 12, "invalid matches argument"),
        ("timestamp('x')", 10, "invalid timestamp argument"),
        ("duration(5)", 9, "invalid duration argument"),
        ("[1, dyn(1)]", 7, "expected type 'int' but found 'dyn'"),
        (
            "'%d'.format([1.5])",
            13,
            "error during formatting: decimal clause can only be used on integers, was given double",
        ),
        ("'%s %s'.format(['a'])", 14, "index 1 out of range"),
        ("'%s'.format([1, 2])", 11, "too many arguments supplied to string.format (expected 1, got 2)"),
        ("'%q'.format([1])", 11, 'could not parse formatting clause: unrecognized formatting clause "q"'),
        ("'%'.format([1])", 10, "unexpected end of string"),
    ],
)
def test_wrong_constants(text: str, offset: int, message: str) -> None:
    """They are told of at their places."""
    with pytest.raises(CelSyntaxError) as caught:
        check(text, {}, {})
    assert caught.value.problems == ((offset, message),)


@pytest.mark.parametrize(
    "text", ["'%s %d %.1f %X %%'.format(['a', 1, 1.5, 'x'])", "'%d'.format([dyn('a')])", "timestamp(0)"]
)
def test_right_constants(text: str) -> None:
    """Lists that are printed may be of mixed types."""
    assert check(text, {}, {}).result.name in ("string", "timestamp")
