from __future__ import annotations

import pytest

from handloop_sandbox.cel.nodes import (
    Call,
    Index,
    ListNode,
    Literal,
    MapNode,
    Name,
    Select,
    unescape_member,
)
from handloop_sandbox.cel.syntax import parse
from handloop_sandbox.cel.tokens import CelSyntaxError


def test_precedence() -> None:
    """Operators bind as in the language: products before sums before comparisons before logic."""
    a, b, c = Name("a"), Name("b"), Name("c")
    assert parse("a + b * c") == Call("+", (a, Call("*", (b, c))))
    assert parse("a < b && b < c || c") == Call("||", (Call("&&", (Call("<", (a, b)), Call("<", (b, c)))), c))
    assert parse("a ? b : c ? a : b") == Call("?:", (a, b, Call("?:", (c, a, b))))
    assert parse("!a.b") == Call("!", (Select(a, "b"),))
    assert parse("-(a)") == Call("negate", (a,))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("0x1F", 31),
        ("2u", 2),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("'a\\n\\'b'", "a\n'b"),
        ('"\\u00e9\\x41"', "éA"),
        (r"r'\d+'", r"\d+"),
        ("'''a'b'''", "a'b"),
        ("true", True),
        ("null", None),
    ],
)
def test_literals(text: str, value: object) -> None:
    """Numbers, texts and constants are read."""
    assert parse(text) == Literal(value)


def test_members_and_calls() -> None:
    """Selections, indices, optional access, lists and maps nest."""
    assert parse("a.b.c(1)[0]") == Index(Call("c", (Literal(1),), Select(Name("a"), "b")), Literal(0))
    assert parse("a.?b") == Select(Name("a"), "b", optional=True)
    assert parse("a[?0]") == Index(Name("a"), Literal(0), optional=True)
    assert parse("[1, 2,]") == ListNode((Literal(1), Literal(2)))
    assert parse("{'a': 1}") == MapNode(((Literal("a"), Literal(1)),))
    assert parse("a // comment\n in b") == Call("in", (Name("a"), Name("b")))


@pytest.mark.parametrize("text", ["", "a +", "a b", "(a", "a.1", "#", "f(", "{a}", "'open"])
def test_what_is_no_expression(text: str) -> None:
    """A text that does not parse raises."""
    with pytest.raises(CelSyntaxError):
        parse(text)


def test_escaped_members() -> None:
    """Names that no identifier may be are written escaped."""
    assert unescape_member("__namespace__") == "namespace"
    assert unescape_member("a__dash__b__dot__c__slash__d") == "a-b.c/d"
    assert unescape_member("a__underscores__b") == "a__b"
    assert parse("self.a__dash__b") == Select(Name("self"), "a-b")
