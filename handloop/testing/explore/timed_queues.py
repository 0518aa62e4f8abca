"""How long the reconciles of a process take, as the metrics of its work queues say."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.controller_metrics import WorkqueueMetricsProvider
from handloop.testing.explore.played import Journal
from handloop.workqueue.queue_metrics import QueueInstruments


class TimedQueues(WorkqueueMetricsProvider):
    """Tells a journal the age of each reconcile: at its end, and each half second while it goes on."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(CollectorRegistry())
        self._journal = journal

    def for_queue(self, name: str) -> QueueInstruments:
        """The instruments of a queue, of which two tell the journal."""
        age = _Age(self._journal, name)
        made = super().for_queue(name)
        return made._replace(work_duration=age, longest_running_processor_seconds=age)


class _Age:
    """Both the histogram of the reconciles that ended, and the gauge of the longest that goes on."""

    def __init__(self, journal: Journal, queue: str) -> None:
        self._journal = journal
        self._queue = queue

    def observe(self, value: float) -> None:
        """A reconcile has ended."""
        self._journal.reconciles_for(value, self._queue)

    def set(self, value: float) -> None:
        """A reconcile goes on."""
        self._journal.reconciles_for(value, self._queue)
