from __future__ import annotations

from typing import Final

import pytest

from handloop_sandbox.cel.call_cost import (
    MOST,
    Argument,
    Call,
    Estimate,
    Size,
    call_cost,
    plus,
    scaled,
    times,
)
from handloop_sandbox.cel.declarations import functions
from handloop_sandbox.cel.nodes import Literal
from handloop_sandbox.cel.types import STRING, list_of

_TEXT: Final[Size] = (0, 40)


def _text(size: Size) -> Argument:
    return Argument(Literal("x"), STRING, size, None)


@pytest.mark.parametrize(
    ("name", "sizes", "estimate"),
    [
        ("lowerAscii", [], Estimate(4, _TEXT)),
        ("contains", [(3, 3)], Estimate(4)),
        ("startsWith", [(25, 25)], Estimate(3)),
        ("matches", [(8, 8)], Estimate(10)),
        ("find", [(8, 8)], Estimate(10, _TEXT)),
        ("split", [(1, 1)], Estimate(8, _TEXT)),
        ("replace", [(0, 0), (2, 2)], Estimate(8, (2, 122))),
        ("replace", [(2, 2), (1, 1)], Estimate(8, (0, 40))),
        ("replace", [(2, 2), (5, 5)], Estimate(8, (0, 100))),
        ("charAt", [(1, 1)], Estimate(1)),
    ],
)
def test_calls_on_texts(name: str, sizes: list[Size], estimate: Estimate) -> None:
    """They cost by the length of the text and of the arguments."""
    overload = next(found for found in functions()[name] if found.is_method)
    assert call_cost(Call(name, overload, _text(_TEXT), [_text(size) for size in sizes])) == estimate


def test_calls_on_lists() -> None:
    """Sorting goes through all pairs, and what is new is a list."""
    texts = Argument(Literal(None), list_of(STRING), (0, 5), _TEXT)
    variant = functions()["sort"][0]
    assert call_cost(Call("sort", variant, texts, [])) == Estimate(61, (0, 25))
    assert call_cost(Call("max", variant, texts, [])) == Estimate(25)


def test_sizes_stay_within_64_bits() -> None:
    """Both the least and the most."""
    assert plus((1, MOST), (1, 1)) == (2, MOST)
    assert times((2, 2**40), (3, 2**40)) == (6, MOST)
    assert scaled((1, MOST), 10) == (10, MOST)
