"""
Rounds of a reflector, and their log lines.

REFL and WL scenarios that have no test in this form, and why:

    REFL-16         resyncs are the informer loop's and cannot fail: test_shared_informer.py
    REFL-17, -22    the pages themselves are in test_initial_list.py, a round with pages is here
    REFL-26         what is no list is any other error: test_listing.py; WL-13: test_listwatch.py
    REFL-27         the transformer is the FIFO's: test_shared_informer.py
    REFL-24         the shortest watch timeout is no setting: 5 minutes, as by default
    REFL-28         a kind always knows its resource, which names it
    REFL-15, -29    the window in which internal errors of a stream are only retried is off in client-go
                    unless a program sets it; here there is none

Where upstream's list begins at resource version "0", ours asks for the newest state: "" (DESIGN 6).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.watch_stream import EventType, WatchEvent, WrongKind
from handloop.client.errors import (
    APIError,
    ConnectionBroken,
    ConnectionRefused,
    DeadlineExceeded,
    DecodeError,
)
from handloop.client.options import ListOptions
from handloop.client.rest_client import Reachability
from handloop.informers import outage as outage_module
from handloop.informers.backoff import ExponentialBackoff
from handloop.informers.history_guard import HistoryGuard
from handloop.informers.listing import ListFailed
from handloop.informers.outage import BACKOFF_INITIAL_SECONDS, BACKOFF_MAX_SECONDS, BACKOFF_RESET_SECONDS
from handloop.informers.reflector import UNTOLD_SECONDS, State
from handloop.informers.relist_policy import RelistReason
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import added, bookmark, deleted, deployment, modified
from support.checks.api_errors import api_error
from support.checks.threads import Background
from support.checks.told_steps import Told, told_steps
from support.doubles.fake_lister_watcher import (
    FakeListerWatcher,
    FakeWatch,
    ListAnswer,
    expired,
    gone,
    internal_error,
    page,
    too_large,
    too_many_requests,
)
from support.rigs.reflector_rig import NAME, CountingBackoff, ReflectorRig, is_streaming


def error_event(error: APIError) -> WatchEvent[Deployment]:
    return WatchEvent(EventType.ERROR, error)


def listed(*items: Deployment, rv: int = 1) -> FakeListerWatcher:
    return FakeListerWatcher(lists=[page(*items, rv=rv)])


def rig_of(*lists: ListAnswer, **options: Any) -> ReflectorRig:
    """A reflector whose lists are answered so, in turn."""
    return ReflectorRig(FakeListerWatcher(lists=lists), **options)


def streaming() -> FakeListerWatcher:
    return FakeListerWatcher(supports_watch_list=True)


def reflector_backoff(clock: FakeClock, draw: Callable[[], float]) -> ExponentialBackoff:
    """The one that a reflector has in a program."""
    return ExponentialBackoff(
        BACKOFF_INITIAL_SECONDS,
        BACKOFF_MAX_SECONDS,
        BACKOFF_RESET_SECONDS,
        seams=Seams(clock=clock, random=draw),
    )


# -- the round


def test_stopped_reflector_asks_for_nothing() -> None:
    """Neither list nor watch is called, by a round or by run."""
    rig = ReflectorRig()
    rig.reflector.stop()
    rig.round()
    rig.run()
    assert rig.source.list_options == rig.source.watch_options == []


def test_stop_on_an_open_stream_is_no_error() -> None:
    """The round returns, and the stream is closed."""
    rig = ReflectorRig(listed())
    watch = rig.last_watch()
    logs = rig.round()
    assert watch.is_closed
    assert logs == []


def test_events_read_after_the_stop_are_dropped() -> None:
    """The stream is read once more, and nothing of it is used."""
    rig = ReflectorRig(listed())
    watch = rig.watch()
    watch.then(rig.reflector._stop.set).send(added(deployment("late", 9)))
    rig.round()
    assert (rig.store.objects, watch.reads, watch.closes) == ({}, 1, 1)


def test_stop_while_listing_drops_the_list() -> None:
    """A list that comes after the stop is not published."""

    def answer(_: ListOptions) -> ListPage[Deployment]:
        rig.reflector.stop()
        return page(deployment("a"))

    rig = rig_of(answer)
    rig.round()
    assert rig.store.replaces == []


@pytest.mark.parametrize("request_kind", ["lists", "watches"])
def test_stop_while_a_request_fails_is_no_error(request_kind: str) -> None:
    """A list or a watch that fails after the stop ends the round in silence."""

    def refuse(_: ListOptions) -> Any:
        rig.reflector.stop()
        raise ConnectionRefused("refused")

    rig = ReflectorRig(FakeListerWatcher(lists=[page()] if request_kind == "watches" else []))
    getattr(rig.source, request_kind).append(refuse)
    logs = rig.run()
    assert logs == []


def test_what_ends_a_program_ends_no_reflector() -> None:
    """A transform may raise SystemExit: the round fails, is logged with its name, and the next one lists."""
    raised = iter([SystemExit(3)])

    def transform(obj: Deployment) -> Deployment:
        for error in raised:
            raise error
        return obj

    rig = rig_of(page(deployment("a"), rv=10), page(deployment("a"), rv=11), transform=transform)
    logs = rig.last_run()
    assert list(rig.store.objects) == ["a"]
    assert any("SystemExit(3)" in line["err"] for line in logs)


# -- the list


def test_a_list_of_the_newest_state_is_bounded_by_no_version() -> None:
    """A server that is behind may answer a list that must not be older than 10 alone."""
    rig = rig_of(page(rv=10), page(rv=12), page(rv=13))
    rig.watch().then(rig.reflector.list_newest)
    rig.expiring_watch()
    rig.last_watch()
    for _ in range(3):
        rig.round()
    assert rig.asked_versions() == ["", "", "12"]
    assert rig.reflector.statistics().relists == {"takeover": 1, "expired": 1}


def test_a_list_of_the_newest_state_that_fails_is_one_when_it_is_tried_again() -> None:
    """The wish outlives an error, and ends with the list."""
    rig = rig_of(page(rv=10), internal_error(), page(rv=12))
    rig.watch().then(rig.reflector.list_newest)
    rig.last_watch()
    rig.run()
    assert rig.asked_versions() == ["", "", ""]


def test_known_version_bounds_the_next_list() -> None:
    """Lists at "" and "10", the second not older than; both by pages."""
    answers = [page(deployment("a"), rv=10, token="C1"), page(deployment("b"), rv=10), page(rv=12)]
    rig = rig_of(*answers)
    rig.expiring_watch()
    rig.last_round()
    rig.round()
    first, _, second = rig.source.list_options
    assert first == ListOptions(limit=500)
    assert second == ListOptions(resource_version="10", resource_version_match="NotOlderThan", limit=500)


def test_version_of_no_use_is_given_up_in_every_spelling() -> None:
    """Expired or too large: lists at "", "20", "", "30", "", "40", "", "50", "" (there the first is "0")."""
    spellings = [
        expired(),
        api_error(504, "Timeout", "any", cause="ResourceVersionTooLarge"),
        api_error(504, "Timeout", "Timeout: Too large resource version: 30, current: 25"),
        too_large(),
    ]
    lists: list[ListAnswer] = [page(rv=20)]
    for number, error in enumerate(spellings):
        lists += [error, page(rv=30 + 10 * number)]
    rig = rig_of(*lists)
    for _ in spellings:
        rig.expiring_watch()
        rig.round()
    rig.last_round()
    assert rig.asked_versions() == ["", "20", "", "30", "", "40", "", "50", ""]
    assert rig.rv() == "60"


def test_watch_that_may_not_be_opened_ends_the_round() -> None:
    """The round's error is the watch's; the store has the content of the list."""
    error = api_error(403, "Forbidden", "not allowed")
    rig = ReflectorRig(listed(deployment("a", 5), rv=7))
    rig.source.watches.append(error)
    with pytest.raises(APIError, match="not allowed"):
        rig.round()
    assert rig.store.versions() == {"a": "5"}
    assert rig.rv() == "7"


def test_list_that_the_store_does_not_take_fails() -> None:
    """The version is not taken either; the next round asks for the newest state again."""
    rig = rig_of(page(rv=5), page(rv=5))
    rig.store.fail_replace = ValueError("no key")
    with pytest.raises(ListFailed, match="unable to sync list result: no key"):
        rig.round()
    assert rig.rv() == ""
    rig.store.fail_replace = None
    rig.last_round()
    assert rig.asked_versions() == ["", ""]


@pytest.mark.parametrize("broken_page", [0, 1, 2])
def test_list_that_breaks_at_any_page_publishes_nothing(broken_page: int) -> None:
    """The old content is kept, and the whole list is asked for again."""
    answers: list[ListAnswer] = [page(deployment(f"d{n}"), rv=5, token=f"C{n}") for n in range(broken_page)]
    rig = rig_of(page(deployment("old"), rv=4), *answers, ConnectionBroken("reset"), page(rv=6))
    rig.expiring_watch()
    rig.round()
    with pytest.raises(ListFailed):
        rig.round()
    assert sorted(rig.store.objects) == ["old"]
    rig.last_round()
    assert rig.store.replaces == ["4", "6"]


# -- the streaming list


def test_streaming_list_is_one_request() -> None:
    """Version "" NotOlderThan, initial events, bookmarks; later events come on the same stream; no list."""
    rig = ReflectorRig(streaming())
    rig.last_round([added(deployment("a", 1)), bookmark(2, ends_list=True)], [added(deployment("b", 3))])
    assert rig.source.watch_options == [
        ListOptions(
            resource_version_match="NotOlderThan",
            allow_watch_bookmarks=True,
            send_initial_events=True,
            timeout_seconds=300,
        )
    ]
    assert rig.store.versions() == {"a": "1", "b": "3"}
    assert rig.store.replaces == ["2"]
    assert rig.rv() == "3"


def test_events_in_the_block_that_ends_the_list_are_kept() -> None:
    """Events after the bookmark in the same block are applied after the list."""
    rig = ReflectorRig(streaming())
    block = [added(deployment("a", 1)), bookmark(2, ends_list=True), modified(deployment("a", 4))]
    rig.last_round(block)
    assert rig.store.replaces == ["2"]
    assert rig.store.versions() == {"a": "4"}


def test_stop_ends_a_wait_for_a_server_that_is_gone() -> None:
    """A reflector that waits for the server's return, with others, ends at once."""
    clock = FakeClock()
    source = FakeListerWatcher()
    source.every_list = ConnectionRefused("refused")
    rig = ReflectorRig(
        source, backoff=CountingBackoff(12.0), reachability=Reachability(clock=clock), clock=clock
    )
    with capture_logs():
        thread = Background(rig.reflector.run)
        clock.wait_for_deadline(12)
        rig.reflector.stop()
        thread.result()


