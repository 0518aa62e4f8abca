"""Waiting for something that tells nobody when it has come: look again and again, but not for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

PAUSE_SECONDS: Final = 0.02


def until(look: Callable[[], T], what: str, *, seconds: float) -> T:
    """
    Look until there is something (a true value).

    Returns: what was seen. Raises: AssertionError at the deadline.
    """
    ends_at = time.monotonic() + seconds
    pause = threading.Event()
    while not (seen := look()):
        assert time.monotonic() < ends_at, f"after {seconds:g} s still not {what}"
        pause.wait(PAUSE_SECONDS)
    return seen
