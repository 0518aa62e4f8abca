"""controller_runtime_* and handloop_*: there at 0 from the start, and counted one by one."""

from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from handloop.controller.runtime.metrics.controller_metrics import (
    OwnWriteMetrics,
    ReconcileMetrics,
)

RESULTS = ("success", "error", "requeue", "requeue_after")


@pytest.fixture
def registry() -> CollectorRegistry:
    """An empty registry."""
    return CollectorRegistry(auto_describe=True)


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    """A sample of the controller foo."""
    return registry.get_sample_value(name, {"controller": "foo", **labels})


def test_everything_is_there_before_the_first_reconcile(registry: CollectorRegistry) -> None:
    """A rate over a series that begins at 1 misses its first step, so all begin at 0."""
    ReconcileMetrics(registry).for_controller("foo", 3)
    for result in RESULTS:
        assert value(registry, "controller_runtime_reconcile_total", result=result) == 0
    for name in (
        "reconcile_errors_total",
        "terminal_reconcile_errors_total",
        "reconcile_panics_total",
        "reconcile_timeouts_total",
        "active_workers",
        "reconcile_time_seconds_count",
    ):
        assert value(registry, f"controller_runtime_{name}") == 0
    assert value(registry, "controller_runtime_max_concurrent_reconciles") == 3


@pytest.mark.parametrize("result", RESULTS)
def test_a_result_counts_once_and_takes_time(registry: CollectorRegistry, result: str) -> None:
    """The time is observed for every outcome."""
    metrics = ReconcileMetrics(registry).for_controller("foo", 1)
    metrics.observe(result, 0.3)  # type: ignore[arg-type] # one of the four
    totals = {r: value(registry, "controller_runtime_reconcile_total", result=r) for r in RESULTS}
    assert totals == {r: float(r == result) for r in RESULTS}
    assert value(registry, "controller_runtime_reconcile_time_seconds_sum") == 0.3
    assert value(registry, "controller_runtime_reconcile_time_seconds_bucket", le="0.25") == 0
    assert value(registry, "controller_runtime_reconcile_time_seconds_bucket", le="0.3") == 1


@pytest.mark.parametrize(
    ("counter", "name"),
    [
        ("errors", "reconcile_errors_total"),
        ("terminal", "terminal_reconcile_errors_total"),
        ("panics", "reconcile_panics_total"),
        ("timeouts", "reconcile_timeouts_total"),
    ],
)
def test_a_counter_counts_its_own_series(registry: CollectorRegistry, counter: str, name: str) -> None:
    """One step, in that series and no other."""
    getattr(ReconcileMetrics(registry).for_controller("foo", 1), counter).inc()
    changed = [s.name for f in registry.collect() for s in f.samples if s.value == 1 and "max" not in s.name]
    assert changed == [f"controller_runtime_{name}"]


def test_workers_are_active_between_start_and_end(registry: CollectorRegistry) -> None:
    """Up after the get, down after the done."""
    metrics = ReconcileMetrics(registry).for_controller("foo", 2)
    metrics.active.inc()
    metrics.active.inc()
    metrics.active.dec()
    assert value(registry, "controller_runtime_active_workers") == 1


def test_waits_for_own_writes_are_counted_and_timed(registry: CollectorRegistry) -> None:
    """Each wait counts, those that were given up count besides."""
    own = OwnWriteMetrics(registry).for_controller("foo")
    assert value(registry, "handloop_own_write_waits_total") == 0
    assert value(registry, "handloop_own_write_timeouts_total") == 0
    own.waited(0.2)
    own.waited(5)
    own.timeouts.inc()
    assert value(registry, "handloop_own_write_waits_total") == 2
    assert value(registry, "handloop_own_write_timeouts_total") == 1
    assert value(registry, "handloop_own_write_wait_seconds_sum") == 5.2


def test_causes_are_counted_by_kind(registry: CollectorRegistry) -> None:
    """One series per kind of cause."""
    own = OwnWriteMetrics(registry).for_controller("foo")
    own.caused_by("Deployment updated")
    own.caused_by("Deployment updated")
    own.caused_by("requeue")
    assert value(registry, "handloop_reconcile_causes_total", cause="Deployment updated") == 2
    assert value(registry, "handloop_reconcile_causes_total", cause="requeue") == 1


def test_what_predicates_drop_is_counted_by_kind(registry: CollectorRegistry) -> None:
    """With the labels of the causes, which it would have been."""
    OwnWriteMetrics(registry).for_controller("foo").dropped("Deployment resynced")
    assert value(registry, "handloop_dropped_events_total", cause="Deployment resynced") == 1
