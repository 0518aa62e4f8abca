"""Waiting for caches, not for ever, and saying what keeps them from being filled."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from handloop.controller.runtime.reconcile_errors import ReconcileError
from handloop.informers.sync import SYNC_POLL_SECONDS, Progress
from handloop.workqueue.clock import REAL_CLOCK, Clock

Troubles = Callable[[], Sequence[str]]
"""What still keeps caches from being filled, in words; empty once they are."""


class CacheSyncTimeoutError(ReconcileError):
    """Caches were not filled in time; troubles name the kinds and the last errors."""

    def __init__(self, waiting: str, seconds: float, troubles: Sequence[str]) -> None:
        text = "; ".join(troubles)
        super().__init__(f"{waiting}: timed out after {seconds:g}s waiting for caches to sync: {text}")
        self.troubles = tuple(troubles)


def wait_for_caches(
    waiting: str,
    troubles: Troubles,
    stop: threading.Event,
    *,
    timeout_seconds: float,
    progress: Progress | None = None,
    clock: Clock = REAL_CLOCK,
) -> bool:
    """
    Wait until there are no troubles.

    Args: waiting is who waits, for the error; timeout_seconds may be infinite.
    Returns: False when stop was set first.
    Raises: CacheSyncTimeoutError.
    Blocks: until then.
    """
    began_at = clock.now()
    while left := troubles():
        if progress is not None:
            progress.tick()
        if clock.now() - began_at >= timeout_seconds:
            raise CacheSyncTimeoutError(waiting, timeout_seconds, left)
        if clock.sleep(SYNC_POLL_SECONDS, stop):
            return False
    if progress is not None:
        progress.finished()
    return not stop.is_set()