def test_refused_streaming_falls_back_to_pages_for_this_round() -> None:
    """List "" limit 500, then a watch at its version; the next round tries streaming again."""
    rig = ReflectorRig(FakeListerWatcher(lists=[page(deployment("p1"), rv=1)], supports_watch_list=True))
    rig.source.watches.append(api_error(422, "Invalid"))
    rig.expiring_watch([added(deployment("p2", 2))])
    rig.round()
    assert rig.source.list_options == [ListOptions(limit=500)]
    assert rig.watched_versions() == ["", "1"]
    assert sorted(rig.store.objects) == ["p1", "p2"]
    rig.last_round([bookmark(9, ends_list=True)])
    assert [is_streaming(options) for options in rig.source.watch_options] == [True, False, True]


def test_watch_after_a_streaming_list_is_a_plain_one() -> None:
    """The stream ends after the list at "3": the next is a watch at "3" without initial events."""
    rig = ReflectorRig(streaming())
    rig.watch([added(deployment("p1", 1)), bookmark(3, ends_list=True)]).end()
    rig.last_round()
    assert rig.source.watch_options[1] == ListOptions(
        resource_version="3", allow_watch_bookmarks=True, timeout_seconds=300
    )


def test_expired_version_at_the_reopening_ends_the_round() -> None:
    """The round's error is the 410; the store keeps its content."""
    rig = ReflectorRig(streaming())
    rig.watch([added(deployment("p1", 1)), bookmark(3, ends_list=True)]).end()
    rig.source.watches.append(expired())
    with pytest.raises(APIError, match="too old"):
        rig.round()
    assert rig.store.versions() == {"p1": "1"}


