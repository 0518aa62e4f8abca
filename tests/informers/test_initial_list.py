from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import ListPage, Undecodable
from handloop.client.decoding.watch_stream import EventType, WatchEvent, WrongKind
from handloop.client.errors import APIError
from handloop.client.options import ListOptions
from handloop.informers.initial_list import PagedList, StreamedList
from support.builders.deployments import added, bookmark, deleted, deployment, modified, names
from support.doubles.fake_lister_watcher import (
    FakeListerWatcher,
    FakeSource,
    expired,
    page,
    too_many_requests,
)


def read_all(pages: PagedList[Deployment]) -> int:
    """Fetch pages until the list is complete; how many fetches that took."""
    fetches = 1
    while not pages.fetch_page():
        fetches += 1
    return fetches


def broken(name: str) -> Undecodable:
    return Undecodable("default", name, "3", b"{}", "does not fit")


def test_list_is_read_by_pages_of_one_version() -> None:
    """Page size 4 and 10 objects make three pages; the version is the first page's."""
    source = FakeSource(*[deployment(f"d{number}") for number in range(10)], rv=10)
    pages = PagedList(source.list, resource_version="10", page_size=4)
    assert read_all(pages) == 3
    assert names(pages.items) == [f"d{number}" for number in range(10)]
    assert (pages.resource_version, pages.pages, pages.items_so_far) == ("10", 3, 10)
    assert [(o.resource_version or "", o.limit, bool(o.continue_token)) for o in source.list_options] == [
        ("10", 4, False),
        ("", 4, True),
        ("", 4, True),
    ]


def test_expired_token_starts_over_without_pages() -> None:
    """Versions "10", "" (token), "10" (no limit); nothing of the first list is kept."""
    old = [deployment(f"old{number}") for number in range(4)]
    new = [deployment(f"new{number}") for number in range(8)]
    first = ListPage(old, "10", "C1", 4, (broken("x"),))
    source = FakeListerWatcher(lists=[first, expired(), page(*new, rv=12)])
    pages = PagedList(source.list, resource_version="10", page_size=4)
    assert read_all(pages) == 2
    assert names(pages.items) == names(new)
    assert pages.undecodable == []
    assert pages.resource_version == "12"
    assert [(o.resource_version or "", o.limit) for o in source.list_options] == [
        ("10", 4),
        ("", 4),
        ("10", 0),
    ]


def test_other_error_of_a_later_page_is_the_callers() -> None:
    """A list that breaks in the middle is no list."""
    source = FakeListerWatcher(lists=[page(deployment("a"), token="C1"), too_many_requests()])
    pages = PagedList(source.list, resource_version="", page_size=1)
    assert not pages.fetch_page()
    with pytest.raises(APIError):
        pages.fetch_page()


def test_undecodable_objects_of_all_pages_are_collected() -> None:
    """Undecodable objects are apart from the others."""
    answers = iter(
        [
            ListPage([deployment("a")], "5", "C1", None, (broken("x"),)),
            ListPage([], "5", None, None, (broken("y"),)),
        ]
    )

    def fetch(_: ListOptions) -> ListPage[Deployment]:
        return next(answers)

    pages = PagedList(fetch, resource_version="", page_size=1)
    read_all(pages)
    assert [one.key_name for one in pages.undecodable] == ["x", "y"]


def test_stream_is_a_list_once_the_bookmark_came() -> None:
    """Changes before the bookmark are applied; what follows it is handed back."""
    stream = StreamedList(Deployment)
    p1, p2, p3 = deployment("p1", 1), deployment("p2", 2), deployment("p3", 4)
    assert stream.take([added(p1), added(p2), modified(deployment("p1", 3))]) is None
    assert stream.items_so_far == 2
    later = added(deployment("p4", 7))
    rest = stream.take([added(p3), deleted(p3), bookmark(6, ends_list=True), later])
    assert rest == [later]
    assert [(o.metadata.name, o.metadata.resource_version) for o in stream.items] == [
        ("p2", "2"),
        ("p1", "3"),
    ]
    assert (stream.resource_version, stream.pages) == ("6", 0)


@pytest.mark.parametrize("annotation", ["false", "", "True"])
def test_other_bookmarks_do_not_end_the_list(annotation: str) -> None:
    """Only a bookmark whose annotation is exactly "true" does."""
    stream = StreamedList(Deployment)
    assert stream.take([bookmark(5), bookmark(6, ends_list=True, annotation=annotation)]) is None
    assert stream.resource_version == ""


def test_error_event_of_a_stream_is_raised() -> None:
    """The list is not complete, and the error has the reason."""
    error = expired()
    with pytest.raises(APIError):
        StreamedList(Deployment).take([WatchEvent(EventType.ERROR, error)])


def test_undecodable_object_of_a_stream_replaces_the_one_that_fits_and_back() -> None:
    """An object is in the list or among the undecodable ones, by its newest state."""
    stream = StreamedList(Deployment)
    stream.take([added(deployment("a", 1)), WatchEvent(EventType.MODIFIED, broken("a"))])
    assert (stream.items, len(stream.undecodable)) == ([], 1)
    stream.take([added(deployment("a", 4)), WatchEvent(EventType.ADDED, broken("b"))])
    assert (names(stream.items), [one.key_name for one in stream.undecodable]) == (["a"], ["b"])
    stream.take([WatchEvent(EventType.DELETED, broken("b"))])
    assert stream.undecodable == []


def test_other_kinds_and_unknown_events_change_nothing() -> None:
    """A Table or an event type of tomorrow is not part of the list."""
    stream = StreamedList(Deployment)
    table: WatchEvent[Deployment] = WatchEvent(EventType.ADDED, WrongKind("meta.k8s.io/v1", "Table"))
    renamed: WatchEvent[Deployment] = WatchEvent("RENAMED", deployment("a"))  # type: ignore[arg-type]
    assert stream.take([table, renamed]) is None
    assert stream.items == []
