from __future__ import annotations

import json
import random
from typing import Any

from handloop_sandbox.storage.store import Store
from handloop_sandbox.storage.stored import Object, Stored
from handloop_sandbox.storage.transaction import Transaction
from handloop_sandbox.storage.watches import BATCH, Subscription, Watcher, error_line, too_old
from handloop_sandbox.wire.resource import GroupResource

_KIND = GroupResource("", "configmaps")
_NOW = 1000.0


class _Plain:
    """Writes an object as JSON and remembers whether it was the first."""

    def __init__(self) -> None:
        self.firsts: list[bool] = []

    def watched(self, stored: Stored, now: float, *, first: bool) -> bytes:
        self.firsts.append(first)
        return json.dumps(stored.object).encode()


def _put(store: Store, name: str, **labels: str) -> None:
    metadata = {"name": name, "namespace": "n", "labels": labels}
    transaction = Transaction(store)
    transaction.put(_KIND, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    store.commit(transaction.changes)


def _delete(store: Store, name: str) -> None:
    transaction = Transaction(store)
    transaction.delete(_KIND, "n", name)
    store.commit(transaction.changes)


def _is_on(obj: Object) -> bool:
    return bool(obj["metadata"]["labels"].get("on") == "yes")


def _watcher(store: Store, *, selective: bool = False, namespace: str = "", **more: Any) -> Watcher:
    subscription = Subscription(
        group_resource=_KIND,
        namespace=namespace,
        matches=_is_on if selective else None,
        presentation=more.pop("presentation", _Plain()),
        bookmark_object={"kind": "ConfigMap", "apiVersion": "v1"},
        position=store.collection(_KIND).history.end,
        rv=store.resource_version,
        deadline=more.pop("deadline", _NOW + 100),
        **more,
    )
    return Watcher(subscription, store, bookmark_seconds=10.0, now=_NOW)


def _events(watcher: Watcher, now: float = _NOW) -> list[tuple[str, str]]:
    lines = [json.loads(line) for line in watcher.take(now)]
    return [(line["type"], line["object"].get("metadata", {}).get("name", "")) for line in lines]


def test_changes_are_taken_once(store: Store) -> None:
    """Each change is sent once, in order, in as many passes as it takes."""
    watcher = _watcher(store)
    _put(store, "a")
    _put(store, "a", x="1")
    assert _events(watcher) == [("ADDED", "a"), ("MODIFIED", "a")]
    assert _events(watcher) == []
    _delete(store, "a")
    assert _events(watcher) == [("DELETED", "a")]


def test_many_objects_and_changes_are_taken_in_batches(store: Store) -> None:
    """What there is and what happened comes in order and bounded; a short batch is the last one."""
    for number in range(300):
        _put(store, f"c{number:03d}")
    present = [store.stored(_KIND, "n", f"c{number:03d}") for number in range(300)]
    watcher = _watcher(store, initial=present, after_initial=True)
    for number in range(300):
        _put(store, f"d{number:03d}")
    seen: list[tuple[str, str]] = []
    while watcher.is_due(_NOW):
        events = _events(watcher)
        assert len(events) <= 2 * BATCH
        assert len(events) >= BATCH or not watcher.is_due(_NOW)
        seen += events
    assert [name for _, name in seen[:300]] == [f"c{number:03d}" for number in range(300)]
    assert seen[300] == ("BOOKMARK", "")
    assert [name for _, name in seen[301:]] == [f"d{number:03d}" for number in range(300)]


def test_what_is_not_selected_fills_no_batch(store: Store) -> None:
    """A selective watch looks on until it has found what it is about, however far that is."""
    watcher = _watcher(store, selective=True)
    for number in range(3 * BATCH):
        _put(store, f"c{number:03d}")
    _put(store, "chosen", on="yes")
    assert _events(watcher) == [("ADDED", "chosen")]
    assert not watcher.is_due(_NOW)


def test_a_replaced_history_is_read_to_its_end(store: Store) -> None:
    """A watch whose kind goes sends all earlier events before it ends, in several batches if need be."""
    watcher = _watcher(store)
    for number in range(2 * BATCH):
        _put(store, f"c{number:03d}")
    store.redefine(_KIND)
    seen = []
    while not watcher.ended:
        seen += _events(watcher)
    assert len(seen) == 2 * BATCH


def test_other_namespaces_are_not_seen(store: Store) -> None:
    """A watch of one namespace leaves the others out."""
    watcher = _watcher(store, namespace="elsewhere")
    _put(store, "a")
    assert _events(watcher) == []


def test_a_selection_is_always_what_a_list_would_show(store: Store) -> None:
    """Replaying the events of a selective watch gives the selected objects, for any changes."""
    source = random.Random(11)
    watcher = _watcher(store, selective=True)
    mirror: dict[str, str] = {}
    for _ in range(300):
        name = f"c{source.randrange(5)}"
        present = store.get(_KIND, "n", name) is not None
        if present and source.random() < 0.3:
            _delete(store, name)
        else:
            _put(store, name, on=source.choice(["yes", "no"]), n=str(source.random()))
        for line in watcher.take(_NOW):
            event = json.loads(line)
            metadata = event["object"]["metadata"]
            known = metadata["name"] in mirror
            assert known is (event["type"] != "ADDED")
            if event["type"] == "DELETED":
                del mirror[metadata["name"]]
            else:
                mirror[metadata["name"]] = metadata["resourceVersion"]
        shown = {
            obj["metadata"]["name"]: obj["metadata"]["resourceVersion"]
            for obj in store.list(_KIND)
            if _is_on(obj)
        }
        assert mirror == shown


def test_a_reader_that_is_too_slow_gets_an_error() -> None:
    """When the history has passed a watch by, it gets an ERROR and ends."""
    store = Store(history_size=2)
    watcher = _watcher(store)
    for number in range(5):
        _put(store, f"c{number}")
    (line,) = watcher.take(_NOW)
    status = json.loads(line)["object"]
    assert (status["code"], status["reason"]) == (410, "Expired")
    assert watcher.ended
    assert watcher.take(_NOW) == []


def test_bookmarks_come_when_there_is_news(store: Store) -> None:
    """A bookmark has the versions that passed unseen, every so often and shortly before the end."""
    watcher = _watcher(store, selective=True, bookmarks=True, deadline=_NOW + 15)
    assert watcher.next_wake() == _NOW + 10
    assert _events(watcher, _NOW + 10) == []
    _put(store, "a", on="no")
    assert _events(watcher, _NOW + 12) == []
    assert watcher.next_wake() == _NOW + 13
    (line,) = watcher.take(_NOW + 13)
    bookmark = json.loads(line)
    assert bookmark["type"] == "BOOKMARK"
    assert bookmark["object"]["metadata"] == {"resourceVersion": str(store.resource_version)}
    assert not watcher.ended
    watcher.take(_NOW + 15)
    assert watcher.ended


def test_nothing_new_needs_a_bookmark_a_minute(store: Store) -> None:
    """What the client has been sent is known to it; but it has to know that the server is there."""
    watcher = _watcher(store, bookmarks=True, deadline=_NOW + 1000)
    _put(store, "a")
    told = {seconds: _events(watcher, _NOW + seconds) for seconds in range(10, 200, 10)}
    bookmark = [("BOOKMARK", "")]
    assert {at: lines for at, lines in told.items() if lines} == {
        10: [("ADDED", "a")],
        70: bookmark,
        130: bookmark,
        190: bookmark,
    }


def test_a_bookmark_is_never_older_than_a_sent_event(store: Store) -> None:
    """One that is held back by a lag sends nothing, however long nothing came."""
    watcher = _watcher(store, bookmarks=True)
    lagging = store.resource_version
    _put(store, "a")
    assert _events(watcher) == [("ADDED", "a")]
    assert watcher.take(_NOW + 60, up_to=lagging) == []


def test_without_permission_there_are_no_bookmarks() -> None:
    """A client that did not ask for bookmarks hears nothing of an idle kind."""
    watcher = _watcher(Store())
    assert [_events(watcher, _NOW + seconds) for seconds in range(0, 100, 10)] == [[]] * 10


def test_the_first_event_is_marked(store: Store) -> None:
    """The presentation learns which event is the first of the stream."""
    _put(store, "a")
    plain = _Plain()
    initial = [store.collection(_KIND).objects["n/a"]]
    watcher = _watcher(store, presentation=plain, initial=initial, after_initial=True)
    assert _events(watcher) == [("ADDED", "a"), ("BOOKMARK", "")]
    assert plain.firsts == [True, False]


def test_the_future_is_silent(store: Store) -> None:
    """Nothing is sent up to the version that was asked for."""
    watcher = _watcher(store, silent_until=store.resource_version + 2)
    for name in "abc":
        _put(store, name)
    assert _events(watcher) == [("ADDED", "c")]


def test_a_redefined_kind_ends_its_watches(store: Store) -> None:
    """What happened before is still sent, then the stream is over."""
    watcher = _watcher(store)
    _put(store, "a")
    store.redefine(_KIND)
    _put(store, "b")
    assert watcher.is_due(_NOW)
    assert _events(watcher) == [("ADDED", "a")]
    assert watcher.ended


def test_when_a_watch_is_due(store: Store) -> None:
    """A watch is due when it has not begun, when something changed, and when its time has come."""
    watcher = _watcher(store)
    assert watcher.is_due(_NOW)
    watcher.take(_NOW)
    assert not watcher.is_due(_NOW)
    _put(store, "a")
    assert watcher.is_due(_NOW)
    watcher.take(_NOW)
    assert watcher.is_due(_NOW + 100)


def test_refusals_in_a_stream(store: Store) -> None:
    """A refusal is one ERROR line."""
    status = too_old(5, 9)
    assert json.loads(error_line(status)) == {"type": "ERROR", "object": status}
    watcher = _watcher(store, refusal=status)
    (line,) = watcher.take(_NOW)
    assert json.loads(line)["object"]["message"] == "too old resource version: 5 (9)"
    assert watcher.ended
