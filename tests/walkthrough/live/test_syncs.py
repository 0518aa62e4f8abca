"""Syncs, read from the steps."""

from __future__ import annotations

from typing import Any

from handloop.walkthrough.live.recorder import Step
from handloop.walkthrough.live.syncs import Sync, syncs


def step(
    seq: int, number: int, key: str, *, thread: str = "w0", component: str = "foo", **facts: Any
) -> Step:
    return Step(seq, float(seq), thread, number, component, key, facts)


def test_a_sync_goes_from_get_to_done() -> None:
    """Two workers, one success and one failure, in the order of their ends; a third sync is under way."""
    told = [
        step(1, 8, "a"),
        step(2, 8, "b", thread="w1"),
        step(3, 10, "x", component="deployments.apps"),
        step(4, 11, "b", thread="w1", seconds=0.005, failures=1),
        step(5, 12, "b", thread="w1", again=False),
        step(6, 11, "a", forgotten=0),
        step(7, 12, "a", again=False),
        step(8, 8, "c"),
    ]
    assert syncs(told) == [
        Sync("foo", "b", "w1", 2.0, "failed", 0.005, 5.0),
        Sync("foo", "a", "w0", 1.0, "ok", None, 7.0),
        Sync("foo", "c", "w0", 8.0),
    ]


def test_a_sync_that_began_before_the_recording_is_left_out() -> None:
    """Its key is not known."""
    assert syncs([step(1, 11, "a", forgotten=0), step(2, 12, "a", again=False)]) == []
