"""Which lines of an operator's code are come to."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from handloop_explore.branches import Branches, Line, first_of_each, lines_of


def code(value: int) -> str:
    if value:
        found = str(value)
        return found + "!"
    for _ in range(value):
        found = "never"
    return "no"


def taken(*values: int, known: set[Line] | None = None) -> set[int]:
    """The lines, from that of `def` on."""
    branches = Branches([code.__code__], known or set())
    branches.trace(begins=True)
    try:
        for value in values:
            code(value)
            abs(value)
    finally:
        branches.trace(begins=False)
    return {line.number - code.__code__.co_firstlineno for line in branches.lines}


@pytest.mark.skipif(sys.gettrace() is not None, reason="something else traces")
def test_lines_are_noted_while_it_is_traced() -> None:
    """Those of the code alone, and none that are known."""
    assert (taken(1), taken(0), taken(0, 1)) == ({1, 2, 3}, {1, 4, 6}, {1, 2, 3, 4, 6})
    assert sys.gettrace() is None
    assert taken(0, known=set(lines_of([code.__code__]))) == set()


@pytest.mark.skipif(sys.gettrace() is not None, reason="something else traces")
def test_a_debugger_is_let_alone() -> None:
    """It goes on tracing."""

    def trace(*_: object) -> None: ...

    tracer: Callable[..., None] = trace
    sys.settrace(tracer)
    try:
        assert taken(1) == set()
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(None)


def test_the_branches_that_no_run_takes_are_named() -> None:
    """By the first line of each."""
    lines = lines_of([code.__code__])
    assert [line.number - code.__code__.co_firstlineno for line in lines] == [1, 2, 3, 4, 5, 6]
    left = [lines[1], lines[2], lines[4]]
    assert first_of_each(left, lines) == [lines[1], lines[4]]
    assert str(lines[0]) == f"test_branches.py:{code.__code__.co_firstlineno + 1}"
