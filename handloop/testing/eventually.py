"""Waits, up to a deadline, for a state that no event announces, by checking repeatedly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PAUSE_SECONDS: Final = 0.02
SECONDS: Final = 20.0
"""A deadline for operations that take milliseconds, long enough even for a busy machine."""


def eventually(condition: Callable[[], T], what: str, *, seconds: float = SECONDS) -> T:
    """
    Call condition every 20 ms until it returns a true value.

    Args: what describes the awaited state, in words that follow "still not".
    Returns: the true value. Raises: AssertionError at the deadline; any error from condition.
    Blocks: until condition returns a true value, or the deadline has passed.
    """
    ends_at = time.monotonic() + seconds
    pause = threading.Event()
    while not (seen := condition()):
        assert time.monotonic() < ends_at, f"after {seconds:g} s still not {what}"
        pause.wait(PAUSE_SECONDS)
    return seen
