"""Where a block of watch events goes."""

from __future__ import annotations

import itertools

import pytest
from structlog.testing import capture_logs

from handloop.apis.apps_v1 import Deployment
from handloop.apis.coordination_v1 import Lease
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_stream import EventType, WatchEvent, WrongKind
from handloop.client.errors import APIError, DecodeError
from handloop.informers.delta_fifo import DeltaType, Listed
from handloop.informers.event_intake import EventBlock, EventIntake, translate
from handloop.informers.history_guard import HistoryGuard
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.informers.quarantine import Quarantine
from handloop.informers.relist_policy import StaleBookmark
from handloop.informers.restriction import Whole
from support.builders.deployments import added, bookmark, deleted, deployment, modified
from support.checks.captured_logs import captured_logs
from support.doubles.fake_lister_watcher import FakeListerWatcher, expired, gone
from support.doubles.recording_metrics import Instrument
from support.rigs.reflector_rig import RecordingStore


class _Rig:
    """An intake and everything behind it."""

    def __init__(self) -> None:
        self.store = RecordingStore()
        self.guard: HistoryGuard[Deployment] = HistoryGuard()
        gauge = Instrument()
        self.arrived: set[str] = set()
        self.quarantine = Quarantine(kind="Deployment", gauge=gauge, in_store=self.arrived.__contains__)
        self.intake: EventIntake[Deployment] = EventIntake(
            self.store,
            guard=self.guard,
            quarantine=self.quarantine,
            restriction=Whole(FakeListerWatcher()),
            name="deployments.apps",
        )

    def put(self, *events: WatchEvent[Deployment], seen: str = "1") -> list[str]:
        """Take a block; returns the lines that were logged at warning level or above."""
        with captured_logs() as logs:
            self.intake.put(translate(list(events), Deployment, seen=seen))
        return [entry["event"] for entry in logs if entry["log_level"] in ("warning", "error")]


@pytest.fixture
def rig() -> _Rig:
    return _Rig()


def listed(*names: str) -> Listed[Deployment]:
    """A list of Deployments."""
    found: Listed[Deployment] = Listed()
    for name in names:
        found.take(f"default/{name}", deployment(name, 4))
    return found


def _odd(name: str, rv: str) -> Undecodable:
    return Undecodable("default", name, rv, b"{}", "does not fit")


def test_a_block_goes_into_the_store(rig: _Rig) -> None:
    """Adds, changes and deletions, in their order."""
    assert rig.put(added(deployment("a", 2)), added(deployment("b", 3)), modified(deployment("a", 4))) == []
    assert rig.store.versions() == {"a": "4", "b": "3"}
    rig.put(deleted(deployment("a", 5)), seen="4")
    assert rig.store.versions() == {"b": "3"}


def test_a_refusal_of_the_store_is_reported_and_the_rest_goes_in(rig: _Rig) -> None:
    """One line for each."""
    rig.store.refuse = lambda entry: entry[0] is DeltaType.UPDATED
    lines = rig.put(added(deployment("a", 2)), modified(deployment("b", 3)), modified(deployment("c", 4)))
    assert lines == ["Unable to queue watch event object"] * 2
    assert rig.store.versions() == {"a": "2"}


def test_what_does_not_fit_is_quarantined_until_it_does(rig: _Rig) -> None:
    """It leaves the store, comes back when it fits, and is forgotten when it is deleted."""
    odd: WatchEvent[Deployment] = WatchEvent(EventType.MODIFIED, _odd("a", "3"))
    rig.put(added(deployment("a", 2)))
    rig.put(odd, seen="2")
    assert (rig.quarantine.keys(), rig.store.versions()) == (["default/a"], {})
    rig.put(modified(deployment("a", 4)), seen="3")
    assert (rig.quarantine.keys(), rig.store.versions()) == ([], {"a": "4"})
    rig.put(WatchEvent(EventType.MODIFIED, _odd("a", "5")), seen="4")
    rig.put(WatchEvent(EventType.DELETED, _odd("a", "6")), seen="5")
    assert rig.quarantine.keys() == []


def test_the_last_event_of_a_block_decides_what_fits(rig: _Rig) -> None:
    """An object that was mended within one block is in the store, and not in the quarantine, too."""
    odd = WatchEvent(EventType.MODIFIED, _odd("a", "3"))
    rig.put(added(deployment("a", 2)), odd, modified(deployment("a", 4)))
    assert (rig.quarantine.keys(), rig.store.versions()) == ([], {"a": "4"})
    rig.put(modified(deployment("a", 5)), WatchEvent(EventType.MODIFIED, _odd("a", "6")), seen="4")
    assert (rig.quarantine.keys(), rig.store.versions()) == (["default/a"], {})


