"""Where a block of watch events goes."""

from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.client.decoding.pages import Undecodable
from handloop.client.decoding.watch_stream import EventType, WatchEvent
from handloop.informers.delta_fifo import DeltaType, Listed
from handloop.informers.event_intake import EventIntake, Quarantine, translate
from handloop.informers.history_guard import HistoryGuard
from support.captured_logs import captured_logs
from support.deployments import added, deleted, deployment, modified
from support.recording_metrics import Instrument
from support.recording_store import RecordingStore


class _Rig:
    """An intake and everything behind it."""

    def __init__(self) -> None:
        self.store = RecordingStore()
        self.guard: HistoryGuard[Deployment] = HistoryGuard()
        gauge = Instrument()
        self.arrived: set[str] = set()
        self.quarantine = Quarantine(kind="Deployment", gauge=gauge, in_store=self.arrived.__contains__)
        self.intake: EventIntake[Deployment] = EventIntake(
            self.store, guard=self.guard, quarantine=self.quarantine, name="deployments.apps"
        )

    def put(self, *events: WatchEvent[Deployment], seen: str = "1") -> list[str]:
        """Take a block; returns what was logged at warning level or above."""
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
    """REFL-07: adds, changes and deletions, in their order."""
    assert rig.put(added(deployment("a", 2)), added(deployment("b", 3)), modified(deployment("a", 4))) == []
    assert rig.store.versions() == {"a": "4", "b": "3"}
    rig.put(deleted(deployment("a", 5)), seen="4")
    assert rig.store.versions() == {"b": "3"}


def test_what_the_store_refuses_is_said_and_the_rest_goes_in(rig: _Rig) -> None:
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
    """Otherwise it would seem to be gone, and somebody might clean up after it."""
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


def test_disorder_is_said_once(rig: _Rig) -> None:
    """From the first event that is older than one before it, the guard is needed."""
    assert not rig.guard.is_needed
    block = [added(deployment("a", 5)), added(deployment("b", 3))]
    assert rig.put(*block) == ["Server sends events out of order, old ones are dropped"]
    assert rig.put(*block) == []
    assert rig.guard.is_needed


def test_deletions_are_remembered_for_the_guard(rig: _Rig) -> None:
    """An add from before the deletion of the same object is an echo."""
    rig.put(deleted(deployment("a", 5, uid="u1")))
    assert rig.guard.is_echo(DeltaType.ADDED, deployment("a", 4, uid="u1"), None)
    assert not rig.guard.is_echo(DeltaType.ADDED, deployment("a", 4, uid="u2"), None)
