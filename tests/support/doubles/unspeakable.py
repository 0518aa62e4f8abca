"""Errors of an author whose texts fail."""

from __future__ import annotations


class Unspeakable(Exception):  # noqa: N818 - a double
    """Neither its repr nor its str can be had."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    __str__ = __repr__


class UnspeakableExit(BaseException):
    """The same of what passes every `except Exception`."""

    def __repr__(self) -> str:
        raise RuntimeError("no words")

    __str__ = __repr__


UNSPEAKABLE: tuple[BaseException, ...] = (Unspeakable(), UnspeakableExit())
