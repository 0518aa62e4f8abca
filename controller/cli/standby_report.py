"""A standby says whom it waits for, so that nobody takes it for stuck."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from handloop.controller.cli.election_problems import standby
from handloop.controller.cli.problems import Problem
from handloop.controller.runtime.election.candidacy import ElectionStatistics
from handloop.workqueue.clock import Clock

INTERVAL_SECONDS: Final = 60.0


class StandbyReport:
    """
    Says E11 at the first try in vain, when the holder changes, and every minute.

    State: _said_at, _holder: of the elector's thread alone, which calls it.
    """

    def __init__(self, say: Callable[[Problem], object], clock: Clock) -> None:
        self._say = say
        self._clock = clock
        self._said_at: float | None = None
        self._holder = ""

    def __call__(self, seen: ElectionStatistics) -> None:
        """A try to lead was in vain."""
        now = self._clock.now()
        recently = self._said_at is not None and now - self._said_at < INTERVAL_SECONDS
        if recently and seen.holder == self._holder:
            return
        self._said_at, self._holder = now, seen.holder
        self._say(standby(seen))
