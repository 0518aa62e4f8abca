from __future__ import annotations

import pytest

from handloop_sandbox.wire import go_regexp


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(", "missing closing ): `(`"),
        ("[a", "missing closing ]: `[a`"),
        ("a)", "unexpected ): `a)`"),
        ("*a", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("\\q", "invalid escape sequence: `\\q`"),
        ("\\Z", "invalid escape sequence: `\\Z`"),
        ("\\u00e9", "invalid escape sequence: `\\u`"),
        ("(a)\\1", "invalid escape sequence: `\\1`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("[b-a]", "invalid character class range: `b-a`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        ("\\pX", "invalid character class range: `\\pX`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?u)a", "invalid or unsupported Perl syntax: `(?u`"),
        ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
        ("(?>a)", "invalid or unsupported Perl syntax: `(?>`"),
        ("(?<a-b>x)", "invalid named capture: `(?<a-b>`"),
        ("(?<=a>b)", "invalid named capture: `(?<=a>`"),
        ("x(?<!a)", "invalid named capture: `(?<!a)`"),
    ],
)
def test_what_go_refuses(pattern: str, problem: str) -> None:
    """Mistakes, and syntax of other dialects, are reported in Go's words."""
    with pytest.raises(go_regexp.PatternError) as raised:
        go_regexp.check(pattern)
    assert str(raised.value) == f"error parsing regexp: {problem}"


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("^[[:alpha:]]+$", "ab", "a1"),
        ("^(?<first>a)b\\z", "ab", "abc"),
        ("^\\d+$", "12", "\u0661\u0662"),
        ("^\\w$", "a", "\u00e9"),
        ("^\\pL+$", "\u00e9a", "1"),
        ("^\\p{Greek}$", "\u03b1", "a"),
        ("^a$", "a", "a\n"),
        ("a$|b$", "xb", "b\n"),
        ("(?m)^b$", "a\nb", "ab"),
        ("(?i)^k$", "\u212a", "l"),
        ("(?U)^a+$", "aa", "b"),
        ("^\\Qa.b\\E$", "a.b", "axb"),
        ("^[a-z&&b]$", "&", "A"),
        ("^\\x{1F600}$", "\U0001f600", "x"),
        ("^{,2}$", "{,2}", ""),
    ],
)
def test_what_go_means(pattern: str, fits: str, fits_not: str) -> None:
    """Its own notations are understood, classes are ASCII, the end is the very end."""
    assert go_regexp.matches(pattern, fits)
    assert not go_regexp.matches(pattern, fits_not)


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("a+", "aabaaa", ["aa", "aaa"]),
        (".*", "ab", ["ab"]),
        ("$", "ab", [""]),
        ("a*", "baac", ["", "aa", ""]),
        ("", "ab", ["", "", ""]),
        ("\\b", "ab c", ["", "", "", ""]),
    ],
)
def test_everything_a_pattern_finds(pattern: str, text: str, found: list[str]) -> None:
    """Nothing empty is found where the last find ended, as in Go."""
    assert list(go_regexp.find_all(pattern, text)) == found


def test_no_pattern_needs_exponential_time() -> None:
    """Nested repetitions take a moment, where a backtracking engine would never end."""
    assert not go_regexp.matches("^(a+)+$", "a" * 60 + "!")
    assert not go_regexp.matches("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60)


def test_a_pattern_has_a_greatest_length() -> None:
    """Megabytes of groups are refused before RE2 sees them."""
    go_regexp.check("a" * 10_000)
    with pytest.raises(go_regexp.PatternError, match="expression too large"):
        go_regexp.check("(|" * 5_000 + ")" * 5_000)
