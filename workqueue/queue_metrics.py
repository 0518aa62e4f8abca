"""
The measurements of a queue, and the provider that makes the instruments.

Follows: client-go util/workqueue/metrics.go, differs: the thread that refreshes the gauges of unfinished work
starts with the first get, so a queue without workers has no thread. A provider is handed to each queue, not
set once for a process.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Protocol

from handloop.workqueue.seams import Clock, Joinable, Lock, Seams, condition_over

UNFINISHED_WORK_UPDATE_SECONDS: Final = 0.5


class GaugeMetric(Protocol):
    """A number that goes up and down."""

    def inc(self) -> None:
        """One more."""

    def dec(self) -> None:
        """One less."""


class SettableGaugeMetric(Protocol):
    """A number that is set."""

    def set(self, value: float) -> None:
        """Replace the value."""


class CounterMetric(Protocol):
    """A number that goes up."""

    def inc(self) -> None:
        """One more."""


class HistogramMetric(Protocol):
    """A distribution."""

    def observe(self, value: float) -> None:
        """Count value, in seconds."""


class MetricsProvider(Protocol):
    """
    Makes the seven instruments of a named queue.

    Locks: the instruments are used with the queue's lock held; they must not block or raise.
    """

    def new_depth_metric(self, name: str) -> GaugeMetric:
        """Items that need work and are not with a worker, or were added again while with one."""

    def new_adds_metric(self, name: str) -> CounterMetric:
        """Accepted adds."""

    def new_latency_metric(self, name: str) -> HistogramMetric:
        """Seconds from add to get."""

    def new_work_duration_metric(self, name: str) -> HistogramMetric:
        """Seconds from get to done."""

    def new_unfinished_work_seconds_metric(self, name: str) -> SettableGaugeMetric:
        """Sum of the ages of the items with workers."""

    def new_longest_running_processor_seconds_metric(self, name: str) -> SettableGaugeMetric:
        """Age of the oldest item with a worker."""

    def new_retries_metric(self, name: str) -> CounterMetric:
        """Delayed adds."""


class QueueMetrics:
    """
    Measures the items of a queue.

    State: `_added_at` of the items in need of work, `_started_at` of the items with workers. Guarded by the
    queue's lock, which every caller holds.
    """

    __slots__ = (
        "_added_at",
        "_adds",
        "_clock",
        "_depth",
        "_latency",
        "_longest_running_processor",
        "_started_at",
        "_unfinished_work_seconds",
        "_work_duration",
    )

    def __init__(self, name: str, provider: MetricsProvider, clock: Clock) -> None:
        self._clock = clock
        self._depth = provider.new_depth_metric(name)
        self._adds = provider.new_adds_metric(name)
        self._latency = provider.new_latency_metric(name)
        self._work_duration = provider.new_work_duration_metric(name)
        self._unfinished_work_seconds = provider.new_unfinished_work_seconds_metric(name)
        self._longest_running_processor = provider.new_longest_running_processor_seconds_metric(name)
        self._added_at: dict[Hashable, float] = {}
        self._started_at: dict[Hashable, float] = {}

    def add(self, item: Hashable) -> None:
        """The item was accepted."""
        self._adds.inc()
        self._depth.inc()
        self._added_at[item] = self._clock.now()

    def get(self, item: Hashable) -> None:
        """The item was handed out."""
        now = self._clock.now()
        self._depth.dec()
        self._started_at[item] = now
        added_at = self._added_at.pop(item, None)
        if added_at is not None:
            self._latency.observe(now - added_at)

    def done(self, item: Hashable) -> None:
        """The item was given back."""
        started_at = self._started_at.pop(item, None)
        if started_at is not None:
            self._work_duration.observe(self._clock.now() - started_at)

    def update_unfinished_work(self) -> None:
        """Publish the ages of the items in flight."""
        now = self._clock.now()
        ages = [now - started_at for started_at in self._started_at.values()]
        self._unfinished_work_seconds.set(sum(ages))
        self._longest_running_processor.set(max(ages, default=0.0))


class MetricsUpdater:
    """
    The thread `metrics-<queue>`: refreshes the gauges of unfinished work until the queue shuts down.

    State: `_stopped`, `_thread` and `_update_at`, guarded by the queue's lock. Nothing is published, and no
    thread started, once `_stopped` is set.
    """

    def __init__(self, metrics: QueueMetrics, lock: Lock, *, name: str, seams: Seams) -> None:
        self._metrics = metrics
        self._lock = lock
        self._name = name
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._stop = condition_over(lock)
        self._stopped = False
        self._thread: Joinable | None = None
        self._update_at = 0.0

    def start_locked(self) -> None:
        """Start the thread unless it was. Locks: expects the queue's lock held."""
        if self._thread is None and not self._stopped:
            self._update_at = self._clock.now() + UNFINISHED_WORK_UPDATE_SECONDS
            self._thread = self._spawn(f"metrics-{self._name}", self._run)

    def stop_locked(self) -> None:
        """End the thread. Locks: expects the queue's lock held."""
        self._stopped = True
        self._stop.notify_all()

    def join(self) -> None:
        """Wait for the end of the thread, once stopped."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with self._lock:
            while not self._stopped:
                if not self._clock.wait_until(self._stop, self._update_at) and not self._stopped:
                    self._metrics.update_unfinished_work()
                    self._update_at = self._clock.now() + UNFINISHED_WORK_UPDATE_SECONDS
