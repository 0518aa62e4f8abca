"""Waits for the effects of other threads."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

LONGEST_SECONDS: Final = 20.0
_POLL_SECONDS: Final = 0.002


class NothingHappenedError(Exception):
    """A chapter waited too long. Either the chapter has a bug, or the machine is very slow."""


def until(holds: Callable[[], object], what: str, *, seconds: float = LONGEST_SECONDS) -> None:
    """
    Wait until holds() is true.

    Blocks: until then. Raises: NothingHappenedError if holds() is not true within `seconds`.
    """
    give_up_at = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > give_up_at:
            raise NothingHappenedError(f"waited {seconds:g} s for {what}")
        time.sleep(_POLL_SECONDS)
