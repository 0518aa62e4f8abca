"""Informer instruments that remember."""

from __future__ import annotations

from collections import defaultdict

from handloop.client.request_reports import RequestMetrics
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.relist_policy import RelistReason


class Instrument:
    """Gauge, counter and histogram in one: `values` has the set or observed ones, `count` the increments."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self.count = 0

    @property
    def last(self) -> float:
        """The newest value."""
        return self.values[-1]

    def set(self, value: float) -> None:
        self.values.append(value)

    def observe(self, value: float) -> None:
        self.values.append(value)

    def inc(self) -> None:
        self.count += 1


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
