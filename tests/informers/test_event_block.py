from __future__ import annotations

import itertools

import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.apis.coordination_v1 import Lease
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_stream import EventType, WatchEvent, WrongKind
from handloop.client.errors import APIError, DecodeError
from handloop.informers.delta_fifo import DeltaType
from handloop.informers.event_intake import EventBlock, StaleBookmark, translate
from handloop.informers.keys import DeletedFinalStateUnknown
from support.deployments import added, bookmark, deleted, deployment, modified
from support.fake_lister_watcher import expired, gone


def read(*events: WatchEvent[Deployment], seen: str = "1") -> EventBlock[Deployment]:
    return translate(list(events), Deployment, seen=seen)


def test_events_become_deltas_in_order() -> None:
    """ADDED, MODIFIED and DELETED become Added, Updated and Deleted; the last version is where to go on."""
    a, b, c = deployment("a", 2), deployment("b", 3), deployment("c", 4)
    block = read(added(a), modified(b), deleted(c))
    assert block.entries == [(DeltaType.ADDED, a), (DeltaType.UPDATED, b), (DeltaType.DELETED, c)]
    assert (block.resource_version, block.accepted, block.end) == ("4", 3, None)
    assert not block.all_added
    assert not block.out_of_order


def test_block_of_adds_is_initial() -> None:
    """REFL-30: only ADDED events, as a server sends without any order when a watch begins at no version."""
    assert read(added(deployment("a", 9)), added(deployment("b", 10))).all_added
    assert not read(added(deployment("a", 9)), bookmark(10)).all_added
    assert not read(added(deployment("a", 9)), deleted(deployment("a", 10))).all_added


def test_bookmark_moves_the_version_only() -> None:
    """T29: a bookmark is understood, changes nothing, and says where to go on."""
    block = read(bookmark(7))
    assert (block.entries, block.resource_version, block.accepted) == ([], "7", 1)


def test_bookmark_without_a_version_moves_nothing() -> None:
    """An empty bookmark leaves the version before it."""
    assert read(added(deployment("a", 5)), bookmark("")).resource_version == "5"


def test_bookmark_from_the_past_ends_the_stream() -> None:
    """T32: a server that says its history ends before what it sent has lost that history."""
    block = read(added(deployment("a", 12)), bookmark(9), added(deployment("b", 13)), seen="10")
    assert isinstance(block.end, StaleBookmark)
    assert len(block.entries) == 1


@pytest.mark.parametrize("error", [expired(), gone()], ids=["Expired", "Gone"])
def test_error_event_ends_the_stream_after_what_came_before(error: APIError) -> None:
    """T26: events before an ERROR count, those after it do not."""
    block = read(added(deployment("a", 2)), WatchEvent(EventType.ERROR, error), added(deployment("b", 3)))
    assert block.end is error
    assert (len(block.entries), block.resource_version) == (1, "2")


@pytest.mark.parametrize(
    "event",
    [
        WatchEvent(EventType.ADDED, WrongKind("meta.k8s.io/v1", "Table")),
        WatchEvent(EventType.ADDED, WrongKind("apps/v1beta1", "Deployment")),
        WatchEvent(EventType.MODIFIED, Lease()),
        WatchEvent("RENAMED", deployment("x", 50)),  # type: ignore[arg-type] # an event type of tomorrow
    ],
    ids=["Table", "other version", "other type", "unknown event type"],
)
def test_what_was_not_asked_for_is_skipped(event: WatchEvent[Deployment]) -> None:
    """REFL-26, T34: another kind, a Table, an unknown event: logged, skipped, its version not taken."""
    with capture_logs() as logs:
        block = read(added(deployment("a", 2)), event, added(deployment("b", 3)))
    assert [obj.metadata.name for _, obj in block.entries] == ["a", "b"]  # type: ignore[union-attr]
    assert (block.resource_version, block.accepted, block.end) == ("3", 2, None)
    assert [entry["event"] for entry in logs] == ["Unexpected watch event ignored"]


@pytest.mark.parametrize(
    ("event_type", "obj"),
    [
        *itertools.product(
            [EventType.ADDED, EventType.MODIFIED, EventType.DELETED], [deployment("", 5), deployment("a", "")]
        )
    ],
)
def test_object_without_name_or_version_ends_the_stream(event_type: EventType, obj: Deployment) -> None:
    """T35: there is no way on from such an event; what came before it counts."""
    block = read(added(deployment("a", 2)), WatchEvent(event_type, obj), added(deployment("b", 3)))
    assert isinstance(block.end, DecodeError)
    assert (len(block.entries), block.resource_version) == (1, "2")


@pytest.mark.parametrize("event_type", [EventType.ADDED, EventType.MODIFIED, EventType.DELETED])
def test_undecodable_object_is_deleted_from_the_cache(event_type: EventType) -> None:
    """An object that no longer fits leaves the store with a tombstone, whatever happened to it."""
    broken = Undecodable("default", "a", "7", b"{}", "does not fit")
    block = read(WatchEvent(event_type, broken))
    assert block.entries == [(DeltaType.DELETED, DeletedFinalStateUnknown("default/a", None))]
    assert block.undecodable == [(event_type, broken)]
    assert (block.resource_version, block.accepted) == ("7", 1)


def test_undecodable_object_without_a_version_moves_nothing() -> None:
    """Its version is taken only if it could be read."""
    broken = Undecodable("default", "a", "", b"{}", "does not fit")
    block = read(added(deployment("b", 6)), WatchEvent(EventType.MODIFIED, broken))
    assert block.resource_version == "6"


@pytest.mark.parametrize(
    ("versions", "disorder"),
    [
        (["11", "12"], False),
        (["9"], True),
        (["12", "11"], True),
        (["11", "11"], False),
        (["99", "100"], False),
        (["100", "99"], True),
        (["abc", "abb"], False),
    ],
)
def test_disorder_is_noticed(versions: list[str], disorder: bool) -> None:
    """T33: an event that is older than one before it, or than what was seen, is out of order."""
    events = [added(deployment(f"d{number}", rv)) for number, rv in enumerate(versions)]
    assert read(*events, seen="10").out_of_order is disorder