def test_a_misfit_is_in_the_quarantine_before_it_leaves_the_store(rig: _Rig) -> None:
    """Otherwise it would seem to be gone, and a handler might clean up after it."""
    held: list[list[str]] = []
    rig.store.on_change = lambda: held.append(rig.quarantine.keys())
    rig.put(WatchEvent(EventType.MODIFIED, _odd("a", "3")))
    rig.intake.replace(Listed(), [_odd("b", "4")], "5")
    assert held == [["default/a"], ["default/a", "default/b"]]
    assert rig.quarantine.keys() == ["default/b"]


@pytest.mark.parametrize("by_list", [False, True], ids=["watch", "list"])
def test_what_fits_again_never_seems_to_be_gone(rig: _Rig, by_list: bool) -> None:
    """The FIFO has it, and the store has it later; unless it is deleted first."""

    def mend() -> None:
        if by_list:
            rig.intake.replace(listed("a"), [], "4")
        else:
            rig.put(modified(deployment("a", 4)))

    def is_quarantined() -> bool:
        return rig.quarantine.is_quarantined("default/a")

    odd = WatchEvent(EventType.MODIFIED, _odd("a", "3"))
    rig.put(odd)
    mend()
    assert rig.quarantine.keys() == []
    assert is_quarantined()
    rig.arrived.add("default/a")
    assert not is_quarantined()
    rig.put(added(deployment("b", 5)))
    assert rig.quarantine.is_idle()
    rig.arrived.clear()
    rig.put(odd)
    mend()
    if by_list:
        rig.intake.replace(Listed(), [], "6")
    else:
        rig.put(deleted(deployment("a", 6)))
    assert not is_quarantined()
    assert rig.quarantine.is_idle()


def test_disorder_is_reported_once(rig: _Rig) -> None:
    """From the first event that is older than one before it, the guard is needed."""
    assert not rig.guard.is_needed
    block = [added(deployment("a", 5)), added(deployment("b", 3))]
    assert rig.put(*block) == ["Server sends events out of order; old ones are dropped"]
    assert rig.put(*block) == []
    assert rig.guard.is_needed


def test_deletions_are_remembered_for_the_guard(rig: _Rig) -> None:
    """An add from before the deletion of the same object is an echo."""
    rig.put(deleted(deployment("a", 5, uid="u1")))
    assert rig.guard.is_echo(DeltaType.ADDED, deployment("a", 4, uid="u1"), None)
    assert not rig.guard.is_echo(DeltaType.ADDED, deployment("a", 4, uid="u2"), None)


# -- blocks


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
    """Only ADDED events, as a server sends without any order when a watch begins at no version."""
    assert read(added(deployment("a", 9)), added(deployment("b", 10))).all_added
    assert not read(added(deployment("a", 9)), bookmark(10)).all_added
    assert not read(added(deployment("a", 9)), deleted(deployment("a", 10))).all_added


def test_bookmark_moves_the_version_only() -> None:
    """A bookmark is understood, changes nothing, and has the version to go on from."""
    block = read(bookmark(7))
    assert (block.entries, block.resource_version, block.accepted) == ([], "7", 1)


def test_bookmark_without_a_version_moves_nothing() -> None:
    """An empty bookmark leaves the version before it."""
    assert read(added(deployment("a", 5)), bookmark("")).resource_version == "5"


def test_bookmark_from_the_past_ends_the_stream() -> None:
    """A server whose history ends before its own events has lost that history."""
    block = read(added(deployment("a", 12)), bookmark(9), added(deployment("b", 13)), seen="10")
    assert isinstance(block.end, StaleBookmark)
    assert len(block.entries) == 1


@pytest.mark.parametrize("error", [expired(), gone()], ids=["Expired", "Gone"])
def test_error_event_ends_the_stream_after_what_came_before(error: APIError) -> None:
    """Events before an ERROR count, those after it do not."""
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
    """Another kind, a Table, an unknown event: logged, skipped, its version not taken."""
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
    """There is no way on from such an event; the events before it count."""
    block = read(added(deployment("a", 2)), WatchEvent(event_type, obj), added(deployment("b", 3)))
    assert isinstance(block.end, DecodeError)
    assert (len(block.entries), block.resource_version) == (1, "2")


@pytest.mark.parametrize("event_type", [EventType.ADDED, EventType.MODIFIED, EventType.DELETED])
def test_undecodable_object_is_deleted_from_the_cache(event_type: EventType) -> None:
    """An object that no longer fits leaves the store with a tombstone, for an event of any type."""
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
    """An event that is older than one before it, or than a seen version, is out of order."""
    events = [added(deployment(f"d{number}", rv)) for number, rv in enumerate(versions)]
    assert read(*events, seen="10").out_of_order is disorder