@pytest.mark.parametrize(
    ("events", "rv"),
    [
        ([], ""),
        ([added(deployment("p1", 7))], ""),
        ([added(deployment("p1", 7)), bookmark(2, ends_list=True)], "2"),
    ],
    ids=["nothing", "only ADDED", "ADDED and the bookmark"],
)
def test_version_comes_from_the_bookmark(events: list[WatchEvent[Deployment]], rv: str) -> None:
    """Initial events do not move the version, the bookmark that ends them does; before it nothing is used."""
    rig = ReflectorRig(streaming())
    rig.last_round(*([events] if events else []))
    assert rig.rv() == rv
    assert rig.store.replaces == ([rv] if rv else [])


# -- the watch


def test_very_short_watch_is_opened_again_after_a_pause() -> None:
    """Closed at once without an event: a pause, then a new watch, no list (there a list)."""
    rig = ReflectorRig(listed(rv=5))
    short = rig.watch().end()
    logs = rig.last_round()
    assert short.is_closed
    assert rig.clock.slept == [1]
    assert rig.watched_versions() == ["5", "5"]
    assert "within a second" in logs[0]["err"]


def test_watch_that_ends_as_it_should_is_followed_at_once() -> None:
    """After a second, or after an event, the end of a stream costs neither a pause nor a list."""
    rig = ReflectorRig(listed(rv=5))
    rig.watch().then(lambda: rig.clock.advance(1)).end()
    rig.watch([added(deployment("a", 6))]).end()
    rig.last_round()
    assert rig.watched_versions() == ["5", "5", "6"]
    assert (rig.clock.slept, rig.backoff.calls) == ([], 0)
    assert rig.metrics.made["watch_restarts", NAME].value == 2


