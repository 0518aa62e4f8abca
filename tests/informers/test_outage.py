from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.apis.resource import Resource
from handloop.client.errors import ConnectionBroken, ConnectionRefused, DeadlineExceeded, TLSError
from handloop.client.rest_client import Reachability
from handloop.informers.listing import ListFailed
from handloop.informers.outage import (
    Doing,
    Hints,
    Outage,
    RetryPause,
    fix_for,
    is_unanswered,
)
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.checks.api_errors import api_error
from support.checks.threads import Background
from support.doubles.fake_lister_watcher import expired, internal_error, too_many_requests
from support.rigs.reflector_rig import CountingBackoff

Entry = MutableMapping[str, Any]

HINTS = Hints(crd_command="operator crds", rbac_command="operator roles")


class Rig:
    def __init__(
        self,
        *,
        seconds: float = 1.6,
        namespace: str = "",
        quiet: bool = False,
        hints: Hints = HINTS,
    ) -> None:
        self.clock = FakeClock(moves_itself=True)
        self.outage = Outage(
            "deployments.apps",
            Deployment.resource,
            namespace,
            pause=RetryPause(CountingBackoff(seconds), seams=Seams(clock=self.clock)),
            hints=hints,
            quiet=quiet,
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


def test_first_failure_is_reported_in_full() -> None:
    """The request, the server's answer, and the time of the next try."""
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
    """Hours of the same trouble are one line a minute, not one per try."""
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


def test_another_kind_of_trouble_is_reported_in_full() -> None:
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
    """Cut off, then refused at the watch and the list: one line, and one when it is over."""
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
    """Each opens and breaks; that it opens is no end of it, and each break is no news."""
    rig = Rig()
    with capture_logs() as logs:
        for _ in range(3):
            rig.outage.wait(Doing.READ_WATCH, broken())
            rig.outage.over(Doing.OPEN_WATCH)
    assert lines(logs) == [("warning", "Failed to watch")]


def test_success_ends_only_the_trouble_up_to_it() -> None:
    """That a watch can be opened is no end of trouble with reading it; an event is."""
    rig = Rig()
    with capture_logs() as logs:
        rig.outage.wait(Doing.READ_WATCH, expired())
        rig.outage.over(Doing.OPEN_WATCH)
        rig.outage.wait(Doing.READ_WATCH, expired())
        rig.outage.over(Doing.READ_WATCH)
        rig.outage.over(Doing.READ_WATCH)
    assert lines(logs) == [("info", "Failed to watch"), ("info", "Watching again")]


def test_a_quiet_round_is_a_debug_line() -> None:
    """Another way serves meanwhile; the wait is as long, and the end of the trouble is no line."""
    rig = Rig(quiet=True)
    with capture_logs() as logs:
        rig.outage.wait(Doing.LIST, refused(), ends_round=True)
        last_error = rig.outage.last_error
        rig.outage.over(Doing.READ_WATCH)
    assert [(line["log_level"], line["err"]) for line in logs] == [("debug", str(refused()))]
    assert rig.clock.slept == [1.6]
    assert (last_error, rig.outage.last_error) == (str(refused()), "")


def test_bug_is_logged_with_its_traceback() -> None:
    """What neither a server nor a network does is an error that shows where it came from."""
    with capture_logs() as logs:
        Rig().outage.wait(Doing.OPEN_WATCH, ValueError("a bug"))
    assert logs[0]["log_level"] == "error"
    assert isinstance(logs[0]["exc_info"], ValueError)


@pytest.mark.parametrize("namespace", ["", "demo"])
def test_the_line_has_the_fix(namespace: str) -> None:
    """E06, E07, E09: if a user has to act, the first line has the fix, for the right namespace."""
    rig = Rig(namespace=namespace)
    for code, reason in ((401, "Unauthorized"), (403, "Forbidden"), (404, "NotFound")):
        error = api_error(code, reason)
        with capture_logs() as logs:
            rig.outage.wait(Doing.LIST, error)
        assert logs[0]["fix"] == fix_for(error, Deployment.resource, namespace, hints=HINTS)


def test_an_error_is_shown_with_its_fix() -> None:
    """A reader beside the reflector's thread sees neither before the server was asked for a nearby name."""
    shown: list[tuple[str, str]] = []

    def look(_: object) -> str:
        shown.append((rig.outage.last_error, rig.outage.fix))
        return ""

    rig = Rig(hints=Hints(nearest=look))
    with capture_logs():
        rig.outage.wait(Doing.LIST, api_error(404, "NotFound"))
    look(None)
    before, (error, fix) = shown
    assert before == ("", "")
    assert error
    assert fix


def test_403_after_a_restart_of_the_server_does_not_blame_the_roles() -> None:
    """A request that worked before gets 15 s, in which a server reads its roles; then the fix is logged."""
    rig = Rig(seconds=6.0)
    rig.outage.over(Doing.OPEN_WATCH)
    with capture_logs() as logs:
        rig.outage.wait(Doing.OPEN_WATCH, refused())
        for _ in range(5):
            rig.outage.wait(Doing.LIST, wrapped(api_error(403, "Forbidden")))
        rig.outage.over(Doing.OPEN_WATCH)
        rig.outage.wait(Doing.LIST, wrapped(api_error(403, "Forbidden")))
    gone, anew, lasting, well, again = logs
    assert gone["event"] == "Failed to watch"
    assert (anew["hint"].startswith("this was allowed before"), "fix" in anew) == (True, False)
    assert ("hint" in lasting, "operator roles | kubectl apply" in lasting["fix"]) == (False, True)
    assert well["event"] == "Watching again"
    assert ("hint" in again, "fix" in again) == (True, False)


def test_429_for_a_moment_is_no_line() -> None:
    """A definition that was just made has its storage soon: after 15 s it is logged."""
    rig = Rig(seconds=6.0)
    with capture_logs() as logs:
        for _ in range(3):
            rig.outage.wait(Doing.LIST, too_many_requests())
        rig.outage.over(Doing.OPEN_WATCH)
        assert {entry["log_level"] for entry in logs} == {"debug"}
        logs.clear()
        for _ in range(4):
            rig.outage.wait(Doing.LIST, too_many_requests())
        rig.outage.over(Doing.OPEN_WATCH)
    assert [entry for entry in lines(logs) if entry[0] != "debug"] == [
        ("warning", "Failed to list"),
        ("info", "Watching again"),
    ]


def test_a_429_that_asks_for_longer_is_reported_at_once() -> None:
    """Nothing is going to change within the patience."""
    with capture_logs() as logs:
        Rig().outage.wait(Doing.LIST, too_many_requests(retry_after=3600))
    assert [(entry["log_level"], entry["retryIn"]) for entry in logs] == [("warning", "120.0 s")]


def test_the_end_of_logged_trouble_is_logged_after_a_429_too() -> None:
    """A server that comes back may ask to wait first."""
    rig = Rig()
    with capture_logs() as logs:
        rig.outage.wait(Doing.OPEN_WATCH, refused())
        rig.outage.wait(Doing.OPEN_WATCH, too_many_requests())
        rig.outage.over(Doing.OPEN_WATCH)
    assert [level for level, _ in lines(logs)] == ["warning", "debug", "info"]


# -- the cause of a failure


@pytest.mark.parametrize(
    ("error", "unanswered"),
    [
        (ConnectionRefused("refused"), True),
        (ConnectionBroken("reset"), True),
        (DeadlineExceeded("10 s"), True),
        (wrapped(ConnectionRefused("refused")), True),
        (TLSError("unknown authority"), False),
        (api_error(500, "InternalError"), False),
    ],
    ids=repr,
)
def test_no_answer_shows_in_several_ways(error: Exception, unanswered: bool) -> None:
    """Refused, cut off, or silent; a server that is not trusted, or fails, is there."""
    assert is_unanswered(error) is unanswered


# -- what to do about it


@pytest.mark.parametrize("wrap", [False, True], ids=["as it is", "wrapped"])
@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (
            api_error(404, "NotFound"),
            ["deployments.apps/v1", ", `operator crds | kubectl apply -f -`; watching starts by itself"],
        ),
        (
            api_error(403, "Forbidden"),
            [
                "list and watch of deployments.apps at cluster scope, ",
                ", `operator roles | kubectl apply -f -`; watching starts by itself",
            ],
        ),
        (api_error(401, "Unauthorized"), ["log in again"]),
    ],
    ids=["E07", "E09", "E06"],
)
def test_message_contains_the_fix(error: Exception, parts: list[str], wrap: bool) -> None:
    """E06, E07, E09: where a user has to act, the line has the fix."""
    fix = fix_for(wrapped(error) if wrap else error, Deployment.resource, hints=HINTS)
    assert [part for part in parts if part not in fix] == []


