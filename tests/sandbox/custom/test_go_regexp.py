from __future__ import annotations

import pytest

from handloop.sandbox.custom import go_regexp


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "missing closing ): `(`"),
        ("[a", "missing closing ]: `[a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("\\q", "invalid escape sequence: `\\q`"),
        ("(a)\\1", "invalid escape sequence: `\\1`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_what_go_refuses(pattern: str, problem: str) -> None:
    """Mistakes, and what only other dialects have, are told in Go's words."""
    assert go_regexp.problem(pattern) == problem


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("^[[:alpha:]]+$", "ab", "a1"),
        ("^(?<first>a)b\\z", "ab", "abc"),
        ("^\\d+$", "12", "\u0661\u0662"),
        ("^a$", "a", "a\n"),
    ],
)
def test_what_go_means(pattern: str, fits: str, fits_not: str) -> None:
    """Its own notations are understood, classes are ASCII, the end is the very end."""
    assert go_regexp.problem(pattern) == ""
    assert go_regexp.compiled(pattern).search(fits)
    assert not go_regexp.compiled(pattern).search(fits_not)


def test_what_nobody_here_can_translate() -> None:
    """A pattern that Python does not have matches everything."""
    assert go_regexp.problem("^\\pL+$") == ""
    assert go_regexp.compiled("^\\pL+$").search("1")