def test_events_change_the_store() -> None:
    """A wrong type is ignored; the last version is that of the last event, not the highest."""
    guard: HistoryGuard[Deployment] = HistoryGuard()
    rig = ReflectorRig(listed(deployment("foo", 1), deployment("bar", 1)), guard=guard)
    rig.last_watch(
        [
            WatchEvent(EventType.ADDED, WrongKind("v1", "Pod")),
            deleted(deployment("foo", 10)),
            modified(deployment("bar", 55)),
            added(deployment("baz", 32)),
        ]
    )
    logs = rig.round()
    assert rig.store.versions() == {"bar": "55", "baz": "32"}
    assert rig.rv() == "32"
    assert [entry["event"] for entry in logs] == [
        "Unexpected watch event ignored",
        "Server sends events out of order; old ones are dropped",
    ]
    assert guard.is_needed


def test_busy_server_makes_us_wait_without_a_list() -> None:
    """429 on opening, then on the stream: a pause each, the same version, no list."""
    rig = ReflectorRig(listed(rv=5))
    rig.source.watches += [too_many_requests()] * 4
    rig.watch([error_event(too_many_requests())])
    rig.last_round()
    assert rig.backoff.calls == 5
    assert rig.watched_versions() == ["5"] * 6
    assert len(rig.source.list_options) == 1


@pytest.mark.parametrize("lasting", [None, DeadlineExceeded("silent")], ids=["ended", "silent"])
def test_trouble_is_over_once_a_watch_lasts(lasting: Exception | None) -> None:
    """An idle kind has no event that would show it: the end of the next stream does, as after any success."""
    rig = ReflectorRig(listed(rv=5))
    rig.watch().fail(ConnectionBroken("reset"))
    lasts = rig.watch().then(lambda: rig.clock.advance(75))
    _ = lasts.end() if lasting is None else lasts.fail(lasting)
    logs = rig.last_round()
    said = [entry["event"] for entry in logs if entry["log_level"] != "debug"]
    assert said == ["Failed to watch", "Watching again"]


@pytest.mark.parametrize(("drawn", "seconds"), [(0.0, 300), (0.5, 450), (0.999, 599)])
def test_watches_ask_to_be_ended_after_a_random_time(drawn: float, seconds: int) -> None:
    """300 to 600 s."""
    rig = ReflectorRig(listed(), random=lambda: drawn)
    rig.last_round()
    assert rig.source.watch_options[0].timeout_seconds == seconds


def test_every_event_moves_the_published_version() -> None:
    """List 10, events 10, 20, bookmark 30, deleted 40: the gauge follows (there a hook)."""
    rig = ReflectorRig(listed(rv=10))
    rig.last_watch(
        [added(deployment("a", 10))],
        [modified(deployment("a", 20))],
        [bookmark(30)],
        [deleted(deployment("a", 40))],
    )
    rig.round()
    assert rig.metrics.made["store_resource_version", NAME].values == [10, 10, 20, 30, 40]


