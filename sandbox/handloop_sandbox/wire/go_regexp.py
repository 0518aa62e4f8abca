"""
Go's regular expressions, implemented with RE2, which has the same syntax and also takes linear time.

Patterns that Go refuses are refused with Go's message.
Follows: regexp/syntax (parse.go), Regexp.FindAllString.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

_LONGEST: Final = 10_000
"""For longer patterns, RE2's time and memory can grow faster than the pattern."""

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
"""RE2's complaints for which Go has different words, and these words."""


class PatternError(ValueError):
    """A string is not a regular expression; the message is Go's."""


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    """Return a compiled pattern without captures, which nobody reads and which can take quadratic time."""
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
    """Check that Go accepts a pattern. Raises: PatternError."""
    _compiled(pattern)


def matches(pattern: str, text: str) -> bool:
    """Return whether a pattern is found in a text. Raises: PatternError."""
    return _compiled(pattern).search(text) is not None


def find_all(pattern: str, text: str) -> Iterator[str]:
    """Yield the matches in a string, except empty ones directly after another match. Raises: PatternError."""
    end = -1
    for found in _compiled(pattern).finditer(text):
        if found.group() or found.start() != end:
            end = found.end()
            yield found.group()


def _told(complaint: str, pattern: str) -> str:
    """Return RE2's complaint in Go's words, with the place in backquotes."""
    words, _, place = complaint.partition(": ")
    if place in ("(?<=", "(?<!"):  # to Go, this starts a group name
        rest = pattern[pattern.index(place) :]
        return f"invalid named capture: `{rest[: rest.find('>') + 1] or rest}`"
    return f"{_WORDS.get(words, words)}: `{place}`"
