from __future__ import annotations

import pytest

from handloop_sandbox.cel.tokens import (
    CelSyntaxError,
    Problem,
    Token,
    Uint,
    number_of,
    string_of,
    tokens_of,
    told,
)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a # b", [(2, "#")]),
        ("a = b", [(2, "= ")]),
        ("'abc", [(0, "'abc")]),
        ("'a\\q'", [(0, "'a\\q"), (4, "'")]),
        ("a ^", [(2, "^")]),
    ],
)
def test_what_is_no_word(text: str, wrong: list[tuple[int, str]]) -> None:
    """It is told of, as far as it was read, and skipped."""
    problems: list[Problem] = []
    tokens_of(text, problems)
    said = [Problem(at, f"Syntax error: token recognition error at: '{part}'") for at, part in wrong]
    assert problems == said


def test_words_know_their_offsets() -> None:
    """Spaces and comments are none."""
    assert tokens_of("a >= 1u // x", []) == [
        Token("name", "a", 0),
        Token("symbol", ">=", 2),
        Token("int", "1u", 5),
        Token("end", "<EOF>", 12),
    ]


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("'a\\n\\x41\\u00e9\\101'", "a\nA\u00e9A"),
        ("r'\\n'", "\\n"),
        ('"""a"b"""', 'a"b'),
        ("b'\\xff\u00e9'", b"\xff\xc3\xa9"),
        ("b'\\101'", b"A"),
        ("rb'x'"[1:], b"x"),
    ],
)
def test_strings(token: str, value: object) -> None:
    """Their escapes are read, those of bytes as bytes."""
    assert string_of(token) == value


def test_bytes_are_not_written_as_characters() -> None:
    """Characters have escapes of their own."""
    with pytest.raises(ValueError, match="u00e9"):
        string_of("b'\\u00e9'")


def test_numbers() -> None:
    """They have 64 bits."""
    assert number_of("0xff") == 255
    assert number_of("-9223372036854775808") == -(2**63)
    assert isinstance(number_of("1u"), Uint)
    for text in ("9223372036854775808", "18446744073709551616u"):
        with pytest.raises(ValueError, match=text):
            number_of(text)


def test_problems_are_shown_in_order_with_their_lines() -> None:
    """A mark is as wide as the characters above it."""
    problems = CelSyntaxError(Problem(5, "second"), Problem(2, "first")).problems
    assert told("\u00e9\n\tab", problems) == (
        "ERROR: <input>:2:1: first\n |  ab\n | ^\nERROR: <input>:2:4: second\n |  ab\n | ...^"
    )
    assert told("\u00e9 b", [Problem(2, "x")]).endswith(" | \uff0e.^")
