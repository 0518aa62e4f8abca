"""
Logs the progress of a long first sync, so that a wait is never silent.

    waiting for caches: deployments 3 500 objects (page 7), foos ✓ 12 — 20s

The thread that waits calls tick. This module starts no threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from handloop.informers.informer_statistics import InformerStatistics
from handloop.informers.reflector import ReflectorStatistics, State
from handloop.seams.clock import REAL_CLOCK, Clock
from handloop.seams.logs import get_logger

log = get_logger("informers")

INTERVAL_SECONDS: Final = 10.0
TTY_INTERVAL_SECONDS: Final = 2.0
WARN_SECONDS: Final = 300.0
# After this time without events, the log says for how long a stream has been silent.
_SILENT_SECONDS: Final = 10.0


class Observed(Protocol):
    """An object with statistics, such as an informer."""

    def statistics(self) -> InformerStatistics:
        """Return a snapshot."""


class SyncProgress:
    """
    Logs each cache's progress every interval_seconds.

    Every five minutes, the line is a warning, and also contains the last errors.
    State: _next_at and _warn_at are values of Clock.now(). _said is whether a line was logged.
    Threads: used by the thread that waits.
    """

    def __init__(
        self,
        informers: Sequence[Observed],
        *,
        interval_seconds: float = INTERVAL_SECONDS,
        clock: Clock = REAL_CLOCK,
    ) -> None:
        self._informers = informers
        self._interval_seconds = interval_seconds
        self._clock = clock
        self._began_at = clock.now()
        self._next_at = self._began_at + interval_seconds
        self._warn_at = self._began_at + WARN_SECONDS
        self._said = False

    def tick(self) -> None:
        """Log a line if one is due."""
        now = self._clock.now()
        if now < self._next_at:
            return
        self._next_at = now + self._interval_seconds
        self._said = True
        statistics = [informer.statistics() for informer in self._informers]
        line = f"waiting for caches: {self._describe(statistics)}"
        if now < self._warn_at:
            log.info(line)
            return
        self._warn_at = now + WARN_SECONDS
        errors = {
            s.name: s.reflector.last_error
            for s in statistics
            if s.reflector is not None and s.reflector.last_error
        }
        log.warning(line, lastErrors=errors)

    def finished(self) -> None:
        """Log a last line if any line was logged before."""
        if self._said:
            self._said = False
            line = f"caches are filled: {self._describe([one.statistics() for one in self._informers])}"
            log.info(line)

    def _describe(self, statistics: Sequence[InformerStatistics]) -> str:
        now = self._clock.now()
        parts = ", ".join(describe(one, now) for one in statistics)
        return f"{parts} — {now - self._began_at:.0f}s"


def describe(statistics: InformerStatistics, now: float) -> str:
    """Describe one informer in a few words; now is a value returned by Clock.now()."""
    name, reflector = statistics.plural, statistics.reflector
    if statistics.synced:
        return f"{name} ✓ {_number(statistics.objects)}"
    if reflector is None:
        return f"{name} not started"
    if reflector.retry_at is not None and reflector.last_error:
        return f"{name} ✗ {reflector.last_error}, retrying in {max(reflector.retry_at - now, 0):.1f} s"
    if reflector.state is State.LISTING:
        return f"{name} {_number(reflector.listed)} objects ({_how(reflector, now)})"
    if statistics.objects or statistics.queued:
        return f"{name} {_number(statistics.objects)} objects stored, {_number(statistics.queued)} queued"
    return f"{name} asking the server"


def _how(reflector: ReflectorStatistics, now: float) -> str:
    if reflector.page:
        return f"page {reflector.page}"
    silent = 0 if reflector.last_event_at is None else now - reflector.last_event_at
    return f"streaming, nothing for {silent:.0f} s" if silent >= _SILENT_SECONDS else "streaming"


def _number(count: int) -> str:
    """Write a number in groups of three digits, separated by spaces."""
    return f"{count:,}".replace(",", " ")
