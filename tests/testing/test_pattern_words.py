"""Words for a regular expression."""

from __future__ import annotations

import re

import pytest

from handloop.testing.pattern_words import pattern_words


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "^[a-z]+$",
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*\Z",
        r"^(?:\d{1,3}\.){3}\d{1,3}(/\d+)?\Z",
        r"^[^@\s]+@\w+\.\w{2,}\Z",
        r"^(a|bc|[0-9.])+?x{2}\Z",
        r"^.\D\S\W[^x][^\d]\Z",
        r"^(?i:ab)(?P<n>c)*\Z",
        r"^sha256:[0-9a-f]{64}\Z",
        r"^\^\\\[\Z",
    ],
)
def test_they_match(pattern: str) -> None:
    """The shortest come first, and the same come each time."""
    words = pattern_words(pattern)
    assert words == pattern_words(pattern)
    assert words == sorted(words, key=len)
    assert words
    assert all(re.search(pattern, word) for word in words)


def test_the_end_of_go_is_that_of_python() -> None:
    """A definition has it in Go's spelling."""
    assert pattern_words(r"^a+\z")[0] == "a"


@pytest.mark.parametrize("pattern", ["(", r"^(?=b)a\Z", r"\pL", r"^(?!)"])
def test_where_none_is_found_there_is_none(pattern: str) -> None:
    """One that is broken, or Go's alone, and one that nothing matches."""
    assert pattern_words(pattern) == []
