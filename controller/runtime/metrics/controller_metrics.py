"""
The metrics of a controller: controller_runtime_* for reconciles, workqueue_* for its queue, and handloop_*.

The first two have controller-runtime's names, labels and buckets, so that its dashboards and alerts work
unchanged. The handloop_* metrics are our own; they report waits for our own writes, the causes of reconciles,
and dropped events.
Follows: controller-runtime pkg/internal/controller/metrics and pkg/metrics/workqueue.go, differs: the depths
of a priority queue are read on every scrape, not counted whenever an item is added or removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from handloop.controller.runtime.metrics.instruments import B_EXP, B_SMALL, Instruments
from handloop.seams.locks import new_lock
from handloop.seams.tracing import TRACING
from handloop.workqueue.priority_queue import DEFAULT_PRIORITY, LOW_PRIORITY
from handloop.workqueue.queue_metrics import QueueInstruments

ReconcileResult = Literal["success", "error", "requeue", "requeue_after"]
"""How a reconcile ended. `requeue`, a deprecated flag of controller-runtime, is always 0 here."""


class ReconcileMetrics:
    """Creates the controller_runtime_* instruments of each controller. Any thread can use it."""

    def __init__(self, registry: CollectorRegistry) -> None:
        new = Instruments(registry, "controller_runtime", "controller")
        self._total = new.counter(
            "reconcile_total", "Total number of reconciliations per controller", "result"
        )
        self._errors = new.counter(
            "reconcile_errors_total", "Total number of reconciliation errors per controller"
        )
        self._terminal = new.counter(
            "terminal_reconcile_errors_total", "Total number of terminal reconciliation errors per controller"
        )
        self._panics = new.counter(
            "reconcile_panics_total", "Total number of reconciliation panics per controller"
        )
        self._timeouts = new.counter(
            "reconcile_timeouts_total", "Total number of reconciliation timeouts per controller"
        )
        self._time = new.histogram(
            "reconcile_time_seconds", "Length of time per reconciliation per controller", B_SMALL
        )
        self._max_concurrent = new.gauge(
            "max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller"
        )
        self._active = new.gauge("active_workers", "Number of currently used workers per controller")

    def for_controller(self, name: str, max_concurrent: int) -> ControllerMetrics:
        """Return a controller's instruments. All their series exist from now on, with value 0."""
        self._max_concurrent.labels(name).set(max_concurrent)
        return ControllerMetrics(
            total={result: self._total.labels(name, result) for result in get_args(ReconcileResult)},
            errors=self._errors.labels(name),
            terminal=self._terminal.labels(name),
            panics=self._panics.labels(name),
            timeouts=self._timeouts.labels(name),
            time=self._time.labels(name),
            active=self._active.labels(name),
        )


class ControllerMetrics(NamedTuple):
    """
    The controller_runtime_* instruments of one controller. Any thread can use them.

    errors counts failed reconciles. terminal counts failures that are not retried until the object changes;
    panics counts unexpected errors, which are bugs. timeouts counts reconciles whose deadline passed while
    they ran. active is the number of workers that are processing an item.
    """

    total: dict[ReconcileResult, Counter]
    errors: Counter
    terminal: Counter
    panics: Counter
    timeouts: Counter
    time: Histogram
    active: Gauge

    def observe(self, result: ReconcileResult, seconds: float) -> None:
        """Record how a reconcile ended, and its duration. The caller also counts an error in errors."""
        self.total[result].inc()
        self.time.observe(seconds, TRACING.exemplar() if TRACING.on else None)


class OwnWriteMetrics:
    """The handloop_* metrics of reconciles: waits for own writes, causes, dropped events."""

    def __init__(self, registry: CollectorRegistry) -> None:
        new = Instruments(registry, "handloop", "controller")
        self._waits = new.counter(
            "own_write_waits_total", "Reconciles that waited until a cache had seen our own last write"
        )
        self._timeouts = new.counter(
            "own_write_timeouts_total", "Waits for our own last write that were given up after five minutes"
        )
        self._seconds = new.histogram(
            "own_write_wait_seconds", "How long in seconds reconciles waited for our own last write", B_SMALL
        )
        self._hot_loops = new.counter(
            "hot_loops_total", "Names whose reconciles kept writing, and were slowed down"
        )
        self._causes = new.counter("reconcile_causes_total", "What triggered reconciles, by cause", "cause")
        self._dropped = new.counter(
            "dropped_events_total", "Watch events that predicates dropped, by cause", "cause"
        )
        self._paused = new.gauge("paused_objects", "Objects that an annotation keeps from being reconciled")

    def show_paused(self, name: str, count: Callable[[], float]) -> None:
        """Show how many of a controller's objects are paused. Args: count is called on every scrape."""
        self._paused.labels(name).set_function(count)

    def for_controller(self, name: str) -> ControllerOwnWrites:
        """Return the instruments of a controller, at 0."""
        self._paused.labels(name)
        return ControllerOwnWrites(
            name=name,
            waits=self._waits.labels(name),
            timeouts=self._timeouts.labels(name),
            seconds=self._seconds.labels(name),
            hot_loops=self._hot_loops.labels(name),
            causes=self._causes,
            drops=self._dropped,
        )


