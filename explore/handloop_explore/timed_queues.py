"""Follows the reconciles of a process, and their durations, through the metrics of its work queues."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.controller_metrics import WorkqueueMetricsProvider
from handloop.workqueue.queue_metrics import QueueInstruments
from handloop_explore.played import Journal


class TimedQueues(WorkqueueMetricsProvider):
    """Reports the age of each reconcile to a journal: at its end, and each half second while it runs."""

    def __init__(self, journal: Journal, works: Callable[[bool], object]) -> None:
        """Args: works is called when the running thread begins or ends a reconcile."""
        super().__init__(CollectorRegistry())
        self._journal = journal
        self._works = works

    def for_queue(self, name: str) -> QueueInstruments:
        """Return the instruments of a queue, two of which report to the journal."""
        age = _Age(self._journal, name, self._works)
        made = super().for_queue(name)
        return made._replace(
            latency=_Begun(self._works), work_duration=age, longest_running_processor_seconds=age
        )


class _Begun:
    """The histogram of the waits of names: an observation begins a reconcile."""

    def __init__(self, works: Callable[[bool], object]) -> None:
        self._works = works

    def observe(self, _value: float) -> None:
        """A worker has got a name."""
        self._works(True)


class _Age:
    """The histogram of finished reconciles, and the gauge of the longest running one."""

    def __init__(self, journal: Journal, queue: str, works: Callable[[bool], object]) -> None:
        self._journal = journal
        self._queue = queue
        self._works = works

    def observe(self, value: float) -> None:
        """A reconcile has ended."""
        self._works(False)
        self._journal.reconciles_for(value, self._queue)

    def set(self, value: float) -> None:
        """A reconcile runs."""
        self._journal.reconciles_for(value, self._queue)
