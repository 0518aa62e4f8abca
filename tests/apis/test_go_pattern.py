"""Patterns with one meaning in Python and in Go, whose dialect RE2 has, too."""

from __future__ import annotations

import random
import re

import pytest
import re2

from handloop.apis.go_pattern import go_pattern

PARTS = [
    *("a", "B", "0", "_", " ", "-", "é", "\n", ".", "^", "]", "}", "{", "|"),
    *(r"\.", r"\-", r"\_", r"\t", r"\x41", r"\Z", r"\A", r"\d", r"\b", r"\W"),
    *("[a-c]", "[^a]", "[]a]", "[^]a]", r"[\]\-]", r"[a\n]", "[-a]", r"[\w-]"),
    *("(a|b)", "(?:ab)?", "a*", "a+?", "a{2}", "a{1,}", "a{0,2}?"),
]
TEXTS = [
    *("", "a", "b", "ab", "a\n", "\n", "A", "_", "]", "-", "é", "0", "\u0663"),
    *("aa", "aaa b", "a{", " \t.", "}"),
]


def test_what_is_taken_matches_the_same_texts() -> None:
    """Random patterns of all parts, on texts with newlines and letters beyond ASCII."""
    choose = random.Random(1)
    matched = 0
    for _ in range(800):
        pattern = "(?a)" + "".join(choose.choices(PARTS, k=choose.randint(1, 4)))
        spelled = re2.compile(go_pattern(pattern))
        for text in TEXTS:
            found = re.search(pattern, text) is not None
            assert found == (spelled.search(text) is not None), (pattern, text)
            matched += found
    assert 1000 < matched < 800 * len(TEXTS) - 1000


def test_the_ends_are_those_of_the_text() -> None:
    r"""`\Z` is Go's `$`; a leading (?a) is for Python alone."""
    assert go_pattern(r"^[a-z]+\Z") == "^[a-z]+$"
    assert go_pattern(r"(?a)^(?P<digit>\d)\Z") == r"^(?P<digit>\d)$"


@pytest.mark.parametrize(
    ("pattern", "unlike", "way_out"),
    [
        ("^a$", "$", r"write \Z"),
        (r"\d", r"\d", "(?a)"),
        (r"[\w]", r"\w", "(?a)"),
        (r"(?a)[\b]", r"\b", "write a set"),
        (r"(?a)\s", r"\s", "write a set"),
        (r"[\s]", r"\s", "write a set"),
        (r"\S+", r"\S", r"[^ \t]"),
        (r"[\Z]", r"\Z", "leave it out"),
        ("(?i)a", "(?i", "leave it out"),
        ("a(?=b)", "(?=", "leave it out"),
        (r"(a)\1", r"\1", "leave it out"),
        ("a++", "++", "leave it out"),
        ("a{,3}", "{,3", "leave it out"),
        ("a{2000}", "{2000}", "leave it out"),
        ("[[:alpha:]]", "[:", "leave it out"),
        (r"\u00e9", r"\u", "leave it out"),
    ],
)
def test_what_differs_is_refused(pattern: str, unlike: str, way_out: str) -> None:
    """With what it is, and what to write."""
    with pytest.raises(ValueError, match=re.escape(way_out)) as error:
        go_pattern(pattern)
    assert str(error.value).startswith(unlike)
