"""Grades a reader's prediction. Unsure answers, and answers about something else, get no verdict."""

from __future__ import annotations

import re
from collections.abc import Collection
from math import isclose
from typing import Final, NamedTuple, TypeAlias

_NUMBER: Final = re.compile(r"(?P<grouped>[1-9]\d{0,2}(?:[, _']\d{3})+(?![\d,]))|(?P<plain>\d+(?:[.,]\d+)?)")
"""`1,000` and `1 000` are a thousand; `2,5` and `0,005` have a decimal comma."""
_UNITS: Final = {"ms": 0.001, "milliseconds": 0.001, "m": 60, "min": 60, "minutes": 60, "h": 3600}
_UNIT: Final = re.compile(r"\s*(ms|milliseconds|minutes|min|m|h|seconds?|secs?|s)(?![a-z])\s*")
_CLAUSE: Final = re.compile(r"[,;.:]|\b(?:and|but|while)\b")
_WORD: Final = re.compile(r"[\w']+")
_NAMES: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_AS_NUMBERS: Final = {"none": 0, "nothing": 0, "never": 0, **{w: n for n, w in enumerate(_NAMES)}}
_UNSURE: Final = re.compile(r"\b(no idea|know|dunno|sure|maybe)\b")
_DENIALS: Final = {"not", "no", "never", "nothing", "waits", "wait", "idle", "isn't", "doesn't"}
_RIGHT: Final = 0.05
_NEAR: Final = 1.5


class Words(NamedTuple):
    """
    The words of a right answer, and those of a wrong one.

    An answer that contains neither gets no verdict, because it is about something else.
    """

    right: Collection[str]
    wrong: Collection[str]


Truth: TypeAlias = float | Words
YES: Final = Words(("yes", "y", "yeah"), ("no", "n", "nope", "not", "never"))
NO: Final = Words(YES.wrong, YES.right)


def grade(said: str, truth: Truth) -> str:
    """
    Return a verdict, such as `you predicted 3: near.`, or "" for an answer that is empty, unsure, or about
    something else.
    """
    if _UNSURE.search(said.lower()):
        return ""
    verdict = _of_words(said.lower(), truth) if isinstance(truth, Words) else _of_number(said.lower(), truth)
    return f"you predicted {said!r}: {verdict}." if verdict else ""


def _of_words(said: str, truth: Words) -> str:
    clauses = [_WORD.findall(clause) for clause in _CLAUSE.split(said)]
    if truth in (YES, NO):
        # only the first word: "no, it waits"
        clauses = [words[:1] for words in clauses if words][:1]
    votes = {_vote(words, truth) for words in clauses} - {""}
    return votes.pop() if len(votes) == 1 else ""


def _vote(words: list[str], truth: Words) -> str:
    """
    Return whether a clause is right, or "" if it has words of neither kind or of both.

    A denial reverses the verdict: "bob waits", "not the store".
    """
    is_right, is_wrong = (any(word in list_ for word in words) for list_ in truth)
    if is_right == is_wrong:
        return ""
    denied = any(word in _DENIALS and word not in (*truth.right, *truth.wrong) for word in words)
    return "right" if is_right != denied else "not so"


def _of_number(said: str, truth: float) -> str:
    number = _number(said)
    if number is None:
        return ""
    if isclose(number, truth, rel_tol=_RIGHT):
        return "right"
    is_near = truth and 1 / _NEAR <= number / truth <= _NEAR
    return "near" if is_near else f"it is {truth:g}"


def _number(said: str) -> float | None:
    """Return an answer's first number, in digits or as a word; a time, such as `16m40s`, in seconds."""
    match = _NUMBER.search(said)
    if match is None:
        return next((float(_AS_NUMBERS[word]) for word in _WORD.findall(said) if word in _AS_NUMBERS), None)
    total = 0.0
    while match is not None:
        grouped = match["grouped"]
        number = float(re.sub(r"\D", "", grouped) if grouped else match["plain"].replace(",", "."))
        unit = _UNIT.match(said, match.end())
        total += number * (_UNITS.get(unit[1], 1) if unit else 1)
        match = _NUMBER.match(said, unit.end()) if unit else None
    return total
