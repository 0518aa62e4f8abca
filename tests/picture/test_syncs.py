"""Syncs, read from the steps."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.picture.recorder import Step
from handloop.picture.syncs import Sync, syncs


def step(
    seq: int, number: int, key: str, *, thread: str = "w0", component: str = "foo", **facts: Any
) -> Step:
    return Step(seq, float(seq), thread, number, component, key, facts)


def test_a_sync_goes_from_get_to_done() -> None:
    """A success and a failure with its reason, in the order of their ends; a third sync is under way."""
    told = [
        step(1, 8, "a"),
        step(2, 8, "b", thread="w1"),
        step(3, 10, "x", component="deployments.apps"),
        step(4, 11, "b", thread="w1", seconds=0.005, failures=1, error="E: no"),
        step(5, 12, "b", thread="w1", again=False),
        step(6, 11, "a", forgotten=0),
        step(7, 12, "a", again=False),
        step(8, 8, "c"),
    ]
    assert syncs(told) == [
        Sync("foo", "b", "w1", 2, 2.0, "failed", "E: no", 0.005, 5.0),
        Sync("foo", "a", "w0", 1, 1.0, "ok", "", None, 7.0),
        Sync("foo", "c", "w0", 8, 8.0),
    ]


@pytest.mark.parametrize(
    ("told", "outcome"),
    [
        ([{"waits": "W: not yet", "seconds": 10.0}], ("waits", "W: not yet", 10.0)),
        ([{"forgotten": 0}, {"waits": "W: not yet", "seconds": 10.0}], ("waits", "W: not yet", 10.0)),
        ([{"forgotten": 0}, {"waits": "", "seconds": 30.0}], ("ok", "", 30.0)),
        ([{"forgotten": 3}, {"error": "E: no", "failures": 0, "seconds": None}], ("failed", "E: no", None)),
        ([], ("", "", None)),
    ],
)
def test_how_a_sync_ended(told: list[dict[str, Any]], outcome: tuple[str, str, float | None]) -> None:
    """A mere wait, a success that comes again later, a failure for good, and one that says nothing."""
    steps = [step(1, 8, "a"), *(step(2, 11, "a", **facts) for facts in told), step(3, 12, "a", again=False)]
    (sync,) = syncs(steps)
    assert (sync.outcome, sync.reason, sync.retry_seconds) == outcome


def test_a_sync_without_done_is_left_when_its_thread_goes_on() -> None:
    """The done() may come later, from any thread: then the key is free, and the sync is forgotten."""
    told = [step(1, 8, "a"), step(2, 11, "a", forgotten=0), step(3, 8, "b")]
    assert [(sync.key, sync.left) for sync in syncs(told)] == [("a", True), ("b", False)]
    told.append(step(4, 12, "a", thread="live-server", again=False))
    assert [(sync.key, sync.left) for sync in syncs(told)] == [("b", False)]


def test_threads_of_one_name_have_a_queue_each() -> None:
    """Each keeps its own key."""
    told = [step(1, 8, "a"), step(2, 8, "b", component="bar"), step(3, 12, "a", again=False)]
    assert [(sync.queue, sync.key, sync.ended_at, sync.left) for sync in syncs(told)] == [
        ("foo", "a", 3.0, False),
        ("bar", "b", None, False),
    ]


def test_a_sync_that_began_before_the_recording_is_left_out() -> None:
    """Its key is not known."""
    assert syncs([step(1, 11, "a", forgotten=0), step(2, 12, "a", again=False)]) == []
