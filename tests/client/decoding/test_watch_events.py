from __future__ import annotations

from handloop.client.decoding.watch_events import INITIAL_EVENTS_END, Bookmark, EventType, WatchEvent


def test_event_types_are_the_wire_s_words() -> None:
    """An event type compares and prints as the server spells it."""
    assert [str(kind) for kind in EventType] == ["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    assert EventType("ADDED") is EventType.ADDED


def test_an_event_unpacks() -> None:
    """An event is a pair of type and object."""
    kind, obj = WatchEvent(EventType.ADDED, "object")
    assert (kind, obj) == (EventType.ADDED, "object")


def test_only_the_annotated_bookmark_ends_the_initial_events() -> None:
    """A streaming list is complete with the one bookmark that says so."""
    assert Bookmark("5", {INITIAL_EVENTS_END: "true"}).ends_initial_events
    assert not Bookmark("5", {INITIAL_EVENTS_END: "false"}).ends_initial_events
    assert not Bookmark("5", {}).ends_initial_events
