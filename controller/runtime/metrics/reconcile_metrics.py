"""
What a controller measures about its reconciles: controller_runtime_*, and beside them handloop_*.

The former have controller-runtime's names, labels and buckets, so that its dashboards and alerts work
unchanged. The latter are our own, about reads after writes and the causes of reconciles.
Follows: controller-runtime pkg/internal/controller/metrics.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from handloop.controller.runtime.metrics.buckets import B_SMALL

ReconcileResult = Literal["success", "error", "requeue", "requeue_after"]
"""How a reconcile ended. `requeue` counts controller-runtime's deprecated flag: always 0 here."""

_CONTROLLER: Final = ("controller",)


class ReconcileMetrics:
    """Makes the controller_runtime_* instruments of each controller. Threads: any."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *more: str) -> Counter:
            return Counter(f"controller_runtime_{name}", text, (*_CONTROLLER, *more), registry=registry)

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"controller_runtime_{name}", text, _CONTROLLER, registry=registry)

        self._total = counter("reconcile_total", "Total number of reconciliations per controller", "result")
        self._errors = counter(
            "reconcile_errors_total", "Total number of reconciliation errors per controller"
        )
        self._terminal = counter(
            "terminal_reconcile_errors_total", "Total number of terminal reconciliation errors per controller"
        )
        self._panics = counter(
            "reconcile_panics_total", "Total number of reconciliation panics per controller"
        )
        self._timeouts = counter(
            "reconcile_timeouts_total", "Total number of reconciliation timeouts per controller"
        )
        self._time = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of time per reconciliation per controller",
            _CONTROLLER,
            buckets=B_SMALL,
            registry=registry,
        )
        self._max_concurrent = gauge(
            "max_concurrent_reconciles", "Maximum number of concurrent reconciles per controller"
        )
        self._active = gauge("active_workers", "Number of currently used workers per controller")

    def for_controller(self, name: str, max_concurrent: int) -> ControllerMetrics:
        """The instruments of a controller; all their series exist at once, at 0."""
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
    The controller_runtime_* instruments of one controller. Threads: any.

    errors counts reconciles that failed; terminal those of them that failed for good, until the object
    changes; panics those that raised an unexpected error, a bug. timeouts counts deadlines that passed while
    a reconcile ran. active is the number of workers that have an item.
    """

    total: dict[ReconcileResult, Counter]
    errors: Counter
    terminal: Counter
    panics: Counter
    timeouts: Counter
    time: Histogram
    active: Gauge

    def observe(self, result: ReconcileResult, seconds: float) -> None:
        """A reconcile ended; an error counts in errors, too."""
        self.total[result].inc()
        self.time.observe(seconds)


class OwnWriteMetrics:
    """The handloop_* series of reconciles: waits for our own writes, and causes. Threads: any."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, text: str, *more: str) -> Counter:
            return Counter(f"handloop_{name}", text, (*_CONTROLLER, *more), registry=registry)

        self._waits = counter(
            "own_write_waits_total", "Reconciles that waited until a cache had seen our own last write"
        )
        self._timeouts = counter(
            "own_write_timeouts_total", "Waits for our own last write that were given up"
        )
        self._seconds = Histogram(
            "handloop_own_write_wait_seconds",
            "How long in seconds reconciles waited for our own last write",
            _CONTROLLER,
            buckets=B_SMALL,
            registry=registry,
        )
        self._causes = counter("reconcile_causes_total", "What led to reconciles, by kind of cause", "cause")

    def for_controller(self, name: str) -> ControllerOwnWrites:
        """The instruments of a controller, at 0."""
        return ControllerOwnWrites(
            name=name,
            waits=self._waits.labels(name),
            timeouts=self._timeouts.labels(name),
            seconds=self._seconds.labels(name),
            causes=self._causes,
        )


class ControllerOwnWrites(NamedTuple):
    """
    The handloop_* instruments of one controller. Threads: any.

    timeouts counts writes that did not show up in time: the reconcile went on without them.
    """

    name: str
    waits: Counter
    timeouts: Counter
    seconds: Histogram
    causes: Counter

    def waited(self, seconds: float) -> None:
        """A reconcile waited for our own write, whether or not it came in time."""
        self.waits.inc()
        self.seconds.observe(seconds)

    def caused_by(self, cause: str) -> None:
        """
        Something led to a reconcile.

        Args: cause is a kind of cause without an object's name, such as `Deployment updated` or `requeue`.
        """
        self.causes.labels(self.name, cause).inc()
