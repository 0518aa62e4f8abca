"""Prometheus instruments of one family; and the bounds of histograms, as controller-runtime has them."""

from __future__ import annotations

from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

B_EXP: Final = tuple(10.0**exponent for exponent in range(-8, 4))
B_REST: Final = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
B_SIZE: Final = tuple(
    float(size) for size in (64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216)
)
B_SMALL: Final = (
    *(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9),
    *(1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0),
    *(10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 60.0),
)


class Instruments:
    """Makes instruments in a registry: names with one prefix, the common labels first."""

    def __init__(self, registry: CollectorRegistry, prefix: str, *labels: str) -> None:
        self._registry = registry
        self._prefix = prefix
        self._labels = labels

    def counter(self, name: str, text: str, *more: str) -> Counter:
        """A counter."""
        return Counter(f"{self._prefix}_{name}", text, (*self._labels, *more), registry=self._registry)

    def gauge(self, name: str, text: str) -> Gauge:
        """A gauge."""
        return Gauge(f"{self._prefix}_{name}", text, self._labels, registry=self._registry)

    def histogram(self, name: str, text: str, buckets: tuple[float, ...], *more: str) -> Histogram:
        """A histogram with these bounds."""
        labels = (*self._labels, *more)
        return Histogram(f"{self._prefix}_{name}", text, labels, buckets=buckets, registry=self._registry)
