"""What a reflector has done so far, counted for its statistics and its metrics."""

from __future__ import annotations

from handloop.informers.metrics import InformerMetrics
from handloop.informers.reflecting.relist_policy import RelistReason
from handloop.workqueue.clock import Clock


class Tally:
    """
    The counts of one reflector.

    State: last_event_at as Clock.now() counts, None before anything was heard.
    Threads: the reflector's; others may read, one step behind.
    """

    def __init__(self, metrics: InformerMetrics, clock: Clock) -> None:
        self._metrics = metrics
        self._clock = clock
        self._listed = False
        self._relists: dict[str, int] = {}
        self.watches = 0
        self.last_event_at: float | None = None

    @property
    def relists(self) -> dict[str, int]:
        """Lists after the first one by RelistReason; a copy."""
        return dict(self._relists)

    def list_taken(self, reason: RelistReason) -> None:
        """A list is in the FIFO; the first one needs no reason."""
        if self._listed:
            self._relists[reason] = self._relists.get(reason, 0) + 1
            self._metrics.relisted(reason)
        self._listed = True

    def watch_opened(self) -> None:
        """A stream is open."""
        if self.watches:
            self._metrics.watch_restarts.inc()
        self.watches += 1
        self.heard()

    def heard(self) -> None:
        """The server was there: it answered, sent something, or ended a stream."""
        self.last_event_at = self._clock.now()
        self._metrics.last_event_timestamp.set(self._clock.time())