def test_fix_names_the_namespace() -> None:
    """E09: in a namespaced controller the missing permission is the namespace's."""
    fix = fix_for(api_error(403, "Forbidden"), Deployment.resource, "demo", hints=HINTS)
    assert 'in namespace "demo", `operator roles -n demo | kubectl apply -f -`; ' in fix


def test_fix_names_the_object() -> None:
    """A watch of one object is allowed by a rule with resourceNames."""
    fix = fix_for(api_error(403, "Forbidden"), Deployment.resource, "demo", object_name="web")
    named = 'deployments.apps named "web" (a rule with resourceNames does) in namespace "demo"'
    assert f"allow list and watch of {named}; " in fix


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (404, "install a CustomResourceDefinition that serves it; watching starts by itself when it appears"),
        (403, "allow list and watch of deployments.apps at cluster scope; watching starts by itself"),
    ],
)
def test_fix_of_a_program_without_commands_names_none(code: int, words: str) -> None:
    """E07, E09: the words alone have the fix; a command of another program would not help."""
    fix = fix_for(api_error(code, "NotFound" if code == 404 else "Forbidden"), Deployment.resource)
    assert words in fix
    assert "`" not in fix


def test_the_definition_of_another_program_is_not_ours_to_print() -> None:
    """E07: only the command that prints it is a fix."""
    error = api_error(404, "NotFound")
    for crds, printed in (({Deployment.resource}, True), (set(), False), (None, True)):
        hints = Hints(crd_command="operator crds", crds=None if crds is None else frozenset(crds))
        assert ("operator crds" in fix_for(error, Deployment.resource, hints=hints)) is printed


