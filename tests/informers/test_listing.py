"""How one complete list is had. WL and REFL scenarios that need a round are in test_reflector.py."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext

import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.watch_stream import EventType, WatchEvent
from handloop.client.errors import APIError, ConnectionBroken, ConnectionRefused
from handloop.client.options import ListOptions
from handloop.informers.listing import CompleteList, ListFailed, Listing, StaleList
from handloop.informers.listwatch import OpenResponse
from handloop.informers.outage import Outage, RetryPause
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import added, bookmark, deployment, names
from support.checks.api_errors import api_error
from support.doubles.fake_lister_watcher import (
    FakeListerWatcher,
    FakeWatch,
    ListAnswer,
    WatchAnswer,
    expired,
    page,
    too_large,
    too_many_requests,
)
from support.rigs.reflector_rig import CountingBackoff


class Rig:
    def __init__(self, source: FakeListerWatcher) -> None:
        self.source = source
        self.clock = FakeClock(moves_itself=True)
        self.pause = RetryPause(CountingBackoff(), seams=Seams(clock=self.clock))
        self.response = OpenResponse(
            source, stopped=self.pause.stopped, seams=Seams(clock=self.clock, random=lambda: 0.0)
        )
        self.listing: Listing[Deployment] = Listing(
            source,
            Deployment,
            self.response,
            Outage("deployments.apps", Deployment.resource, pause=self.pause, clock=self.clock),
            clock=self.clock,
        )
        self.listing.begin_round()

    def get(self, not_older_than: str = "") -> CompleteList[Deployment]:
        """Read until the list is complete, as a round does."""
        while True:
            while not self.listing.in_progress:
                self.listing.begin(not_older_than)
            complete = self.listing.advance()
            if complete is not None:
                return complete


def pages(*answers: ListAnswer) -> Rig:
    return Rig(FakeListerWatcher(lists=answers))


def streams(*answers: WatchAnswer, lists: Sequence[ListAnswer] = ()) -> Rig:
    return Rig(FakeListerWatcher(watches=answers, lists=lists, supports_watch_list=True))


def initial(*objects: Deployment, rv: str = "5") -> list[WatchEvent[Deployment]]:
    return [*(added(obj) for obj in objects), bookmark(rv, ends_list=True)]


def test_pages_make_a_list() -> None:
    """A source without streaming lists is read by pages, and the objects read so far can be seen."""
    rig = pages(page(deployment("a"), rv=5, token="C1"), page(deployment("b"), rv=5))
    rig.listing.begin("")
    assert rig.listing.advance() is None
    assert (rig.listing.listed, rig.listing.page) == (1, 1)
    complete = rig.listing.advance()
    assert complete is not None
    assert (names(complete.items), complete.resource_version, complete.rest) == (["a", "b"], "5", None)
    assert (rig.listing.listed, rig.listing.page) == (0, 0)


@pytest.mark.parametrize(
    "error", [api_error(422, "Invalid"), api_error(500, "InternalError"), ConnectionBroken("reset")], ids=repr
)
def test_refused_stream_is_replaced_by_pages(error: Exception) -> None:
    """Whatever the server has against streaming, it is asked for pages, in this round."""
    rig = streams(error, lists=[page(deployment("a"))])
    assert names(rig.get().items) == ["a"]
    assert rig.clock.slept == []


@pytest.mark.parametrize("error", [ConnectionRefused("refused"), too_many_requests()], ids=repr)
def test_unreachable_or_busy_server_is_asked_for_the_stream_again(error: Exception) -> None:
    """Twice refused, the third request succeeds; all three are the same; one pause before each."""
    rig = streams(error, error, FakeWatch(initial(deployment("a"))))
    with capture_logs():
        rig.get("3")
    assert [options.resource_version for options in rig.source.watch_options] == ["3", "3", "3"]
    assert rig.clock.slept == [1, 1]


@pytest.mark.parametrize("error", [expired(), too_large()], ids=repr)
@pytest.mark.parametrize("where", ["open", "event"])
def test_stream_at_a_useless_version_is_asked_for_the_newest_state(where: str, error: APIError) -> None:
    """Expired or too large, on opening or as an event: at once, without a version, the next time as well."""
    first: WatchAnswer = error
    if where == "event":
        first = FakeWatch([WatchEvent(EventType.ERROR, error)])
    rig = streams(first, *[FakeWatch(initial(deployment("a"))) for _ in range(3)])
    rig.get("3")
    rig.response.close()
    rig.get("3")
    rig.response.close()
    rig.listing.published()
    rig.get("3")
    assert [options.resource_version for options in rig.source.watch_options] == ["3", None, None, "3"]
    assert rig.clock.slept == []


@pytest.mark.parametrize(("error", "taken"), [(expired(), False), (too_large(), True)], ids=repr)
def test_list_from_the_past_is_refused_unless_the_server_denies_what_was_seen(
    error: Exception, taken: bool
) -> None:
    """kubernetes#107457: a server that answers "too large" has no later state; a lagging one may have."""
    rig = pages(error, page(deployment("a"), rv=2))
    with (
        nullcontext()
        if taken
        else pytest.raises(StaleList, match="at resource version 2, but 3 was seen before")
    ):
        rig.get("3")


