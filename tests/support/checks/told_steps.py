"""The steps that the process's trace tells."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from handloop.seams.step_trace import TRACE

NO = "ValueError: invalid literal for int() with base 10: 'no'"
"""The error of `int("no")`, as a step tells it."""

Told = list[tuple[int, str, str, dict[str, Any]]]
"""(step, component, key, facts) of each."""


@contextmanager
def told_steps() -> Iterator[Told]:
    """The steps that are told for as long as the block lasts."""
    steps: Told = []
    TRACE.start(lambda *step: steps.append(step))
    try:
        yield steps
    finally:
        TRACE.stop()
