"""
How long a watch that a server ends with internal errors is simply opened again, without a new list.

Follows: client-go tools/cache/retry_with_deadline.go @32ce75a7d.
"""

from __future__ import annotations

from typing import Final

from handloop.client.errors import InternalError
from handloop.workqueue.clock import Clock

_MIN_RESET_SECONDS: Final = 60.0


class RetryWithDeadline:
    """
    A window that the first internal error opens; within it the watch may be retried.

    State: _first_at opens the window, _last_at is the newest internal error; both None while there is no
           window. A gap of a minute between two internal errors opens a new window. A window of 0 s never
           allows anything.
    Threads: the reflector's only.
    """

    def __init__(self, max_seconds: float, *, clock: Clock) -> None:
        self._max_seconds = max_seconds
        self._clock = clock
        self._first_at: float | None = None
        self._last_at: float | None = None

    def should_retry(self, error: Exception) -> bool:
        """Whether error is an internal error within the window; other errors neither open nor close it."""
        if self._max_seconds <= 0 or not isinstance(error, InternalError):
            return False
        now = self._clock.now()
        if self._first_at is None or self._last_at is None or now - self._last_at >= _MIN_RESET_SECONDS:
            self._first_at = now
        self._last_at = now
        if now - self._first_at <= self._max_seconds:
            return True
        self._first_at = self._last_at = None
        return False
