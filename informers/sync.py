"""
Waiting until caches are filled.

Follows: client-go tools/cache/shared_informer.go @32ce75a7d. Differs: a wait polls ten times a second, as a
thread cannot wait for two things at once; so it can write a progress line meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final, Protocol

from handloop.seams.clock import REAL_CLOCK, Clock

SYNC_POLL_SECONDS: Final = 0.1


class Progress(Protocol):
    """Called now and then while a thread waits."""

    def tick(self) -> None:
        """Say something if it is time to."""

    def finished(self) -> None:
        """The wait is over."""


def wait_for_cache_sync(
    stop: threading.Event,
    *has_synced: Callable[[], bool],
    clock: Clock = REAL_CLOCK,
    progress: Progress | None = None,
) -> bool:
    """
    Wait until all are synced.

    Returns: False when stop was set first.
    Blocks: until then.
    """
    while not all(check() for check in has_synced):
        if progress is not None:
            progress.tick()
        if clock.sleep(SYNC_POLL_SECONDS, stop):
            return False
    if progress is not None:
        progress.finished()
    return True
