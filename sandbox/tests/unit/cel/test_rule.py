from __future__ import annotations

from typing import Any

import pytest

from handloop_sandbox.cel.rule import compile_rule, names_in
from handloop_sandbox.cel.tokens import CelSyntaxError
from handloop_sandbox.cel.values import CelError


def _value(text: str, **env: Any) -> Any:
    return compile_rule(text)(env)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 + 2 * 3", 7),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("-7 % 3", -1),
        ("7.0 / 2.0", 3.5),
        ("'a' + 'b'", "ab"),
        ("[1] + [2]", [1, 2]),
        ("1 == 1.0", True),
        ("true == 1", False),
        ("'a' < 'b'", True),
        ("2 in [1, 2]", True),
        ("'a' in {'a': 1}", True),
        ("true ? 1 : 2", 1),
        ("!false", True),
        ("[1, 2, 3].all(x, x > 0)", True),
        ("[1, 2, 3].exists(x, x == 2)", True),
        ("[1, 1].exists_one(x, x == 1)", False),
        ("[1, 2, 3].filter(x, x > 1)", [2, 3]),
        ("[1, 2].map(x, x * 2)", [2, 4]),
        ("[1, 2, 3].map(x, x > 1, x * 2)", [4, 6]),
        ("{'a': 1, 'b': 2}.all(k, k != 'c')", True),
        ("has({'a': 1}.a)", True),
        ("has({'a': 1}.b)", False),
        ("type(1) == int", True),
        ("type('') == string", True),
        ("{'a': {'b': 1}}.?a.?b.orValue(5)", 1),
        ("{'a': 1}.?z.orValue(5)", 5),
        ("[1][?4].hasValue()", False),
    ],
)
def test_expressions(text: str, value: Any) -> None:
    """Expressions have the values that the language gives them."""
    assert _value(text) == value


def test_variables() -> None:
    """Variables are looked up in the environment; macros shadow them."""
    assert _value("self.a[0] + x", self={"a": [1]}, x=2) == 3
    assert _value("[1].all(x, x == 1)", x=5) is True
    assert names_in("self.a == oldSelf.b && [1].all(x, x > y)") == {"self", "oldSelf", "x", "y"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulus by zero"),
        ("self.missing", "no such key: missing"),
        ("[1][5]", "index out of bounds: 5"),
        ("1 + 'a'", "no such overload"),
        ("1 < 'a'", "no such overload"),
        ("unknown", "undeclared reference to 'unknown'"),
        ("9223372036854775807 + 1", "integer overflow"),
        ("1 ? 2 : 3", "no such overload"),
        ("(5).all(x, true)", "expected iterable type"),
    ],
)
def test_errors(text: str, message: str) -> None:
    """An expression without a value raises."""
    with pytest.raises(CelError, match=message):
        _value(text, self={})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1 / 0 == 1 || true", True),
        ("true || 1 / 0 == 1", True),
        ("1 / 0 == 1 && false", False),
        ("[0, 1].exists(x, 1 / x == 1)", True),
        ("[0, 2].all(x, 1 / x == 1)", False),
    ],
)
def test_logic_absorbs_errors(text: str, value: bool) -> None:
    """An error does not matter when the other side decides."""
    assert _value(text) is value


@pytest.mark.parametrize("text", ["frob(1)", "self.frob()", "self.all(1, true)", "has(self)", "[1].map(x)"])
def test_what_is_not_known_is_refused_when_compiled(text: str) -> None:
    """A function that is missing here is noticed before any object is."""
    with pytest.raises(CelSyntaxError):
        compile_rule(text)