def test_there_is_no_fix_for_what_passes() -> None:
    """A server that is down or busy needs patience only."""
    for error in (ConnectionRefused("refused"), internal_error(), too_many_requests(), expired()):
        assert fix_for(error, Deployment.resource) == ""


def test_a_resource_that_the_server_has_under_another_name_is_named() -> None:
    """E07: a wrong group is a mistake in the type, and no CRD helps; nothing is asked for other errors."""
    asked: list[Resource] = []

    def nearest(resource: Resource) -> str:
        asked.append(resource)
        return "deployments.app/v1"

    hints = Hints(nearest=nearest)
    fix = fix_for(api_error(404, "NotFound"), Deployment.resource, hints=hints)
    assert "no resource deployments.apps/v1 (did you mean deployments.app/v1?): install" in fix
    fix_for(api_error(403, "Forbidden"), Deployment.resource, hints=hints)
    assert asked == [Deployment.resource]


# -- the pause between tries


class Alone:
    """A pause of a reflector that hears of no other requests."""

    def __init__(self, seconds: float = 1.6) -> None:
        self.clock = FakeClock(moves_itself=True)
        self.backoff = CountingBackoff(seconds)
        self.pause = RetryPause(self.backoff, seams=Seams(clock=self.clock))

    def fail(self, error: Exception, *, gone: bool = False) -> None:
        self.pause.wait(self.pause.seconds(error, gone=gone), gone=gone)


class Shared:
    """A pause on a server that others talk to, too."""

    def __init__(self, seconds: float = 12.0) -> None:
        self.seconds = seconds
        self.clock = FakeClock()
        self.server = Reachability(clock=self.clock)
        self.backoff = CountingBackoff(seconds)
        self.pause = RetryPause(
            self.backoff, seams=Seams(clock=self.clock, random=lambda: 0.5), reachability=self.server
        )

    def wait(self, error: Exception, *, gone: bool = True) -> Background[None]:
        """Begin to wait."""
        began_at = self.clock.now()
        seconds = self.pause.seconds(error, gone=gone)
        waiter = Background(lambda: self.pause.wait(seconds, gone=gone))
        self.clock.wait_for_deadline(began_at + self.seconds)
        return waiter

    def back(self) -> None:
        """Somebody else's request is answered, after one that was not."""
        self.server.lost()
        self.server.answered()


