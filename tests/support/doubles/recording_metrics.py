"""Metrics of informers, queues and requests that remember."""

from __future__ import annotations

import threading
from collections import defaultdict

from handloop.client.request_reports import RequestMetrics
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.relist_policy import RelistReason
from handloop.workqueue.queue_metrics import QueueInstruments
from support.checks.threads import DEADLINE_SECONDS


class Instrument:
    """Gauge, counter and histogram in one: `values` has all, `value` the newest with the increments since."""

    def __init__(self) -> None:
        self.value = 0.0
        self.values: list[float] = []
        self._changed = threading.Condition()

    def inc(self) -> None:
        with self._changed:
            self.value += 1

    def dec(self) -> None:
        with self._changed:
            self.value -= 1

    def observe(self, value: float) -> None:
        with self._changed:
            self.value = value
            self.values.append(value)
            self._changed.notify_all()

    def set(self, value: float) -> None:
        self.observe(value)

    def wait_for_values(self, count: int) -> None:
        """Block until the value was set count times in all."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.values) >= count, DEADLINE_SECONDS), self.values


class RecordingMetricsProvider:
    """
    Implements handloop.informers.informer_metrics.MetricsProvider.

    `made` maps (value, name[, reason]) to the instrument.
    """

    def __init__(self) -> None:
        self.made: defaultdict[tuple[str, ...], Instrument] = defaultdict(Instrument)

    def for_informer(self, name: str) -> InformerMetrics:
        plain = {value: self.made[value, name] for value in InformerMetrics._fields if value != "relists"}
        relists = {reason: self.made["relists", name, reason] for reason in RelistReason}
        return InformerMetrics(relists=relists, **plain)

    def forget(self, name: str) -> None:
        raise NotImplementedError


class QueueMetricsProvider:
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


class RecordingRequestMetrics(RequestMetrics):
    """`seen` has (series, labels..., value) in order."""

    def __init__(self) -> None:
        self.seen: list[tuple[object, ...]] = []

    def of(self, series: str) -> list[tuple[object, ...]]:
        """The values that one series got."""
        return [entry[1:] for entry in self.seen if entry[0] == series]

    def request_total(self, *, code: str, method: str, host: str) -> None:
        self.seen.append(("total", code, method, host))

    def request_duration(self, *, verb: str, host: str, seconds: float) -> None:
        self.seen.append(("duration", verb, host, seconds))

    def request_size(self, *, verb: str, host: str, size: int) -> None:
        self.seen.append(("request_size", verb, host, size))

    def response_size(self, *, verb: str, host: str, size: int) -> None:
        self.seen.append(("response_size", verb, host, size))

    def request_retry(self, *, code: str, verb: str, host: str) -> None:
        self.seen.append(("retry", code, verb, host))

    def rate_limiter_duration(self, *, verb: str, host: str, seconds: float) -> None:
        self.seen.append(("rate_limiter", verb, host, seconds))

    def dns_resolution_duration(self, *, host: str, seconds: float) -> None:
        self.seen.append(("dns", host, seconds))
