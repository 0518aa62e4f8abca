"""How near a reader's prediction came. No answer is scolded, and one about something else is passed over."""

from __future__ import annotations

import re
from collections.abc import Collection
from math import isclose
from typing import Final, NamedTuple, TypeAlias

_NUMBER: Final = re.compile(r"(\d+(?:[.,]\d+)?)\s*(ms\b)?")
_WORD: Final = re.compile(r"\w+")
_NAMES: Final = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_AS_NUMBERS: Final = {"none": 0, "nothing": 0, "never": 0, **{w: n for n, w in enumerate(_NAMES)}}
_UNSURE: Final = re.compile(r"\b(no idea|know|dunno|sure|maybe)\b")
_RIGHT: Final = 0.05
_NEAR: Final = 1.5


class Words(NamedTuple):
    """The words of a right answer, and those of a wrong one. Without either it is about something else."""

    right: Collection[str]
    wrong: Collection[str]


Truth: TypeAlias = float | Words
YES: Final = Words(("yes", "y", "yeah"), ("no", "n", "nope", "not", "never"))
NO: Final = Words(YES.wrong, YES.right)


def grade(said: str, truth: Truth) -> str:
    """`you predicted 3: near.`; "" for an answer that is empty, unsure, or about something else."""
    if _UNSURE.search(said.lower()):
        return ""
    verdict = _of_words(said, truth) if isinstance(truth, Words) else _of_number(said, truth)
    return f"you predicted {said!r}: {verdict}." if verdict else ""


def _of_words(said: str, truth: Words) -> str:
    words = _WORD.findall(said.lower())
    # "no, it waits", but also "the FIFO, not the store", which may be either
    if truth in (YES, NO):
        words = words[:1]
    is_right, is_wrong = (any(word in list_ for word in words) for list_ in truth)
    return "" if is_right == is_wrong else "right" if is_right else "it is otherwise"


def _of_number(said: str, truth: float) -> str:
    number = _number(said.lower())
    if number is None:
        return ""
    if isclose(number, truth, rel_tol=_RIGHT):
        return "right"
    is_near = truth and 1 / _NEAR <= number / truth <= _NEAR
    return "near" if is_near else f"it is {truth:g}"


def _number(said: str) -> float | None:
    """The first number in an answer, written with digits or as a word; milliseconds as seconds."""
    if match := _NUMBER.search(said):
        return float(match[1].replace(",", ".")) * (0.001 if match[2] else 1)
    return next((float(_AS_NUMBERS[word]) for word in _WORD.findall(said) if word in _AS_NUMBERS), None)
