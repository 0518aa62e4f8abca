"""
How often the handlers of one informer get everything again.

An informer has one *check period*: how often it asks who is due. A handler's period is in effect a multiple
of it.
Follows: client-go tools/cache/shared_informer.go @32ce75a7d (AddEventHandlerWithOptions,
determineResyncPeriod).
"""

from __future__ import annotations

from typing import Final

import structlog

log = structlog.get_logger("informers")

MINIMUM_RESYNC_SECONDS: Final = 1.0


class ResyncPeriods:
    """
    The periods of one informer, in seconds; 0 = never.

    State: check_seconds, shortened by handlers until the informer starts. Locks: guarded by the informer's.
    """

    def __init__(self, default_seconds: float) -> None:
        self._default_seconds = default_seconds
        self.check_seconds = default_seconds

    def admit(self, requested: float | None, *, started: bool) -> float:
        """
        The period that a handler is taken to have asked for.

        A period under the check period shortens that, or, once the informer has started, is raised to it.

        Args: None = the informer's default.
        """
        seconds = self._default_seconds if requested is None else requested
        if seconds <= 0:
            return 0
        if seconds < MINIMUM_RESYNC_SECONDS:
            log.warning(
                "Resync period is too small and was raised", period=seconds, raised=MINIMUM_RESYNC_SECONDS
            )
            seconds = MINIMUM_RESYNC_SECONDS
        if seconds >= self.check_seconds:
            return seconds
        if started:
            log.warning(
                "Resync period is smaller than the check period of a started informer and was raised",
                period=seconds,
                raised=self.check_seconds,
            )
        else:
            self.check_seconds = seconds
        return self.check_seconds

    def effective(self, admitted: float) -> float:
        """The period at which a handler gets its resyncs."""
        if admitted <= 0:
            return 0
        if self.check_seconds == 0:
            log.warning("The informer does not resync, and so no handler of it", period=admitted)
            return 0
        return max(admitted, self.check_seconds)
