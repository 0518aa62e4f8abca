from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry

from handloop.client.errors import ConnectionRefused
from handloop.controller.runtime.metrics.controller_metrics import ReconcileMetrics
from handloop.controller.runtime.outcomes import Outcomes, SyncOutcomes
from handloop.controller.runtime.reconcile import WaitError
from handloop.informers.keys import ObjectName
from support.api_errors import api_error
from support.captured_logs import captured_logs
from support.fake_clock import FakeClock

_NAME = ObjectName("default", "example-foo")
_FAILED = "Error syncing; requeuing for later retry"


def _outcomes() -> SyncOutcomes:
    return SyncOutcomes("test")


def test_outcomes_are_counted() -> None:
    """Settled, failed, and unexpected among the failed."""
    outcomes = _outcomes()
    outcomes.succeeded(_NAME)
    outcomes.failed(_NAME, ConnectionRefused("refused"))
    outcomes.failed(_NAME, ValueError("bug"))
    assert outcomes.statistics() == Outcomes(synced=1, failed=2, unexpected=1)


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (api_error(409, "Conflict"), "info"),
        (api_error(409, "AlreadyExists"), "info"),
        (api_error(403, "Forbidden"), "error"),
        (ConnectionRefused("refused"), "error"),
    ],
    ids=["conflict", "already-exists", "forbidden", "transport"],
)
def test_a_lost_race_is_no_error(error: Exception, level: str) -> None:
    """Conflict and AlreadyExists come from a cache that is behind: they are logged as information."""
    with captured_logs() as logs:
        _outcomes().failed(_NAME, error)
    assert logs == [
        {"event": _FAILED, "log_level": level, "objectReference": _NAME, "err": str(error)},
    ]


def test_a_sync_that_waits_has_not_failed() -> None:
    """Something else has to go first: one line, and no failure is counted."""
    outcomes = _outcomes()
    with captured_logs() as logs:
        outcomes.waits(_NAME, WaitError("gone from the server"))
    assert logs == [
        {
            "event": "Sync waits",
            "log_level": "info",
            "objectName": _NAME,
            "why": "gone from the server",
        },
    ]
    assert outcomes.statistics() == Outcomes()


def test_a_surprise_comes_with_its_stack() -> None:
    """An exception that nobody expected shows its type, and the log gets its traceback."""
    with pytest.raises(ZeroDivisionError) as raised:
        _ = 1 / 0
    with captured_logs() as logs:
        _outcomes().failed(_NAME, raised.value)
    (failure,) = logs
    assert (failure["event"], failure["log_level"]) == (_FAILED, "error")
    assert failure["err"] == "ZeroDivisionError('division by zero')"
    assert failure["exc_info"] is raised.value


@pytest.mark.parametrize(
    ("error", "result", "errors", "panics"),
    [
        (None, "success", 0, 0),
        (ConnectionRefused("refused"), "error", 1, 0),
        (ValueError("bug"), "error", 1, 1),
    ],
)
def test_a_sync_is_measured(error: Exception | None, result: str, errors: int, panics: int) -> None:
    """As a reconcile of controller-runtime: result, time, errors, panics, and workers in between."""
    registry, clock = CollectorRegistry(auto_describe=True), FakeClock()
    metrics = ReconcileMetrics(registry).for_controller("foo", 2)
    outcomes = SyncOutcomes("test", metrics=metrics, clock=clock)

    def value(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(f"controller_runtime_{name}", {"controller": "foo", **labels})

    outcomes.began(_NAME)
    assert value("active_workers") == 1
    clock.advance(2.0)
    if error is None:
        outcomes.succeeded(_NAME)
    else:
        outcomes.failed(_NAME, error)
    assert value("active_workers") == 0
    assert value("reconcile_total", result=result) == 1
    assert value("reconcile_time_seconds_sum") == 2.0
    assert (value("reconcile_errors_total"), value("reconcile_panics_total")) == (errors, panics)
