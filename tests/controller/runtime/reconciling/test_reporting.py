from __future__ import annotations

import json

import pytest
import structlog
from prometheus_client import CollectorRegistry

from handloop.apis.apps_v1 import Deployment
from handloop.client.errors import ConnectionRefused, Forbidden
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.controller.runtime.metrics.controller_metrics import ReconcileMetrics
from handloop.controller.runtime.reconcile import (
    DeadlineExceededError,
    ReconcileError,
    TerminalError,
    WaitError,
)
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.reporting import (
    Outcomes,
    ReconcileReporter,
    SyncReporter,
    is_expected,
)
from handloop.informers.keys import ObjectName
from handloop.testing.fake_clock import FakeClock
from support.checks.api_errors import api_error
from support.checks.captured_logs import captured_logs
from support.doubles.scripted_transport import ScriptedTransport

_NAME = ObjectName("default", "example-foo")
_FAILED = "Error syncing; requeuing for later retry"


def _outcomes() -> SyncReporter:
    return SyncReporter("test")


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
    outcomes = SyncReporter("test", metrics=metrics, clock=clock)

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


# -- reconciles


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (api_error(500, "InternalError"), True),
        (ReconcileError("x"), True),
        (TerminalError("x"), True),
        (DeadlineExceededError("x"), True),
        (ValueError("x"), False),
        (OSError("x"), False),
        (SystemExit(1), False),
    ],
)
def test_errors_of_the_client_and_on_purpose_are_expected(error: BaseException, expected: bool) -> None:
    """All else is a bug in the reconciler."""
    assert is_expected(error) is expected


def lines_of(error: BaseException, failures: int = 3) -> list[dict[str, object]]:
    """The log lines about a failure."""
    with captured_logs() as logs:
        context = Context(id="i", causes=("a", "b"), log=structlog.get_logger("c").bind(reconcileID="i"))
        ReconcileReporter().failed(context, error, failures)
    return [dict(entry) for entry in logs]


def test_a_failure_names_why_it_was_tried_at_all() -> None:
    """One line: id, causes, error, and the count; no stack for an expected error."""
    (line,) = lines_of(api_error(500, "InternalError", "boom"))
    assert (line["event"], line["log_level"], line["reconcileID"]) == ("Reconciler error", "error", "i")
    assert (line["causes"], line["failures"]) == ("a, b", 3)
    assert "boom" in str(line["err"])


@pytest.mark.parametrize(
    ("code", "reason", "failures", "level"),
    [
        (409, "Conflict", 3, "info"),
        (409, "AlreadyExists", 3, "info"),
        (404, "NotFound", 1, "info"),
        (404, "NotFound", 2, "error"),
        (403, "Forbidden", 1, "error"),
    ],
)
def test_a_lost_race_of_a_reconcile_is_no_error(code: int, reason: str, failures: int, level: str) -> None:
    """An object that was just deleted is not found once; one that is not found again is an error."""
    (line,) = lines_of(api_error(code, reason, name="a"), failures)
    assert line["log_level"] == level


def test_a_terminal_error_counts_no_tries() -> None:
    """There will be none."""
    (line,) = lines_of(TerminalError("bad spec"))
    assert line["event"] == "Reconciler error, waiting for a change"
    assert "failures" not in line
    assert line["once"]


def test_a_terminal_error_that_its_object_tells_of_is_no_news() -> None:
    """The status has its text already: the write of that, or another change, led to one more reconcile."""
    error = TerminalError("bad spec")
    error.is_told = True
    (line,) = lines_of(error)
    assert (line["log_level"], line["err"]) == ("info", "bad spec")


def test_the_usual_course_is_quiet() -> None:
    """Begin and success show from -v 4 on, a missed deadline always."""
    with captured_logs() as logs:
        context = Context(causes=("a",))
        reports = ReconcileReporter()
        reports.begins(context)
        reports.settled(context, None)
        reports.settled(context, 30.0)
        reports.timed_out(context, 1.23456)
    assert [(e["event"], e.get("v")) for e in logs] == [
        ("Reconciling", 4),
        ("Reconcile successful", 4),
        ("Reconcile successful", 4),
        ("Reconcile took longer than its deadline", None),
    ]
    assert logs[2]["requeueAfter"] == 30
    assert (logs[3]["log_level"], logs[3]["seconds"]) == ("warning", 1.235)


def forbidden(message: str) -> Forbidden:
    """A 403 to a patch of a Deployment."""
    status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
    client = Client(ScriptedTransport([Response(403, {}, json.dumps(status).encode())]))
    with pytest.raises(Forbidden) as caught:
        client.resource(Deployment).patch("a", {}, namespace="b")
    return caught.value


@pytest.mark.parametrize(
    ("denied", "declared"),
    [
        ('create resource "deployments"', '.writes(Deployment, "create")'),
        ('patch resource "deployments"', '.writes(Deployment, "patch") (an apply needs "create", too)'),
        ('update resource "deployments/status"', '.writes(Deployment, "update", subresource="status")'),
    ],
)
def test_a_refusal_names_what_to_declare(denied: str, declared: str) -> None:
    """The server's words name verb and subresource, and the client knows the kind."""
    text = f'"a" is forbidden: User "u" cannot {denied} in API group "apps" in the namespace "b"'
    (line,) = lines_of(forbidden(text))
    assert line["fix"] == f"declare it in the set-up: {declared}; then apply the roles again"


def test_a_refusal_that_no_role_caused_leads_to_no_declaration() -> None:
    """A quota or an admission plugin refuses with a 403, too."""
    (line,) = lines_of(forbidden('deployments.apps "a" is forbidden: exceeded quota: q'))
    assert "fix" not in line