@pytest.mark.parametrize("rv", ["", "0"])
def test_synthetic_events_do_not_move_the_version(rv: str) -> None:
    """After a watch at "" or "0", ADDED events come in no order; the first other event counts."""
    rig = rig_of(page(rv=rv))
    seen: list[str] = []
    rig.store.on_change = lambda: seen.append(rig.rv())
    watch = rig.watch([added(deployment("a", 9))], [added(deployment("b", 4))])
    watch.then(lambda: seen.append(rig.rv()))
    watch.send(modified(deployment("a", 12))).then(lambda: seen.append(rig.rv()))
    watch.send(added(deployment("c", 13))).then(rig.reflector.stop)
    rig.round()
    assert seen == ["", rv, rv, rv, rv, "12", "12"]
    assert rig.rv() == "13"


@pytest.mark.parametrize("error", [expired(), gone()], ids=["Expired", "Gone"])
def test_expired_stream_leads_to_a_list_at_the_last_version(error: APIError) -> None:
    """The round ends without an error; the next list is at "7"."""
    rig = rig_of(page(rv=5), page(rv=9))
    rig.watch([added(deployment("a", 7)), error_event(error)])
    rig.last_watch()
    before = rig.reflector.statistics()
    rig.run()
    assert rig.asked_versions() == ["", "7"]
    assert rig.clock.slept == [1]
    assert (before.relists, rig.reflector.statistics().relists) == ({}, {"expired": 1})
    assert rig.metrics.made["relists", NAME, RelistReason.EXPIRED].value == 1


def told_facts(told: Told) -> list[dict[str, Any]]:
    """The facts of the steps; of a reason the first word."""
    return [facts | ({"broke": facts["broke"].split()[0]} if "broke" in facts else {}) for *_, facts in told]


def test_each_turn_of_list_and_watch_is_a_step() -> None:
    """Why it lists, from where it watches, why and for how long it waits: in order, each once."""
    rig = rig_of(page(rv=5), page(rv=9))
    rig.watch().fail(ConnectionBroken("reset"))
    rig.watch([added(deployment("a", 7))]).end()
    rig.watch([error_event(expired())])
    rig.last_watch()
    with told_steps() as told:
        rig.run()
    assert told_facts(told) == [
        {"listing": "first", "by": "pages", "resource_version": ""},
        {"listed": 0, "resource_version": "5"},
        {"opened": True, "resource_version": "5"},
        {"broke": "ConnectionBroken:", "doing": "READ_WATCH", "seconds": 1},
        {"opened": True, "resource_version": "5"},
        {"events": 1, "resource_version": "7", "type": "Added", "name": "default/a"},
        {"ended": "", "resource_version": "7"},
        {"opened": True, "resource_version": "7"},
        {"broke": "Expired:", "doing": "READ_WATCH", "seconds": 1, "expired": True},
        {"listing": "expired", "by": "pages", "resource_version": "7"},
        {"listed": 0, "resource_version": "9"},
        {"opened": True, "resource_version": "9"},
    ]
    assert {(number, name, key) for number, name, key, _ in told} == {(1, NAME, "")}


def test_a_server_that_is_away_and_a_silent_watch_are_steps() -> None:
    """A list and a watch that get no answer wait for it; a silent watch is closed without a wait."""
    refused = ConnectionRefused("refused")
    rig = rig_of(refused, page(rv=5))
    rig.source.watches.append(refused)
    rig.watch().fail(DeadlineExceeded("silent"))
    rig.last_watch()
    with told_steps() as told:
        rig.run()
    assert told_facts(told) == [
        {"listing": "first", "by": "pages", "resource_version": ""},
        {"broke": "ConnectionRefused:", "doing": "LIST", "seconds": 1},
        {"listing": "first", "by": "pages", "resource_version": ""},
        {"listed": 0, "resource_version": "5"},
        {"broke": "ConnectionRefused:", "doing": "OPEN_WATCH", "seconds": 1},
        {"opened": True, "resource_version": "5"},
        {"ended": "silent", "resource_version": "5"},
        {"opened": True, "resource_version": "5"},
    ]


