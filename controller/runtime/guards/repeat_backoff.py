"""
Slow down work that succeeds every time and is undone every time.

A workqueue does not slow down such loops, because it forgets its back-off on every success.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, NamedTuple

from handloop.controller.runtime.guards.name_table import NameTable
from handloop.controller.runtime.reconcile import ReconcileError
from handloop.informers.keys import ObjectName
from handloop.seams.clock import REAL_CLOCK, Clock

FIRST_SECONDS: Final = 10.0
MAX_SECONDS: Final = 300.0
QUIET_SECONDS: Final = 60.0


class HeldBackError(ReconcileError):
    """It is too early to repeat an action. It is retried. Fields: retry_seconds, until it may be repeated."""

    def __init__(self, why: str, seconds: float) -> None:
        super().__init__(f"{why}: held back for {seconds:.1f} s")
        self.retry_seconds = seconds


class _Done(NamedTuple):
    value: Hashable
    at: float
    wait_seconds: float


class RepeatBackoff:
    """
    Spaces out repetitions: the second comes 10 s after the first, the next ones after 20 s, 40 s, ... 300 s.

    A different value for the same name is not a repetition. After a quiet minute, the spacing starts over.
    State: _last, the last value brought about for a name. Threads: any, but one at a time per name.
    """

    def __init__(self, why: str, *, clock: Clock = REAL_CLOCK) -> None:
        """Args: why a repetition is held back, for the error."""
        self._why = why
        self._clock = clock
        self._last: NameTable[_Done] = NameTable()
        self.forget_names = self._last.forget_names

    def attempt(self, name: ObjectName, value: Hashable, do: Callable[[], bool]) -> bool:
        """
        Call do, unless it is too early to bring about that value again.

        Args: value includes the UID of an object that may be recreated; do returns whether it did anything.
        Returns: the result of do. Raises: HeldBackError; errors of do.
        """
        now, wait_seconds = self._clock.now(), FIRST_SECONDS
        # It is put back below, unless do fails. The effect is then unknown, so a retry is no repetition.
        last = self._last.pop(name)
        if last is not None and last.value == value:
            left = last.at + last.wait_seconds - now
            if left > 0:
                self._last.put(name, last)
                raise HeldBackError(self._why, left)
            # A retry can come up to twice as late as it should.
            if now - last.at < 2 * last.wait_seconds + QUIET_SECONDS:
                wait_seconds = min(2 * last.wait_seconds, MAX_SECONDS)
        done = do()
        if done:
            self._last.put(name, _Done(value, now, wait_seconds))
        return done