class ControllerOwnWrites(NamedTuple):
    """
    The handloop_* instruments of one controller. Any thread can use them.

    timeouts counts waits that ended while the cache was still behind. The reconcile then runs anyway.
    """

    name: str
    waits: Counter
    timeouts: Counter
    seconds: Histogram
    hot_loops: Counter
    causes: Counter
    drops: Counter

    def waited(self, seconds: float) -> None:
        """Record a wait for our own write, which ended because the write arrived or the wait timed out."""
        self.waits.inc()
        self.seconds.observe(seconds)

    def caused_by(self, cause: str) -> None:
        """
        Count a reconcile's cause.

        Args: cause lacks the object's name, such as `Deployment updated` or `requeue`.
        """
        self.causes.labels(self.name, cause).inc()

    def dropped(self, cause: str) -> None:
        """
        Count a watch event that predicates dropped, so no reconcile followed.

        Args: cause lacks the object's name, such as `Deployment updated`.
        """
        self.drops.labels(self.name, cause).inc()


class WorkqueueMetricsProvider:
    """
    Creates the seven workqueue_* instruments of each queue.

    Implements handloop.workqueue.queue_metrics.MetricsProvider.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._depth = QueueDepth()
        registry.register(self._depth)
        new = Instruments(registry, "workqueue", "name", "controller")
        self._adds = new.counter("adds_total", "Total number of adds handled by workqueue")
        self._latency = new.histogram(
            "queue_duration_seconds",
            "How long in seconds an item stays in workqueue before being requested",
            B_EXP,
        )
        self._work_duration = new.histogram(
            "work_duration_seconds", "How long in seconds processing an item from workqueue takes", B_EXP
        )
        self._unfinished = new.gauge(
            "unfinished_work_seconds",
            "Seconds of work in progress, not yet in work_duration; large values indicate stuck threads",
        )
        self._longest = new.gauge(
            "longest_running_processor_seconds",
            "How many seconds the longest running processor has been running",
        )
        self._retries = new.counter("retries_total", "Total number of retries handled by workqueue")

    def for_queue(self, name: str) -> QueueInstruments:
        """Return the instruments of a queue, at 0."""
        return QueueInstruments(
            depth=self._depth.of(name),
            adds=self._adds.labels(name, name),
            latency=self._latency.labels(name, name),
            work_duration=self._work_duration.labels(name, name),
            unfinished_work_seconds=self._unfinished.labels(name, name),
            longest_running_processor_seconds=self._longest.labels(name, name),
            retries=self._retries.labels(name, name),
        )

    def show_depths(self, name: str, depths: Depths) -> None:
        """Show a priority queue's depth for each priority, instead of one depth for the whole queue."""
        self._depth.show(name, depths)


MAX_PRIORITIES: Final = 2 + 25
"""How many of a queue's priorities get a label: the two that every queue has, and 25 others."""
EXCEEDED: Final = "exceeded_cardinality_limit"

Depths = Callable[[], Mapping[int, int]]
"""Returns how many items are waiting in a queue, per priority."""


class QueueDepth(Collector):
    """
    The gauge `workqueue_depth`: how many items wait in each queue, by priority if it is a priority queue.

    State, under _lock: _counted, name -> the number of items in a plain queue; _asked, name -> the function
    that returns a priority queue's depths; _priorities, name -> the priorities seen so far, at most
    MAX_PRIORITIES. A priority stays listed when its depth is 0.
    Threads: workers count, holding their queue's lock; the metrics server's thread collects.
    """

    def __init__(self) -> None:
        self._lock = new_lock("QueueDepth._lock", 95)
        self._counted: dict[str, int] = {}
        self._asked: dict[str, Depths] = {}
        self._priorities: dict[str, dict[int, None]] = {}

    def of(self, name: str) -> PlainDepth:
        """Return the instrument of a plain queue."""
        self.count(name, 0)
        return PlainDepth(self, name)

    def count(self, name: str, change: int) -> None:
        """Add change to the number of waiting items in a plain queue."""
        with self._lock:
            self._counted[name] = self._counted.get(name, 0) + change

    def show(self, name: str, depths: Depths) -> None:
        """Show a priority queue's depths per priority, instead of the count with the same name."""
        with self._lock:
            self._asked[name] = depths
            self._priorities[name] = {DEFAULT_PRIORITY: None, LOW_PRIORITY: None}

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the family without samples."""
        return [_family()]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the depths. Locks: acquires the priority queues' locks, one after the other."""
        with self._lock:
            plain = {name: depth for name, depth in self._counted.items() if name not in self._asked}
            asked = dict(self._asked)
        family = _family()
        for name, depth in plain.items():
            family.add_metric((name, name, ""), depth)
        for name, depths in asked.items():
            for priority, depth in self._by_label(name, depths()).items():
                family.add_metric((name, name, priority), depth)
        return [family]

    def _by_label(self, name: str, depths: Mapping[int, int]) -> dict[str, int]:
        """Return the depths by priority. Those beyond MAX_PRIORITIES are summed under one label."""
        with self._lock:
            known = self._priorities[name]
            for priority in depths:
                if len(known) < MAX_PRIORITIES:
                    known[priority] = None
            labels = {str(priority): depths.get(priority, 0) for priority in known}
            beyond = [depth for priority, depth in depths.items() if priority not in known]
        return labels | {EXCEEDED: sum(beyond)} if beyond else labels


class PlainDepth:
    """The depth of a plain queue. Implements handloop.workqueue.queue_metrics.GaugeMetric."""

    __slots__ = ("_depth", "_name")

    def __init__(self, depth: QueueDepth, name: str) -> None:
        self._depth = depth
        self._name = name

    def inc(self) -> None:
        """One more item waits."""
        self._depth.count(self._name, 1)

    def dec(self) -> None:
        """One item less waits."""
        self._depth.count(self._name, -1)


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "workqueue_depth", "Current depth of workqueue", labels=("name", "controller", "priority")
    )