@pytest.mark.parametrize(("retry_after", "slept"), [(None, 1.6), (1.0, 1.6), (7.0, 7.0), (3600.0, 120.0)])
def test_server_may_ask_for_a_longer_pause(retry_after: float | None, slept: float) -> None:
    """Retry-After makes the wait longer, never shorter, and never longer than two minutes."""
    rig = Alone()
    rig.fail(wrapped(too_many_requests(retry_after=retry_after)))
    assert rig.clock.slept == [slept]


def test_pending_retry_can_be_seen() -> None:
    """retry_at is set while waiting, and only then."""
    rig = Shared()
    waiter = rig.wait(internal_error(), gone=False)
    assert rig.pause.retry_at == 12
    rig.clock.advance(12)
    waiter.result()
    assert rig.pause.retry_at is None


def test_one_answer_ends_the_outage_for_all() -> None:
    """A wait for a server that is gone ends within a second after another request's answer."""
    rig = Shared()
    rig.clock.advance(100)
    waiter = rig.wait(refused())
    rig.clock.advance(3)
    rig.back()
    rig.clock.wait_for_deadline(103.5)
    assert rig.pause.retry_at == 103.5
    rig.clock.advance(0.5)
    waiter.result()
    assert rig.backoff.resets == 1


def test_a_return_between_the_error_and_the_wait_ends_the_wait() -> None:
    """The failed request says how often the server had come back before. One return more ends the wait."""
    rig = Shared()
    rig.clock.advance(100)
    error = refused()
    error.returns_seen = rig.server.lost()
    rig.server.answered()
    outage = Outage("deployments.apps", Deployment.resource, pause=rig.pause, clock=rig.clock)
    waiter = Background(lambda: outage.wait(Doing.LIST, error))
    rig.clock.wait_for_deadline(100.5)
    rig.clock.advance(0.5)
    waiter.result()


def test_an_early_end_is_never_a_late_one() -> None:
    """The server comes back just before the wait would have ended anyway."""
    rig = Shared()
    waiter = rig.wait(refused())
    rig.clock.advance(11.9)
    rig.back()
    rig.clock.wait_for_deadline(12)
    rig.clock.advance(0.1)
    waiter.result()


def test_waits_are_cut_short_once_in_ten_seconds() -> None:
    """Where others are answered and this one never is, the back-off still counts."""
    rig = Shared()
    waiter = rig.wait(refused())
    rig.back()
    rig.clock.wait_for_deadline(0.5)
    rig.clock.advance(0.5)
    waiter.result()
    waiter = rig.wait(refused())
    rig.back()
    rig.clock.advance(12)
    waiter.result()
    waiter = rig.wait(refused())
    rig.back()
    rig.clock.wait_for_deadline(13)
    rig.clock.advance(0.5)
    waiter.result()
    assert rig.backoff.resets == 2


@pytest.mark.parametrize("seconds", [1.0, 12.0])
def test_other_waits_are_waited_out(seconds: float) -> None:
    """Answers to other requests do not end the wait after a 500; and a second's wait is not worth it."""
    rig = Shared(seconds)
    gone = seconds == 1.0
    waiter = rig.wait(refused() if gone else internal_error(), gone=gone)
    rig.back()
    rig.clock.advance(seconds - 0.5)
    assert rig.clock.deadlines() == [seconds]
    rig.clock.advance(0.5)
    waiter.result()


def test_stop_ends_a_wait_for_a_server() -> None:
    """The waits under way on that server are woken, and this one ends."""
    rig = Shared()
    waiter = rig.wait(refused())
    rig.pause.stop()
    waiter.result()


@pytest.mark.parametrize(
    "answer",
    [lambda rig: rig.fail(internal_error()), lambda rig: rig.pause.server_answered()],
    ids=["500", "success"],
)
def test_a_server_that_is_back_starts_the_back_off_anew(answer: Callable[[Alone], None]) -> None:
    """The waits that grew during an outage are not used for errors after it."""
    rig = Alone()
    for _ in range(3):
        rig.fail(refused(), gone=True)
    assert rig.backoff.resets == 0
    for _ in range(2):
        answer(rig)
    assert rig.backoff.resets == 1


def test_a_server_that_comes_and_goes_is_still_backed_off_from() -> None:
    """The back-off starts anew once in ten seconds at most."""
    rig = Alone(1.0)
    for _ in range(10):
        rig.fail(refused(), gone=True)
        rig.fail(internal_error())
    assert rig.clock.now() == 20
    assert rig.backoff.resets == 2
