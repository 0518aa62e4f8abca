"""Observes a process's reconciles and their durations through the metrics of its work queues."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.controller_metrics import WorkqueueMetricsProvider
from handloop.workqueue.queue_metrics import QueueInstruments
from handloop_explore.played import Journal


class TimedQueues(WorkqueueMetricsProvider):
    """Reports each reconcile's duration to a journal, at its end and every half second while it runs."""

    def __init__(self, journal: Journal, works: Callable[[bool], object]) -> None:
        """Args: works: called when the running thread starts a reconcile (True) or ends it (False)."""
        super().__init__(CollectorRegistry())
        self._journal = journal
        self._works = works

    def for_queue(self, name: str) -> QueueInstruments:
        """Return a queue's metrics instruments. The instruments for durations also report to the journal."""
        age = _Age(self._journal, name, self._works)
        made = super().for_queue(name)
        return made._replace(
            latency=_Begun(self._works), work_duration=age, longest_running_processor_seconds=age
        )


class _Begun:
    """The histogram of waiting times in the queue. An observation means that a reconcile starts."""

    def __init__(self, works: Callable[[bool], object]) -> None:
        self._works = works

    def observe(self, _value: float) -> None:
        """Record that a worker has received a name from the queue."""
        self._works(True)


class _Age:
    """The histogram of finished reconciles' durations, and the gauge of the longest running reconcile."""

    def __init__(self, journal: Journal, queue: str, works: Callable[[bool], object]) -> None:
        self._journal = journal
        self._queue = queue
        self._works = works

    def observe(self, value: float) -> None:
        """Record that a reconcile has ended."""
        self._works(False)
        self._journal.reconciles_for(value, self._queue)

    def set(self, value: float) -> None:
        """Record how long a running reconcile has taken so far."""
        self._journal.reconciles_for(value, self._queue)
