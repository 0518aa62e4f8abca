from __future__ import annotations

import pytest

from handloop_sandbox.cel.macros import expand
from handloop_sandbox.cel.nodes import Comprehension, Name, Select, walk
from handloop_sandbox.cel.syntax import parse
from handloop_sandbox.cel.tokens import CelSyntaxError, Problem


def test_macros_become_loops() -> None:
    """Also within each other; the names of the loop are those of the macro."""
    loops = [
        node.names
        for node in walk(expand(parse("a.all(x, x.exists(i, v, v.map(y, y) == b))")))
        if isinstance(node, Comprehension)
    ]
    assert loops == [("x",), ("i", "v"), ("y",)]


def test_has_is_a_test() -> None:
    """At the place of its bracket."""
    found = expand(parse("has(a.b)"))
    assert found == Select(Name("a"), "b", is_test=True)
    assert isinstance(found, Select)
    assert found.at == 3


@pytest.mark.parametrize("text", ["a.map(x)", "a.existsOne(x, x)", "has(a, b)", "all(a, b)"])
def test_other_calls_stay(text: str) -> None:
    """A call with other arguments is that of a function."""
    assert expand(parse(text)) == parse(text)


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("has(a)", [(4, "invalid argument to has() macro")]),
        ("a.all(1, b) || a.map(x.y, b)", [(6, "argument must be a simple name")]),
        ("a.map(1, b)", [(6, "argument is not an identifier")]),
        ("a.all(x, x, b)", [(9, "duplicate variable name: x")]),
        ("a.optMap(1, b)", [(9, "optMap() variable name must be a simple identifier")]),
        ("a.all(__result__, b)", [(6, "iteration variable overwrites accumulator variable")]),
    ],
)
def test_wrong_macros(text: str, problems: list[tuple[int, str]]) -> None:
    """The offset is that of the argument."""
    with pytest.raises(CelSyntaxError) as caught:
        expand(parse(text))
    assert list(caught.value.problems[: len(problems)]) == [Problem(*problem) for problem in problems]