def test_delay_falls_back_after_two_minutes_of_failure() -> None:
    """Under lasting failure the pause grows to 30 s and starts over about every two minutes."""
    clock = FakeClock(moves_itself=True)
    rig = ReflectorRig(listed(), clock=clock, backoff=reflector_backoff(clock, lambda: 0.5))
    rig.source.watches += [ConnectionRefused("refused")] * 16
    rig.last_round()
    base = [pause / 1.5 for pause in clock.slept]
    assert base[:7] == pytest.approx([0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30])
    starts = [number for number, pause in enumerate(base) if pause == pytest.approx(0.8)]
    assert starts == [0, 7, 14]


# -- connections that break


def cut_anywhere(error: Exception, after: int) -> ReflectorRig:
    """A watch of four events that is cut by error after some; the next one brings the rest."""
    events = [added(deployment(f"d{rv}", rv)) for rv in (11, 12, 13, 14)]
    rig = ReflectorRig(listed(rv=10))
    rig.watch(*[[event] for event in events[:after]]).fail(error)

    def resume(options: ListOptions) -> FakeWatch[Deployment]:
        since = int(options.resource_version or 0)
        rest = [event for event in events if int(event.object.metadata.resource_version) > since]  # type: ignore[union-attr]
        watch: FakeWatch[Deployment] = FakeWatch(*([rest] if rest else []))
        return watch.then(rig.reflector.stop)

    rig.source.watches.append(resume)
    return rig


@pytest.mark.parametrize("after", range(5))
@pytest.mark.parametrize(
    ("error", "slept"),
    [
        (ConnectionBroken("reset"), [1]),
        (DecodeError("unterminated tail"), [1]),
        (DeadlineExceeded("silent"), []),
    ],
    ids=["cut", "unreadable", "silent"],
)
def test_cut_stream_goes_on_after_the_last_event(error: Exception, after: int, slept: list[float]) -> None:
    """Wherever a stream is cut, the next one continues; a silent one is no failure."""
    rig = cut_anywhere(error, after)
    logs = rig.round()
    assert sorted(rig.store.objects) == ["d11", "d12", "d13", "d14"]
    assert len(rig.source.list_options) == 1
    assert rig.watched_versions() == ["10", str(10 + after)]
    assert rig.clock.slept == slept
    assert (["Failed to watch"] if slept else []) == [
        entry["event"] for entry in logs if entry["log_level"] == "warning"
    ]


def test_thousand_short_watches_are_no_storm() -> None:
    """Watches that end at once: the requests stay under 0.3 a second."""
    clock = FakeClock(moves_itself=True)
    source = FakeListerWatcher()
    source.every_list = page(rv=5)
    source.every_watch = lambda _: FakeWatch(None)
    rig = ReflectorRig(source, clock=clock, backoff=reflector_backoff(clock, random.Random(1).random))
    source.watches.extend([*[lambda _: FakeWatch(None)] * 1000, _stopping(rig)])
    logs = rig.run()
    requests = len(source.watch_options) + len(source.list_options)
    assert requests / clock.now() <= 0.3
    assert len(logs) / (clock.now() / 60) <= 2


def test_thousand_expired_versions_are_no_storm() -> None:
    """Every new version expires at once: at most 0.3 lists a second, one line a minute."""
    clock = FakeClock(moves_itself=True)
    source = FakeListerWatcher()
    source.every_list = page(rv=5)
    rig = ReflectorRig(source, clock=clock, backoff=reflector_backoff(clock, random.Random(1).random))
    source.watches.extend([*[lambda _: FakeWatch([error_event(expired())])] * 1000, _stopping(rig)])
    logs = rig.run()
    assert len(source.list_options) / clock.now() <= 0.3
    assert len(logs) / (clock.now() / 60) <= 1.1


def _stopping(rig: ReflectorRig) -> FakeWatch[Deployment]:
    return FakeWatch[Deployment]().then(rig.reflector.stop)


def test_unreadable_stream_leads_to_a_list_in_the_end() -> None:
    """An event that can never be read does not hold up the cache for ever."""
    rig = rig_of(page(rv=5), page(deployment("a", 6), rv=9))
    for _ in range(5):
        rig.watch().fail(DecodeError("bad line"))
    rig.last_run()
    assert rig.rv() == "9"
    assert rig.reflector.statistics().relists == {"unreadable": 1}