def test_server_that_expires_even_its_newest_state_is_asked_for_pages() -> None:
    """A server that lies is not asked in a hot loop."""
    rig = streams(expired(), expired(), lists=[page(deployment("a"), rv=5)])
    assert names(rig.get("3").items) == ["a"]


def test_stream_that_ends_early_is_begun_anew() -> None:
    """The second stream is the same request, and starts from nothing."""

    def aged(_: ListOptions) -> FakeWatch[Deployment]:
        return FakeWatch[Deployment]([added(deployment("dropped"))]).then(lambda: rig.clock.advance(2)).end()

    rig = streams(aged, FakeWatch(initial(deployment("a"))))
    assert names(rig.get("3").items) == ["a"]
    assert rig.source.watch_options[0] == rig.source.watch_options[1]


def test_streams_that_keep_ending_early_are_replaced_by_pages() -> None:
    """After three of them the round lists by pages."""

    def aged(_: ListOptions) -> FakeWatch[Deployment]:
        return FakeWatch[Deployment]().then(lambda: rig.clock.advance(2)).end()

    rig = streams(aged, aged, aged, lists=[page(deployment("a"))])
    assert names(rig.get().items) == ["a"]


def test_stream_that_ends_at_once_is_replaced_by_pages() -> None:
    """A server that closes streams at once does not serve streaming lists."""
    rig = streams(FakeWatch(None), lists=[page(deployment("a"))])
    assert names(rig.get().items) == ["a"]


@pytest.mark.parametrize("error", [api_error(403, "Forbidden", "no"), ValueError("no")], ids=repr)
def test_failed_list_has_its_request_and_the_reason(error: Exception) -> None:
    """The error names the kind and carries its cause."""
    rig = pages(error)
    with pytest.raises(ListFailed, match=r"failed to list deployments\.apps/v1: no") as caught:
        rig.get()
    assert caught.value.__cause__ is error
    assert not rig.listing.in_progress


def test_stop_while_a_stream_fails_is_silent() -> None:
    """The error of a stream that we closed ourselves is ignored."""
    watch: FakeWatch[Deployment] = FakeWatch()
    rig = streams(watch)
    assert rig.listing.begin("")
    rig.pause.stop()
    rig.response.stop()
    with capture_logs() as logs:
        assert rig.listing.advance() is None
    assert logs == []
    assert not rig.listing.in_progress


def test_abandoned_list_is_dropped() -> None:
    """A round that ends in the middle of a list leaves nothing of it."""
    rig = pages(page(deployment("a"), token="C1"))
    rig.listing.begin("")
    rig.listing.advance()
    rig.listing.abandon()
    assert not rig.listing.in_progress
    assert rig.listing.listed == 0
