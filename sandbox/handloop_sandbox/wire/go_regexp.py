"""
Go's regular expressions, implemented with RE2, which has the same syntax and also runs in linear time.

A pattern that Go rejects raises PatternError with Go's message.
Follows: regexp/syntax (parse.go), Regexp.FindAllString.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

_LONGEST: Final = 10_000
"""The maximum length of a pattern. Above it, RE2's time and memory can grow faster than the length."""

_WORDS: Final = {
    "missing ]": "missing closing ]",
    "missing )": "missing closing )",
    "trailing \\": "trailing backslash at end of expression",
    "no argument for repetition operator": "missing argument to repetition operator",
    "invalid repetition size": "invalid repeat count",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "pattern too large - compile failed": "expression too large",
}
"""RE2's error messages that differ from Go's, with Go's messages."""


class PatternError(ValueError):
    """A string is not a valid regular expression. The message is Go's."""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    """Compile a pattern without captures, which are not used and which can take quadratic time."""
    import re2  # noqa: PLC0415 - no wheel for free-threaded Python; most kinds have no patterns

    if len(pattern) > _LONGEST:
        raise PatternError("error parsing regexp: expression too large: ``")
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        raise PatternError(f"error parsing regexp: {_told(error.args[0].decode(), pattern)}") from error


def check(pattern: str) -> None:
    """Check a pattern. Raises: PatternError if it is not valid in Go."""
    _compiled(pattern)


def matches(pattern: str, text: str) -> bool:
    """Return whether any part of a string matches a pattern. Raises: PatternError if it is not valid."""
    return _compiled(pattern).search(text) is not None


def find_all(pattern: str, text: str) -> Iterator[str]:
    """
    Yield the matches in a string, except empty ones directly after another match.

    Raises: PatternError if the pattern is not valid.
    """
    end = -1
    for found in _compiled(pattern).finditer(text):
        if found.group() or found.start() != end:
            end = found.end()
            yield found.group()


def _told(complaint: str, pattern: str) -> str:
    """Translate RE2's error message into Go's, with the offending part of the pattern in backquotes."""
    words, _, place = complaint.partition(": ")
    if place in ("(?<=", "(?<!"):  # in Go, this starts a group name
        rest = pattern[pattern.index(place) :]
        return f"invalid named capture: `{rest[: rest.find('>') + 1] or rest}`"
    return f"{_WORDS.get(words, words)}: `{place}`"
