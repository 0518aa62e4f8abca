"""A metrics provider for queues that remembers everything."""

from __future__ import annotations

import threading

from handloop.workqueue.queue_metrics import QueueInstruments
from support.checks.threads import DEADLINE_SECONDS


class Instrument:
    """Gauge, counter and histogram in one."""

    def __init__(self) -> None:
        self.value = 0.0
        self.observed: list[float] = []
        self.set_count = 0
        self._changed = threading.Condition()

    def inc(self) -> None:
        with self._changed:
            self.value += 1

    def dec(self) -> None:
        with self._changed:
            self.value -= 1

    def set(self, value: float) -> None:
        with self._changed:
            self.value = value
            self.set_count += 1
            self._changed.notify_all()

    def observe(self, value: float) -> None:
        with self._changed:
            self.observed.append(value)

    def wait_for_sets(self, count: int) -> None:
        """Block until the value was set count times in all."""
        with self._changed:
            assert self._changed.wait_for(lambda: self.set_count >= count, DEADLINE_SECONDS), self.set_count


class FakeMetricsProvider:
    """Implements handloop.workqueue.queue_metrics.MetricsProvider; `names` are the queues that asked."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.depth = Instrument()
        self.adds = Instrument()
        self.latency = Instrument()
        self.work_duration = Instrument()
        self.unfinished_work = Instrument()
        self.longest_running_processor = Instrument()
        self.retries = Instrument()

    def for_queue(self, name: str) -> QueueInstruments:
        self.names.append(name)
        return QueueInstruments(
            depth=self.depth,
            adds=self.adds,
            latency=self.latency,
            work_duration=self.work_duration,
            unfinished_work_seconds=self.unfinished_work,
            longest_running_processor_seconds=self.longest_running_processor,
            retries=self.retries,
        )
