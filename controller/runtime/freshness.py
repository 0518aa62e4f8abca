"""
How old what the caches say may be: the check behind `/readyz`, and `informer_lag_seconds`.

A watch that is open makes a cache as new as the server is quick, however long nothing happens; what counts is
the time since the server was last heard of while none can be opened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from handloop.controller.runtime.serving.health import Check
from handloop.informers.informer_statistics import InformerStatistics, State
from handloop.informers.shared_informer import SharedIndexInformer
from handloop.workqueue.clock import Clock

FRESH_SECONDS: Final = 120.0
"""Longer than a rolling restart of API servers, shorter than what goes unnoticed."""

Informers = Callable[[], Iterable[SharedIndexInformer[Any]]]


def lag_seconds(statistics: InformerStatistics, now: float) -> float:
    """
    Seconds by which a cache may be behind; 0 while its watch is open, or before its first list.

    Args: now as Clock.now() counts.
    """
    reflector = statistics.reflector
    if reflector is None or reflector.last_event_at is None:
        return 0.0
    if reflector.state is State.WATCHING or not reflector.last_error:
        return 0.0
    return max(now - reflector.last_event_at, 0.0)


def freshness_check(informers: Informers, clock: Clock) -> Check:
    """Not ready while a cache may be further behind than FRESH_SECONDS: an API server that is gone."""

    def check() -> str | None:
        now = clock.now()
        lags = {each.name: lag_seconds(each, now) for each in (one.statistics() for one in informers())}
        old = [f"{name} for {lag:.0f}s" for name, lag in lags.items() if lag > FRESH_SECONDS]
        return f"nothing heard of {', '.join(old)}" if old else None

    return check


class InformerLag(Collector):
    """The gauge `informer_lag_seconds`, computed when somebody scrapes. Threads: the metrics server's."""

    def __init__(self, informers: Informers, clock: Clock) -> None:
        self._informers = informers
        self._clock = clock

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The family without samples."""
        return [_family()]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """One sample per informer."""
        family, now = _family(), self._clock.now()
        for informer in self._informers():
            statistics = informer.statistics()
            family.add_metric((statistics.name,), lag_seconds(statistics, now))
        return [family]


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "informer_lag_seconds", "Seconds by which the informer's store may be behind", labels=("name",)
    )
