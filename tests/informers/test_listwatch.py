from __future__ import annotations

import threading
from functools import partial

import msgspec
import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import ListPage
from handloop.client.errors import StreamClosed
from handloop.client.options import ListOptions
from handloop.informers.listwatch import ListWatch, OpenResponse
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import added, deployment
from support.doubles.fake_lister_watcher import FakeListerWatcher, FakeWatch, WatchAnswer, expired, page


class FakeResources:
    """Implements handloop.informers.listwatch.Resources."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, ListOptions]] = []
        self.answer: FakeWatch[Deployment] = FakeWatch()

    def list(self, namespace: str = "", *, options: ListOptions) -> ListPage[Deployment]:
        self.asked.append(("list", namespace, options))
        return page(rv=7)

    def watch(self, namespace: str = "", *, options: ListOptions) -> FakeWatch[Deployment]:
        self.asked.append(("watch", namespace, options))
        return self.answer


def test_restrictions_bind_list_and_watch_alike() -> None:
    """Namespace and tweak are in the options of both calls, over the reflector's own."""
    resources = FakeResources()
    wanted = {"label_selector": "app=web", "field_selector": "metadata.name=a", "timeout_seconds": 9}
    source = ListWatch(resources, "demo", tweak=partial(msgspec.structs.replace, **wanted))
    assert source.list(ListOptions(limit=5)).resource_version == "7"
    assert source.watch(ListOptions(resource_version="7")) is resources.answer
    assert resources.asked == [
        ("list", "demo", ListOptions(limit=5, **wanted)),  # type: ignore[arg-type]
        ("watch", "demo", ListOptions(resource_version="7", **wanted)),  # type: ignore[arg-type]
    ]


def test_without_restrictions_the_options_pass_unchanged() -> None:
    """All namespaces, and exactly the options that were asked for."""
    resources = FakeResources()
    options = ListOptions(limit=5)
    ListWatch(resources).list(options)
    assert resources.asked == [("list", "", options)]


def test_streaming_lists_can_be_declared_unsupported() -> None:
    """Whoever makes the source decides whether a streaming list may be asked for."""
    assert ListWatch(FakeResources()).supports_watch_list
    assert not ListWatch(FakeResources(), supports_watch_list=False).supports_watch_list


# -- the open response


def opened(
    *answers: WatchAnswer, stopped: threading.Event | None = None, clock: FakeClock | None = None
) -> OpenResponse[Deployment]:
    source = FakeListerWatcher(watches=list(answers))
    return OpenResponse(
        source, stopped=stopped or threading.Event(), seams=Seams(clock=clock or FakeClock(moves_itself=True))
    )


def test_events_come_from_the_open_stream() -> None:
    """Read hands on what the stream has, [] at its end."""
    event = added(deployment("a"))
    response = opened(FakeWatch([event], None))
    response.open("")
    assert response.read() == [event]
    assert response.read() == []


def test_age_counts_from_before_the_request() -> None:
    """A request that took 2 s has made the stream 2 s old already."""
    clock = FakeClock(moves_itself=True)

    def slow(_: ListOptions) -> FakeWatch[Deployment]:
        clock.advance(2)
        return FakeWatch()

    response = opened(slow, clock=clock)
    response.open("")
    assert response.seconds_open() == 2


def test_failed_request_leaves_nothing_open() -> None:
    """The error is the caller's, and there is nothing to close."""
    response = opened(expired(), FakeWatch(None))
    with pytest.raises(Exception, match="too old"):
        response.open("")
    response.close()
    response.open("")
    assert response.read() == []


def test_stop_ends_a_blocked_read() -> None:
    """A thread in a read, which sees no event, is woken by the close under it."""
    watch: FakeWatch[Deployment] = FakeWatch()
    response = opened(watch)
    response.open("")
    errors: list[Exception] = []

    def reader() -> None:
        try:
            response.read()
        except StreamClosed as error:
            errors.append(error)

    thread = threading.Thread(target=reader)
    thread.start()
    response.stop()
    thread.join(20)
    assert len(errors) == 1


def test_stop_before_the_stream_was_there_closes_it_as_it_comes() -> None:
    """A stop that found nothing to close is made up for when the request returns."""
    stopped = threading.Event()
    watch: FakeWatch[Deployment] = FakeWatch()

    def stopped_meanwhile(_: ListOptions) -> FakeWatch[Deployment]:
        stopped.set()
        response.stop()
        return watch

    response = opened(stopped_meanwhile, stopped=stopped)
    response.open("")
    assert watch.is_closed


def test_close_is_forgotten_and_harmless_twice() -> None:
    """The stream is closed once by us, however often close is called."""
    watch: FakeWatch[Deployment] = FakeWatch()
    response = opened(watch)
    response.open("")
    response.close()
    response.close()
    response.stop()
    assert watch.closes == 1