def test_bookmarks_alone_keep_the_watch_alive() -> None:
    """Hours of bookmarks: the version advances, nothing is queued, no list on reconnecting."""
    rig = ReflectorRig(listed(rv=5))
    for rv in range(6, 30):
        rig.watch([bookmark(rv)]).end()
    rig.last_round()
    assert rig.rv() == "29"
    assert rig.watched_versions() == [str(rv) for rv in range(5, 30)]
    assert rig.store.replaces == ["5"]
    # the list, and of every watch its opening, its bookmark, and its end
    heard = rig.metrics.made["last_event_timestamp", NAME]
    assert (len(heard.values), heard.value) == (1 + 24 * 3 + 1, rig.clock.time())


def test_silence_where_bookmarks_came_leads_to_a_list() -> None:
    """After a restored backup the server is silent, as our version is in its future; a list shows it."""
    rig = rig_of(
        page(deployment("a", 90), rv=100),
        page(deployment("a", 40), rv=50),
        too_large(),
        page(deployment("a", 40), rv=50),
    )
    rig.watch([bookmark(100)]).fail(DeadlineExceeded("silent"))
    rig.watch().fail(DeadlineExceeded("silent"))
    rig.watch().fail(DeadlineExceeded("silent"))
    logs = rig.last_run()
    assert rig.asked_versions() == ["", "", "100", ""]
    assert [options.limit for options in rig.source.list_options][1] == 1
    assert (rig.rv(), rig.store.versions()) == ("50", {"a": "40"})
    rewound = [entry for entry in logs if entry["event"] == "Cluster history rewound"]
    assert [(entry["log_level"], entry["resourceVersion"], entry["seen"]) for entry in rewound] == [
        ("error", "50", "100")
    ]
    assert rig.reflector.statistics().relists == {"silent": 1}


@pytest.mark.parametrize("newest", [100, 120])
def test_silence_of_an_idle_cluster_needs_no_list(newest: int) -> None:
    """A server that is not behind is asked for one object, and watched from where the last watch ended."""
    rig = rig_of(page(deployment("a", 90), rv=100), *[page(deployment("a", 90), rv=newest)] * 2)
    rig.watch([bookmark(100)]).fail(DeadlineExceeded("silent"))
    for _ in range(4):
        rig.watch().fail(DeadlineExceeded("silent"))
    logs = rig.last_run()
    assert [(entry["log_level"], entry.get("v")) for entry in logs] == [("debug", 4)] * 5
    assert rig.metrics.made["silent_watches", NAME].value == 5
    assert [options.limit for options in rig.source.list_options][1:] == [1, 1]
    assert rig.store.replaces == ["100"]
    assert rig.watched_versions() == ["100"] * 6
    assert rig.reflector.statistics().relists == {}


def test_silence_of_a_server_that_does_not_answer_leads_to_a_list() -> None:
    """A server that cannot be asked is listed, so that the error is met and logged where others are."""
    rig = rig_of(page(rv=100), DeadlineExceeded("slow"), page(deployment("a", 110), rv=110))
    rig.watch([bookmark(100)]).fail(DeadlineExceeded("silent"))
    for _ in range(2):
        rig.watch().fail(DeadlineExceeded("silent"))
    rig.last_run()
    assert rig.store.replaces == ["100", "110"]
    assert rig.reflector.statistics().relists == {"silent": 1}


def test_list_from_the_past_is_not_published_before_it_lasts() -> None:
    """A lagging server is asked again, for its newest state; the cache never goes back."""
    rig = rig_of(page(deployment("a", 9), rv=10), page(rv=7), page(rv=8), page(rv=12))
    rig.expiring_watch()
    logs = rig.last_run()
    assert rig.store.replaces == ["10", "12"]
    assert rig.asked_versions() == ["", "10", "", ""]
    assert "7, but 10 was seen before" in logs[1]["err"]


def test_past_that_lasts_is_the_truth() -> None:
    """After 30 s of lists from the past the history is taken to be rewound, and that is logged."""
    source = FakeListerWatcher(lists=[page(rv=10)])
    source.every_list = page(rv=7)
    rig = ReflectorRig(source)
    rig.expiring_watch()
    logs = rig.last_run()
    assert rig.store.replaces == ["10", "7"]
    assert rig.clock.now() == pytest.approx(31)
    assert "Cluster history rewound" in [entry["event"] for entry in logs]


