from __future__ import annotations

import threading
from collections.abc import MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from apis.apps_v1 import Deployment
from client.errors import ConnectionBroken, ConnectionRefused
from informers.listing import ListFailed
from informers.outage import Doing, Outage, fix_for
from support.fake_lister_watcher import (
    api_error,
    expired,
    internal_error,
    too_many_requests,
)
from support.stepping_clock import SteppingClock

Entry = MutableMapping[str, Any]


class SteadyBackoff:
    """Always the same delay."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def next(self) -> float:
        return self.seconds


class Rig:
    def __init__(self, *, seconds: float = 1.6) -> None:
        self.clock = SteppingClock()
        self.stop = threading.Event()
        self.outage = Outage(
            name="deployments.apps",
            resource=Deployment.resource,
            namespace="",
            backoff=SteadyBackoff(seconds),
            clock=self.clock,
            stop=self.stop,
        )


def refused() -> ConnectionRefused:
    error = ConnectionRefused("connection refused", host="https://127.0.0.1:6443", request="GET /x")
    error.__cause__ = ConnectionRefusedError(111, "Connection refused")
    return error


def broken() -> ConnectionBroken:
    error = ConnectionBroken("the answer was cut off")
    error.__cause__ = OSError("incomplete read")
    return error


def wrapped(error: Exception) -> ListFailed:
    failed = ListFailed(f"failed to list: {error}")
    failed.__cause__ = error
    return failed


def lines(logs: list[Entry]) -> list[tuple[str, str]]:
    return [(entry["log_level"], entry["event"]) for entry in logs]


def test_first_failure_is_said_in_full() -> None:
    """T01: what was tried, what the server said, and when it is tried again."""
    with capture_logs() as logs:
        Rig().outage.wait(Doing.OPEN_WATCH, refused())
    assert logs == [
        {
            "event": "Failed to watch",
            "log_level": "warning",
            "reflector": "deployments.apps",
            "err": "GET https://127.0.0.1:6443/x: connection refused",
            "retryIn": "1.6 s",
        }
    ]


def test_dead_server_is_one_line_a_count_per_minute_and_one_line_at_the_end() -> None:
    """T27: hours of the same trouble are one line a minute, not one per try."""
    rig = Rig(seconds=10)
    with capture_logs() as logs:
        for _ in range(20):
            rig.outage.wait(Doing.OPEN_WATCH, refused())
        rig.outage.over(Doing.OPEN_WATCH)
    assert lines(logs) == [
        ("warning", "Failed to watch"),
        ("warning", "Failed to watch (×6 in 60 s)"),  # noqa: RUF001 - times
        ("warning", "Failed to watch (×6 in 60 s)"),  # noqa: RUF001 - times
        ("warning", "Failed to watch (×6 in 60 s)"),  # noqa: RUF001 - times
        ("info", "Watching again"),
    ]
    assert logs[-1]["after"] == "200.0 s"


def test_another_kind_of_trouble_is_said_in_full() -> None:
    """A new error, or the same one at another step, is a new state; the outage began with the first."""
    rig = Rig()
    with capture_logs() as logs:
        rig.outage.wait(Doing.OPEN_WATCH, refused())
        rig.outage.wait(Doing.OPEN_WATCH, internal_error())
        rig.outage.wait(Doing.LIST, wrapped(internal_error()))
        rig.outage.wait(Doing.LIST, wrapped(internal_error()))
        rig.outage.over(Doing.OPEN_WATCH)
    assert [entry["event"] for entry in logs] == [
        "Failed to watch",
        "Failed to watch",
        "Failed to list",
        "Watching again",
    ]
    assert logs[-1]["after"] == "6.4 s"


def test_server_that_goes_is_one_trouble() -> None:
    """T01: cut off, then refused at the watch and the list: one line, and one when it is over."""
    rig = Rig()
    with capture_logs() as logs:
        rig.outage.wait(Doing.READ_WATCH, broken())
        rig.outage.wait(Doing.OPEN_WATCH, refused())
        rig.outage.wait(Doing.LIST, wrapped(refused()))
        rig.outage.wait(Doing.OPEN_WATCH, refused())
        rig.outage.over(Doing.OPEN_WATCH)
    assert lines(logs) == [("warning", "Failed to watch"), ("info", "Watching again")]
    assert logs[-1]["after"] == "6.4 s"


def test_streams_that_are_cut_off_again_are_one_trouble() -> None:
    """T27: each opens and breaks; that it opens is no end of it, and each break is no news."""
    rig = Rig()
    with capture_logs() as logs:
        for _ in range(3):
            rig.outage.wait(Doing.READ_WATCH, broken())
            rig.outage.over(Doing.OPEN_WATCH)
    assert lines(logs) == [("warning", "Failed to watch")]


def test_success_ends_only_the_trouble_up_to_it() -> None:
    """T27: that a watch can be opened is no end of trouble with reading it; an event is."""
    rig = Rig()
    with capture_logs() as logs:
        rig.outage.wait(Doing.READ_WATCH, expired())
        rig.outage.over(Doing.OPEN_WATCH)
        rig.outage.wait(Doing.READ_WATCH, expired())
        rig.outage.over(Doing.READ_WATCH)
        rig.outage.over(Doing.READ_WATCH)
    assert lines(logs) == [("info", "Failed to watch"), ("info", "Watching again")]


def test_waiting_without_trouble_says_nothing() -> None:
    """A round that merely ended waits in silence, and so does one whose error somebody else has said."""
    rig = Rig()
    with capture_logs() as logs:
        rig.outage.wait(Doing.READ_WATCH, None)
        rig.outage.wait(Doing.LIST, refused(), quiet=True)
        rig.outage.over(Doing.READ_WATCH)
    assert logs == []
    assert rig.clock.slept == [1.6, 1.6]
    assert rig.outage.last_error == str(refused())


def test_bug_is_logged_with_its_traceback() -> None:
    """What neither a server nor a network does is an error that shows where it came from."""
    with capture_logs() as logs:
        Rig().outage.wait(Doing.OPEN_WATCH, ValueError("a bug"))
    assert logs[0]["log_level"] == "error"
    assert isinstance(logs[0]["exc_info"], ValueError)


@pytest.mark.parametrize(("retry_after", "slept"), [(None, 1.6), (1.0, 1.6), (7.0, 7.0), (3600.0, 120.0)])
def test_server_may_ask_for_a_longer_pause(retry_after: float | None, slept: float) -> None:
    """T21: Retry-After makes the wait longer, never shorter, and never longer than two minutes."""
    rig = Rig()
    with capture_logs():
        rig.outage.wait(Doing.LIST, wrapped(too_many_requests(retry_after=retry_after)))
    assert rig.clock.slept == [slept]


def test_pending_retry_can_be_seen() -> None:
    """retry_at is set while waiting, and only then."""
    rig = Rig(seconds=5)
    seen: list[float | None] = []

    class Watching(SteppingClock):
        def sleep(self, seconds: float, stop: threading.Event) -> bool:
            seen.append(rig.outage.retry_at)
            return super().sleep(seconds, stop)

    rig.outage._clock = Watching()
    rig.outage.wait(Doing.LIST, None)
    assert seen == [5]
    assert rig.outage.retry_at is None


@pytest.mark.parametrize("wrap", [False, True], ids=["as it is", "wrapped"])
@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (
            api_error(404, "NotFound"),
            ["deployments.apps/v1", "manifests crd | kubectl apply -f -", "starts by itself"],
        ),
        (
            api_error(403, "Forbidden"),
            ["list and watch of deployments.apps at cluster scope", "manifests rbac", "starts by itself"],
        ),
        (api_error(401, "Unauthorized"), ["log in again"]),
    ],
    ids=["E07", "E09", "E06"],
)
def test_message_contains_the_fix(error: Exception, parts: list[str], wrap: bool) -> None:
    """E06, E07, E09, T20: where somebody has to do something, the line says what."""
    fix = fix_for(wrapped(error) if wrap else error, Deployment.resource)
    assert [part for part in parts if part not in fix] == []
    with capture_logs() as logs:
        Rig().outage.wait(Doing.LIST, error)
    assert logs[0]["fix"] == fix


def test_fix_names_the_namespace() -> None:
    """E09: in a namespaced controller the missing permission is the namespace's."""
    assert 'in namespace "demo"' in fix_for(api_error(403, "Forbidden"), Deployment.resource, "demo")


def test_there_is_no_fix_for_what_passes() -> None:
    """A server that is down or busy needs patience only."""
    for error in (refused(), internal_error(), too_many_requests(), expired()):
        assert fix_for(error, Deployment.resource) == ""
