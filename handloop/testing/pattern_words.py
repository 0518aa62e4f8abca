"""Finds short strings that a regular expression matches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any, Final

# Python has no public module that parses an expression
_re: Any = re
_parser, op = _re._parser, _re._constants  # noqa: SLF001
_TRIES: Final = 60
_FEW: Final = 9
_MORE: Final = 3
"""How many times a part can be repeated beyond its minimum."""
_ANY: Final = "ab0-_ A.:/é"
_OF_CATEGORY: Final = {
    op.CATEGORY_DIGIT: "019",
    op.CATEGORY_NOT_DIGIT: "a-",
    op.CATEGORY_SPACE: " ",
    op.CATEGORY_NOT_SPACE: "a0-",
    op.CATEGORY_WORD: "aZ0_",
    op.CATEGORY_NOT_WORD: "- ",
}


def pattern_words(pattern: str) -> list[str]:
    """
    Return strings that a regular expression matches, shortest first.

    The same expression always gives the same strings. The result is [] if none is found, or if Python cannot
    parse the expression.
    """
    random = Random(pattern)
    pattern = pattern.replace(r"\z", r"\Z")
    try:
        made = _parser.parse(pattern)
        expression = re.compile(pattern)
    except re.error:
        return []
    words = {"".join(_texts(made, random, attempt % _MORE)) for attempt in range(_TRIES)}
    fitting = sorted((word for word in words if expression.search(word)), key=lambda word: (len(word), word))
    return fitting[:_FEW]


def _texts(parts: Any, random: Random, more: int) -> Iterator[str]:
    for what, of in parts:
        yield _text(what, of, random, more)


def _text(what: Any, of: Any, random: Random, more: int) -> str:
    match str(what):
        case "LITERAL":
            return chr(of)
        case "NOT_LITERAL" | "ANY" | "IN":
            return random.choice(_characters(what, of) or [""])
        case "BRANCH":
            inner, times = random.choice(of[1]), 1
        case "SUBPATTERN":
            inner, times = of[3], 1
        case "MAX_REPEAT" | "MIN_REPEAT" | "POSSESSIVE_REPEAT":
            inner, times = of[2], random.randint(of[0], min(of[1], of[0] + more))
        case _:  # a position or a condition: it is checked on the whole word later
            inner, times = (), 0
    return "".join("".join(_texts(inner, random, more)) for _ in range(times))


def _characters(what: Any, of: Any) -> list[str]:
    if what is op.IN:
        return _members(of)
    return [each for each in _ANY if what is op.ANY or each != chr(of)]


def _members(of: Any) -> list[str]:
    """Return some members of a character class."""
    found, is_negated = [], False
    for what, value in of:
        if what is op.NEGATE:
            is_negated = True
        elif what is op.LITERAL:
            found.append(chr(value))
        elif what is op.RANGE:
            found += [chr(value[0]), chr(value[1]), chr((value[0] + value[1]) // 2)]
        elif what is op.CATEGORY:
            found += _OF_CATEGORY.get(value, "")
    return [each for each in _ANY if each not in found] if is_negated else found
