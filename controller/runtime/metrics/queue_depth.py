"""
`workqueue_depth`: how many items wait, per queue, and for priority queues per priority.

Follows: controller-runtime pkg/metrics/workqueue.go, differs: the depths of a priority queue are asked for
when somebody scrapes, instead of being counted along.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from handloop.workqueue.locks import new_lock
from handloop.workqueue.priority import DEFAULT_PRIORITY, LOW_PRIORITY

MAX_PRIORITIES: Final = 25
EXCEEDED: Final = "exceeded_cardinality_limit"

Depths = Callable[[], Mapping[int, int]]
"""How many items of a queue wait, per priority."""


class QueueDepth(Collector):
    """
    The gauge of every queue.

    State, under _lock: _counted, items of the plain queues by name; _asked, name -> who knows the depths of a
    priority queue; _priorities, name -> those it has had, at most MAX_PRIORITIES: they stay, at 0.
    Threads: workers count, with their queue's lock held; the metrics server collects.
    """

    def __init__(self) -> None:
        self._lock = new_lock("QueueDepth._lock", 95)
        self._counted: dict[str, int] = {}
        self._asked: dict[str, Depths] = {}
        self._priorities: dict[str, dict[int, None]] = {}

    def of(self, name: str) -> PlainDepth:
        """The instrument of a plain queue."""
        self.count(name, 0)
        return PlainDepth(self, name)

    def count(self, name: str, change: int) -> None:
        """So many more items wait in a plain queue."""
        with self._lock:
            self._counted[name] = self._counted.get(name, 0) + change

    def show(self, name: str, depths: Depths) -> None:
        """Show the depths per priority of a priority queue, in place of what was counted under its name."""
        with self._lock:
            self._asked[name] = depths
            self._priorities[name] = {DEFAULT_PRIORITY: None, LOW_PRIORITY: None}

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The family without samples."""
        return [_family()]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """What waits. Locks: those of the priority queues, one after the other."""
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
        """One value per priority; those beyond the limit add up under one label."""
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
        """One more waits."""
        self._depth.count(self._name, 1)

    def dec(self) -> None:
        """One less waits."""
        self._depth.count(self._name, -1)


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "workqueue_depth", "Current depth of workqueue", labels=("name", "controller", "priority")
    )
