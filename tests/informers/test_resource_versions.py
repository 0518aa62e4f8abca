from __future__ import annotations

import pytest

from handloop.informers.history_guard import ResourceVersionFloor, Verdict, is_older
from support.fake_clock import FakeClock


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
    """T31: 9 is older than 10, and what is no number is older than nothing."""
    assert is_older(first, second) is older


def test_newer_list_is_taken() -> None:
    """A list at or after what was seen is taken, as is the very first."""
    floor = ResourceVersionFloor(FakeClock(moves_itself=True))
    assert floor.judge("5", "") is Verdict.TAKE
    assert floor.judge("5", "5") is Verdict.TAKE
    assert floor.judge("6", "5") is Verdict.TAKE


def test_list_from_the_past_waits_until_it_has_lasted() -> None:
    """T31, T32: a lagging server is asked again; after 30 s of the past, the past is the truth."""
    clock = FakeClock(moves_itself=True)
    floor = ResourceVersionFloor(clock)
    assert floor.judge("4", "5") is Verdict.WAIT
    clock.advance(29.9)
    assert floor.judge("4", "5") is Verdict.WAIT
    clock.advance(0.1)
    assert floor.judge("4", "5") is Verdict.TAKE_REWOUND


def test_patience_starts_anew_after_a_good_list() -> None:
    """T31: two lags of 20 s, with a good list between, are not one of 40 s."""
    clock = FakeClock(moves_itself=True)
    floor = ResourceVersionFloor(clock)
    assert floor.judge("4", "5") is Verdict.WAIT
    clock.advance(20)
    assert floor.judge("5", "5") is Verdict.TAKE
    assert floor.judge("4", "5") is Verdict.WAIT
    clock.advance(20)
    assert floor.judge("4", "5") is Verdict.WAIT


def test_server_that_denies_our_version_is_believed_at_once() -> None:
    """T32: after "too large resource version" an older list is a rewound history, once."""
    floor = ResourceVersionFloor(FakeClock(moves_itself=True))
    floor.server_denies()
    assert floor.judge("4", "5") is Verdict.TAKE_REWOUND
    assert floor.judge("3", "4") is Verdict.WAIT
