from __future__ import annotations

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers.delta_fifo import DeltaType
from handloop.informers.history_guard import HistoryGuard, ResourceVersionFloor, Verdict, is_older
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.testing.fake_clock import FakeClock
from support.builders.deployments import deployment


def state(rv: int, uid: str = "u1") -> Deployment:
    return deployment("a", rv, uid=uid)


@pytest.mark.parametrize(
    ("delta_type", "obj", "stored", "echo"),
    [
        (DeltaType.UPDATED, state(5), state(6), True),
        (DeltaType.ADDED, state(5), state(6), True),
        (DeltaType.UPDATED, state(6), state(6), False),
        (DeltaType.UPDATED, state(7), state(6), False),
        (DeltaType.UPDATED, state(5), None, False),
        (DeltaType.UPDATED, state(5, "u2"), state(6), True),
        (DeltaType.ADDED, state(7, "u2"), state(6), False),
        (DeltaType.UPDATED, state(5, ""), state(6, ""), False),
        (DeltaType.REPLACED, state(5), state(6), False),
        (DeltaType.SYNC, state(5), state(6), False),
        (DeltaType.DELETED, state(5), state(6), False),
        (DeltaType.DELETED, state(5, "u1"), state(6, "u2"), True),
        (DeltaType.DELETED, state(7, "u1"), state(6, "u2"), False),
        (DeltaType.DELETED, state(5), None, False),
    ],
)
def test_what_counts_as_an_echo(
    delta_type: DeltaType, obj: Deployment, stored: Deployment | None, echo: bool
) -> None:
    """An older state of the name, or the end of a former object; never an entry of a list."""
    assert HistoryGuard[Deployment]().is_echo(delta_type, obj, stored) is echo


def test_deleted_object_does_not_come_back() -> None:
    """A state from before a deletion is an echo, by UID; one from after it is not."""
    guard: HistoryGuard[Deployment] = HistoryGuard()
    guard.note_deleted(state(8))
    assert guard.is_echo(DeltaType.UPDATED, state(7), None)
    assert guard.is_echo(DeltaType.ADDED, state(8), None)
    assert not guard.is_echo(DeltaType.ADDED, state(9), None)
    assert not guard.is_echo(DeltaType.ADDED, state(7, "u2"), None)


def test_tombstones_are_never_echoes() -> None:
    """A tombstone comes from a list, which is the truth; it is not remembered as a deletion either."""
    guard: HistoryGuard[Deployment] = HistoryGuard()
    tombstone = DeletedFinalStateUnknown("default/a", state(8))
    guard.note_deleted(tombstone)
    guard.note_deleted(deployment("without-uid", 8))
    assert not guard.is_echo(DeltaType.DELETED, tombstone, state(9, "u2"))
    assert not guard.is_echo(DeltaType.UPDATED, state(7), None)


def test_memory_of_deletions_is_bounded() -> None:
    """The oldest of more than a thousand deletions is forgotten."""
    guard: HistoryGuard[Deployment] = HistoryGuard()
    for number in range(1001):
        guard.note_deleted(state(8, f"u{number}"))
    assert not guard.is_echo(DeltaType.ADDED, state(7, "u0"), None)
    assert guard.is_echo(DeltaType.ADDED, state(7, "u1"), None)


# -- resource versions


@pytest.mark.parametrize(
    ("first", "second", "older"),
    [
        ("9", "10", True),
        ("10", "9", False),
        ("10", "10", False),
        ("100", "99", False),
        ("99", "100", True),
        ("12345678901234567890", "12345678901234567891", True),
        ("", "5", False),
        ("5", "", False),
        ("abc", "abd", False),
        ("a", "10", False),
        ("9", "1x", False),
    ],
)
def test_resource_versions_compare_as_numbers_or_not_at_all(first: str, second: str, older: bool) -> None:
    """9 is older than 10, and a version that is no number is older than nothing."""
    assert is_older(first, second) is older


def test_newer_list_is_taken() -> None:
    """A list at or after the seen version is taken, as is the very first."""
    floor = ResourceVersionFloor(FakeClock(moves_itself=True))
    assert floor.judge("5", "") is Verdict.TAKE
    assert floor.judge("5", "5") is Verdict.TAKE
    assert floor.judge("6", "5") is Verdict.TAKE


def test_list_from_the_past_waits_until_it_has_lasted() -> None:
    """A lagging server is asked again; after 30 s of the past, the past is the truth."""
    clock = FakeClock(moves_itself=True)
    floor = ResourceVersionFloor(clock)
    assert floor.judge("4", "5") is Verdict.WAIT
    clock.advance(29.9)
    assert floor.judge("4", "5") is Verdict.WAIT
    clock.advance(0.1)
    assert floor.judge("4", "5") is Verdict.TAKE_REWOUND


def test_patience_starts_anew_after_a_good_list() -> None:
    """Two lags of 20 s, with a good list between, are not one of 40 s."""
    clock = FakeClock(moves_itself=True)
    floor = ResourceVersionFloor(clock)
    assert floor.judge("4", "5") is Verdict.WAIT
    clock.advance(20)
    assert floor.judge("5", "5") is Verdict.TAKE
    assert floor.judge("4", "5") is Verdict.WAIT
    clock.advance(20)
    assert floor.judge("4", "5") is Verdict.WAIT


def test_server_that_denies_our_version_is_believed_at_once() -> None:
    """After "too large resource version" an older list is a rewound history, once."""
    floor = ResourceVersionFloor(FakeClock(moves_itself=True))
    floor.server_denies()
    assert floor.judge("4", "5") is Verdict.TAKE_REWOUND
    assert floor.judge("3", "4") is Verdict.WAIT
