"""
Metrics of a queue, recorded with instruments that a provider creates.

Follows: client-go util/workqueue/metrics.go. Differs: the thread that refreshes the gauges of unfinished
work starts with the first get, so a queue without workers has no thread. Each queue receives its provider,
whereas client-go sets one provider for the process.
"""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import suppress
from typing import Final, NamedTuple, Protocol

from handloop.seams.locks import Lock, condition_over
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable

UNFINISHED_WORK_UPDATE_SECONDS: Final = 0.5


class GaugeMetric(Protocol):
    """A number that goes up and down."""

    def inc(self) -> None:
        """Add one."""

    def dec(self) -> None:
        """Subtract one."""


class SettableGaugeMetric(Protocol):
    """A number that is set."""

    def set(self, value: float) -> None:
        """Replace the value."""


class CounterMetric(Protocol):
    """A number that goes up."""

    def inc(self) -> None:
        """Add one."""


class HistogramMetric(Protocol):
    """A distribution."""

    def observe(self, value: float) -> None:
        """Record a value, in seconds."""


class QueueInstruments(NamedTuple):
    """
    A queue's seven instruments.

    depth counts the items that need work: those that wait for a worker, and those that were added again
    while in flight. adds counts the accepted adds. latency records the seconds from add to get, and
    work_duration those from get to done. unfinished_work_seconds is the sum of the ages of the items in
    flight, and longest_running_processor_seconds the age of the oldest one. retries counts delayed adds.
    Locks: the instruments are called with the queue's lock held, so they must not block or raise.
    """

    depth: GaugeMetric
    adds: CounterMetric
    latency: HistogramMetric
    work_duration: HistogramMetric
    unfinished_work_seconds: SettableGaugeMetric
    longest_running_processor_seconds: SettableGaugeMetric
    retries: CounterMetric


class MetricsProvider(Protocol):
    """Creates the instruments of queues."""

    def for_queue(self, name: str) -> QueueInstruments:
        """Return the instruments of the queue with this name. Each instrument is created only once."""


class QueueMetrics:
    """
    Records what happens to a queue's items.

    State: `_added_at` maps each item that needs work to the time of its add, and `_started_at` each item in
    flight to the time of its get. The queue's lock guards both, and every caller holds that lock. Field:
    updater refreshes the gauges.
    """

    __slots__ = ("_added_at", "_clock", "_started_at", "instruments", "updater")

    def __init__(self, instruments: QueueInstruments, lock: Lock, *, name: str, seams: Seams) -> None:
        self.instruments = instruments
        self.updater = MetricsUpdater(self, lock, name=name, seams=seams)
        self._clock = seams.clock
        self._added_at: dict[Hashable, float] = {}
        self._started_at: dict[Hashable, float] = {}

    def add(self, item: Hashable) -> None:
        """Record that item was accepted."""
        self.instruments.adds.inc()
        self.instruments.depth.inc()
        self._added_at[item] = self._clock.now()

    def get(self, item: Hashable) -> None:
        """Record that item was delivered."""
        now = self._clock.now()
        self.instruments.depth.dec()
        self._started_at[item] = now
        added_at = self._added_at.pop(item, None)
        if added_at is not None:
            self.instruments.latency.observe(now - added_at)
        self.updater.wake_locked()

    def done(self, item: Hashable) -> None:
        """Record that the work on item is done."""
        started_at = self._started_at.pop(item, None)
        if started_at is not None:
            self.instruments.work_duration.observe(self._clock.now() - started_at)

    @property
    def is_idle(self) -> bool:
        """Return whether no item is in flight."""
        return not self._started_at

    def update_unfinished_work(self) -> None:
        """Publish the ages of the items in flight."""
        now = self._clock.now()
        ages = [now - started_at for started_at in self._started_at.values()]
        self.instruments.unfinished_work_seconds.set(sum(ages))
        self.instruments.longest_running_processor_seconds.set(max(ages, default=0.0))


class MetricsUpdater:
    """
    The thread `metrics-<queue>`, which refreshes the gauges of unfinished work until the queue shuts down.

    The thread sleeps while no item is in flight, because the gauges do not change then.
    State: `_stopped`, `_sleeps`, `_thread` and `_update_at`, guarded by the queue's lock. Once `_stopped` is
    set, no metric is published and no thread is started.
    """

    def __init__(self, metrics: QueueMetrics, lock: Lock, *, name: str, seams: Seams) -> None:
        self._metrics = metrics
        self._lock = lock
        self._name = name
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._changed = condition_over(lock)
        self._stopped = False
        self._sleeps = False
        self._thread: Joinable | None = None
        self._update_at = 0.0

    def start_locked(self) -> None:
        """
        Start the thread if it was never started.

        If no thread is available, the gauges stay as they are until the next call, and the work goes on.
        Locks: the caller must hold the queue's lock.
        """
        if self._thread is None and not self._stopped:
            self._update_at = self._clock.now() + UNFINISHED_WORK_UPDATE_SECONDS
            with suppress(RuntimeError):  # can't start new thread
                self._thread = self._spawn(f"metrics-{self._name}", self._run)

    def wake_locked(self) -> None:
        """Wake the thread, because an item was delivered. Locks: the caller must hold the queue's lock."""
        if self._sleeps:
            self._sleeps = False
            self._update_at = self._clock.now() + UNFINISHED_WORK_UPDATE_SECONDS
            self._changed.notify_all()

    def stop_locked(self) -> None:
        """End the thread. Locks: the caller must hold the queue's lock."""
        self._stopped = True
        self._changed.notify_all()

    def join(self) -> None:
        """Wait until the thread has ended. Call stop_locked first."""
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        with self._lock:
            while not self._stopped:
                at = None if self._sleeps else self._update_at
                if not self._clock.wait_until(self._changed, at) and not self._stopped:
                    self._metrics.update_unfinished_work()
                    self._update_at = self._clock.now() + UNFINISHED_WORK_UPDATE_SECONDS
                    self._sleeps = self._metrics.is_idle
