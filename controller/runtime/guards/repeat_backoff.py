"""
Slow down an action that succeeds every time and is undone every time.

A workqueue does not slow down this kind of loop, because every success resets its back-off.
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
    """
    An action is held back, because it would be repeated too early.

    The action is retried. Fields: retry_seconds, the time until the retry.
    """

    def __init__(self, why: str, seconds: float) -> None:
        super().__init__(f"{why}: held back for {seconds:.1f} s")
        self.retry_seconds = seconds


class _Done(NamedTuple):
    value: Hashable
    at: float
    wait_seconds: float


class RepeatBackoff:
    """
    Spaces out the repetitions of an action: they are 10 s, then 20 s, 40 s, ... up to 300 s apart.

    An action with a different value for the same name is not a repetition. After a minute without a
    repetition, the spacing starts again at 10 s.
    State: _last, the last value of each name. Threads: any thread, but only one per name at a time.
    """

    def __init__(self, why: str, *, clock: Clock = REAL_CLOCK) -> None:
        """Args: why is the reason that the error gives for holding back a repetition."""
        self._why = why
        self._clock = clock
        self._last: NameTable[_Done] = NameTable()
        self.forget_names = self._last.forget_names

    def attempt(self, name: ObjectName, value: Hashable, do: Callable[[], bool]) -> bool:
        """
        Call do, unless it is too early to repeat it with that value.

        Args: value identifies the action, and includes the object's UID if the object can be recreated. do
        returns whether it changed anything.
        Returns: the result of do. Raises: HeldBackError if it is too early; any error that do raises.
        """
        now, wait_seconds = self._clock.now(), FIRST_SECONDS
        # If do fails, the entry stays removed: the effect is unknown, so a retry is not a repetition.
        last = self._last.pop(name)
        if last is not None and last.value == value:
            left = last.at + last.wait_seconds - now
            if left > 0:
                self._last.put(name, last)
                raise HeldBackError(self._why, left)
            # Allow for a retry that arrives late, after up to twice its wait.
            if now - last.at < 2 * last.wait_seconds + QUIET_SECONDS:
                wait_seconds = min(2 * last.wait_seconds, MAX_SECONDS)
        done = do()
        if done:
            self._last.put(name, _Done(value, now, wait_seconds))
        return done
