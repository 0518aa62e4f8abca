"""
What a controller measures about its reconciles: controller_runtime_*, and beside them handloop_*.

The former have controller-runtime's names, labels and buckets, so that its dashboards and alerts work
unchanged. The latter are our own, about reads after writes and the causes of reconciles.
Follows: controller-runtime pkg/internal/controller/metrics.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from handloop.controller.runtime.metrics.instruments import B_SMALL, Instruments

ReconcileResult = Literal["success", "error", "requeue", "requeue_after"]
"""How a reconcile ended. `requeue` counts controller-runtime's deprecated flag: always 0 here."""


class ReconcileMetrics:
    """Makes the controller_runtime_* instruments of each controller. Threads: any."""

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
        new = Instruments(registry, "handloop", "controller")
        self._waits = new.counter(
            "own_write_waits_total", "Reconciles that waited until a cache had seen our own last write"
        )
        self._timeouts = new.counter(
            "own_write_timeouts_total", "Waits for our own last write that were given up"
        )
        self._seconds = new.histogram(
            "own_write_wait_seconds", "How long in seconds reconciles waited for our own last write", B_SMALL
        )
        self._causes = new.counter(
            "reconcile_causes_total", "What led to reconciles, by kind of cause", "cause"
        )

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
