"""
Tells those who wait for a server that is gone that it answers again, whoever has noticed.

Each of several waiters backs off by itself, up to half a minute. The first request that is answered, of
whatever kind, is the end of the outage for all of them.
"""

from __future__ import annotations

import threading

from handloop.workqueue.locks import new_condition
from handloop.workqueue.seams import REAL_CLOCK, Clock


class Reachability:
    """
    Whether one server answers.

    State, under _changed: _lost = the newest request had no answer; _returns = how often it came back.
    Threads: any.
    """

    def __init__(self, *, clock: Clock = REAL_CLOCK) -> None:
        self._clock = clock
        self._changed = new_condition("Reachability._changed", 97)
        self._lost = False
        self._returns = 0

    def lost(self) -> None:
        """A request had no answer."""
        with self._changed:
            self._lost = True

    def answered(self) -> None:
        """A request had an answer."""
        with self._changed:
            if self._lost:
                self._lost = False
                self._returns += 1
                self._changed.notify_all()

    def wait_for_return(self, seconds: float, stop: threading.Event) -> bool:
        """
        Wait for the next return of the server.

        Returns: False when the time has passed or stop is set.
        Blocks: until then; whoever sets stop calls wake().
        """
        give_up_at = self._clock.now() + seconds
        with self._changed:
            returns = self._returns
            while self._returns == returns and not stop.is_set():
                if not self._clock.wait_until(self._changed, give_up_at):
                    return False
            return not stop.is_set()

    def wake(self) -> None:
        """Let waiters look at their stop events."""
        with self._changed:
            self._changed.notify_all()
