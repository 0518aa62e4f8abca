from __future__ import annotations

import threading
from collections.abc import MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.client.errors import ConnectionBroken, ConnectionRefused, DeadlineExceeded
from handloop.informers.reflecting.listing import ListFailed
from handloop.informers.reflecting.outage import Doing, Outage
from handloop.informers.reflecting.remedy import fix_for
from handloop.informers.reflecting.retry_pause import RetryPause
from support.fake_clock import FakeClock
from support.fake_lister_watcher import (
    api_error,
    expired,
    internal_error,
)
from support.reflector_rig import CountingBackoff

Entry = MutableMapping[str, Any]


class Rig:
    def __init__(self, *, seconds: float = 1.6) -> None:
        self.clock = FakeClock(moves_itself=True)
        self.outage = Outage(
            name="deployments.apps",
            resource=Deployment.resource,
            namespace="",
            pause=RetryPause(CountingBackoff(seconds), clock=self.clock, stop=threading.Event()),
            clock=self.clock,
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


def test_a_watch_on_which_nothing_came_is_no_warning() -> None:
    """T07: nothing may have happened; but a server that does not answer after that is said at once."""
    silence = DeadlineExceeded("no complete answer in 75 s", host="https://127.0.0.1:6443", request="GET /x")
    rig = Rig()
    with capture_logs() as logs:
        rig.outage.wait(Doing.READ_WATCH, silence)
        rig.outage.wait(Doing.OPEN_WATCH, silence)
        rig.outage.wait(Doing.OPEN_WATCH, refused())
    assert lines(logs) == [("info", "Failed to watch"), ("warning", "Failed to watch")]
    assert logs[0]["err"] == "GET https://127.0.0.1:6443/x: no complete answer in 75 s"


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


def forbidden() -> ListFailed:
    error = ListFailed("failed to list deployments.apps/v1: 403")
    error.__cause__ = api_error(403, "Forbidden")
    return error


@pytest.mark.parametrize("namespace", ["", "demo"])
def test_the_line_says_what_to_do(namespace: str) -> None:
    """E06, E07, E09: where somebody has to do something, the first line has it, for the right namespace."""
    outage = Outage(
        name="deployments.apps",
        resource=Deployment.resource,
        namespace=namespace,
        pause=RetryPause(CountingBackoff(), clock=FakeClock(moves_itself=True), stop=threading.Event()),
        clock=FakeClock(moves_itself=True),
    )
    for code, reason in ((401, "Unauthorized"), (403, "Forbidden"), (404, "NotFound")):
        error = api_error(code, reason)
        with capture_logs() as logs:
            outage.wait(Doing.LIST, error)
        assert logs[0]["fix"] == fix_for(error, Deployment.resource, namespace)


def test_403_at_first_names_the_roles_at_once() -> None:
    """What never worked lacks permission: the fix is in the first line."""
    rig = Rig()
    with capture_logs() as logs:
        rig.outage.wait(Doing.LIST, forbidden())
    assert "manifests rbac" in logs[0]["fix"]
    assert "hint" not in logs[0]


def test_403_after_a_restart_of_the_server_does_not_blame_the_roles() -> None:
    """What worked before is given 15 s, in which a server reads its roles; then the fix is said."""
    rig = Rig(seconds=6.0)
    rig.outage.over(Doing.OPEN_WATCH)
    with capture_logs() as logs:
        rig.outage.wait(Doing.OPEN_WATCH, refused())
        for _ in range(5):
            rig.outage.wait(Doing.LIST, forbidden())
        rig.outage.over(Doing.OPEN_WATCH)
        rig.outage.wait(Doing.LIST, forbidden())
    gone, anew, lasting, well, again = logs
    assert gone["event"] == "Failed to watch"
    assert (anew["hint"].startswith("this was allowed before"), "fix" in anew) == (True, False)
    assert ("hint" in lasting, "manifests rbac" in lasting["fix"]) == (False, True)
    assert well["event"] == "Watching again"
    assert ("hint" in again, "fix" in again) == (True, False)
