"""
Waits until caches are filled.

Follows: client-go tools/cache/shared_informer.go @32ce75a7d. Differs: the wait polls, because a thread
cannot block on several caches and a stop event at once. Between two polls, progress can be logged.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Protocol

from handloop.seams.clock import REAL_CLOCK, Clock

LONGEST_POLL_SECONDS: Final = 0.1
_SHORTEST_SECONDS: Final = 0.005


class Progress(Protocol):
    """Reports progress while a thread waits."""

    def tick(self) -> None:
        """Report progress if it is time to do so."""

    def finished(self) -> None:
        """Report that the wait is over."""


def poll_seconds(waited_seconds: float) -> float:
    """Return the time until the next check: an eighth of the wait so far, so early checks are frequent."""
    return min(max(waited_seconds / 8, _SHORTEST_SECONDS), LONGEST_POLL_SECONDS)


def wait_for_cache_sync(
    stop: threading.Event,
    *has_synced: Callable[[], bool],
    clock: Clock = REAL_CLOCK,
    progress: Progress | None = None,
) -> bool:
    """
    Wait until all caches are synced.

    Returns: False if stop was set first.
    Blocks: until all are synced, or stop is set.
    """
    began_at = clock.now()
    while not all(check() for check in has_synced):
        if progress is not None:
            progress.tick()
        if clock.sleep(poll_seconds(clock.now() - began_at), stop):
            return False
    if progress is not None:
        progress.finished()
    return True
