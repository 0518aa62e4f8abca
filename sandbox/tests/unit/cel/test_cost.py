from __future__ import annotations

import pytest

from handloop_sandbox.cel.check import check
from handloop_sandbox.cel.cost import cost_of
from handloop_sandbox.cel.declared import declared

_SCHEMA = {
    "type": "object",
    "properties": {
        "i": {"type": "integer"},
        "s": {"type": "string", "maxLength": 10},
        "u": {"type": "string"},
        "l": {"type": "array", "maxItems": 5, "items": {"type": "string", "maxLength": 10}},
    },
}


def _cost(text: str) -> int:
    root = declared(_SCHEMA)
    assert root is not None
    return cost_of(check(text, {"self": root.kind}, root.all_fields()), root)


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ("true", 0),
        ("self.i", 2),
        ("has(self.s)", 1),
        ("self.i > 3 && self.i < 5", 6),
        ("self.s == 'a'", 3),
        ("self.s == self.u", 8),
        ("self.s.contains(self.s)", 20),
        ("self.l.all(x, true)", 18),
        ("self.l.all(x, x == self.s)", 53),
        ("self.l.all(x, self.l.all(y, x == y))", 258),
        ("[self.i].map(x, x)", 36),
        ("true ? self.i : 3", 2),
    ],
)
def test_costs(text: str, cost: int) -> None:
    """The most that the expression may cost on a value of the schema."""
    assert _cost(text) == cost


def test_costs_are_64_bits() -> None:
    """What has no bound is as dear as anything."""
    assert _cost("self.u.split('').map(x, self.u).join('').split('').all(x, x == self.u)") == 2**64 - 1
