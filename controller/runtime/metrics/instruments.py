"""Prometheus instruments with a common prefix, and the histogram buckets of controller-runtime."""

from __future__ import annotations

from typing import Final, TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

M = TypeVar("M", Counter, Gauge, Histogram)

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
    """
    Creates instruments in a registry. All have a common name prefix, and common labels before their own.

    State: _made, all instruments, created on one thread. Threads: forget may be called from any thread.
    """

    def __init__(self, registry: CollectorRegistry, prefix: str, *labels: str) -> None:
        self._registry = registry
        self._prefix = prefix
        self._labels = labels
        self._made: list[tuple[Counter | Gauge | Histogram, tuple[str, ...]]] = []

    def counter(self, name: str, text: str, *more: str) -> Counter:
        """Return a counter."""
        return self._keep(
            Counter(self._full(name), text, (*self._labels, *more), registry=self._registry), more
        )

    def gauge(self, name: str, text: str) -> Gauge:
        """Return a gauge."""
        return self._keep(Gauge(self._full(name), text, self._labels, registry=self._registry))

    def histogram(self, name: str, text: str, buckets: tuple[float, ...], *more: str) -> Histogram:
        """Return a histogram with these bucket bounds."""
        labels = (*self._labels, *more)
        made = Histogram(self._full(name), text, labels, buckets=buckets, registry=self._registry)
        return self._keep(made, more)

    def forget(self, *values: str) -> None:
        """Delete the series of all instruments that have these values of the common labels."""
        for instrument, labels in self._made:
            samples = [sample.labels for family in instrument.collect() for sample in family.samples]
            for found in {tuple(sample[label] for label in labels) for sample in samples}:
                if found[: len(values)] == values:
                    instrument.remove(*found)

    def _full(self, name: str) -> str:
        return f"{self._prefix}_{name}"

    def _keep(self, made: M, more: tuple[str, ...] = ()) -> M:
        self._made.append((made, (*self._labels, *more)))
        return made