def test_bookmark_from_the_past_leads_to_a_list() -> None:
    """A server whose history ends before what it sent is asked for a list."""
    rig = rig_of(page(rv=10), page(rv=12))
    rig.watch([bookmark(7)])
    rig.last_run()
    assert rig.asked_versions() == ["", "10"]
    assert rig.reflector.statistics().relists == {"rewound": 1}


# -- its log lines


def test_a_quiet_reflector_logs_what_ends_a_round_for_debugging_alone() -> None:
    """List and open errors; what they say is in the statistics as ever."""
    denied = api_error(403, "Forbidden", "Access Denied")
    rig = rig_of(denied, page(), page(), quiet=True)
    rig.source.watches.append(denied)
    logs = rig.last_run()
    assert [(line["log_level"], "Access Denied" in line["err"]) for line in logs] == [("debug", True)] * 2
    assert rig.reflector.statistics().relists == {"error": 1}


def test_a_log_that_cannot_be_written_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full while the server refuses us; a logger that raises costs a pause and no thread."""
    lines = iter([OSError("No space left on device")])

    def full(*_: object, **__: object) -> None:
        for error in lines:
            raise error

    monkeypatch.setattr(outage_module.log, "error", full, raising=False)
    monkeypatch.setattr(outage_module.log, "warning", full, raising=False)
    rig = rig_of(api_error(403, "Forbidden", "no"), page(rv=7))
    rig.last_run()
    assert rig.rv() == "7"
    assert next(lines, None) is None
    assert rig.clock.slept == [UNTOLD_SECONDS]


def test_missing_permission_is_reported_at_once_and_passes_by_itself() -> None:
    """E09: one line with the fix, and one when it works; no restart."""
    rig = ReflectorRig(FakeListerWatcher(lists=[api_error(403, "Forbidden", "cannot list")] * 3 + [page()]))
    logs = rig.last_run()
    assert [entry["event"] for entry in logs] == ["Failed to list", "Watching again"]
    assert logs[0]["fix"].startswith("allow list and watch of deployments.apps at cluster scope")
    assert logs[0]["retryIn"] == "1.0 s"


def test_statistics_show_where_a_round_is() -> None:
    """The state, the pages so far, the retry that is pending; the last error until it is over."""
    rig = ReflectorRig()
    seen = []

    def second_page(_: ListOptions) -> ListPage[Deployment]:
        seen.append(rig.reflector.statistics())
        return page(deployment("b"), rv=5)

    rig.source.lists += [page(deployment("a"), rv=5, token="C1"), second_page]
    rig.watch().fail(ConnectionBroken("reset"))

    watch = FakeWatch[Deployment]().then(lambda: seen.append(rig.reflector.statistics()))
    watch.send(added(deployment("c", 6))).then(rig.reflector.stop)

    def open_again(_: ListOptions) -> FakeWatch[Deployment]:
        seen.append(rig.reflector.statistics())
        return watch

    rig.source.watches.append(open_again)
    rig.round()
    assert (seen[0].state, seen[0].listed, seen[0].page) == (State.LISTING, 1, 1)
    assert (seen[1].state, seen[1].last_error, seen[1].last_event_at) == (State.LISTED, "reset", 0.0)
    assert (seen[2].state, seen[2].last_error, seen[2].last_event_at) == (State.WATCHING, "", 1.0)
    after = rig.reflector.statistics()
    assert (after.state, after.watches, after.last_sync_resource_version) == (State.EMPTY, 2, "6")
    assert (after.last_error, after.retry_at, after.last_event_at) == ("", None, 1.0)


@pytest.mark.parametrize(
    ("error", "heard_at"),
    [(None, 600.0), (ConnectionBroken("reset"), 600.0), (DeadlineExceeded("nothing for 75 s"), 0.0)],
    ids=["ended", "cut", "silent"],
)
def test_an_idle_watch_was_new_until_it_broke(error: Exception | None, heard_at: float) -> None:
    """Ten minutes without an event are no lag: it counts from the end of the stream, or of one that hung."""
    rig = ReflectorRig(listed(rv=5))
    idle = rig.watch().then(lambda: rig.clock.advance(600.0))
    _ = idle.end() if error is None else idle.fail(error)

    def refuse(_: ListOptions) -> FakeWatch[Deployment]:
        rig.reflector.stop()
        raise ConnectionRefused("gone")

    rig.source.watches.append(refuse)
    rig.round()
    assert rig.reflector.statistics().last_event_at == heard_at


# -- its counts
