"""What several changes of one object are together; the FIFO that keeps them is in test_delta_fifo.py."""

from __future__ import annotations

import pytest

from handloop.informers.delta_fifo import Delta, Deltas, DeltaType, extend
from handloop.informers.keys import DeletedFinalStateUnknown

ADDED, UPDATED, DELETED, SYNC = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED, DeltaType.SYNC

OLD: DeletedFinalStateUnknown[str] = DeletedFinalStateUnknown("key", "old")
NEW: DeletedFinalStateUnknown[str] = DeletedFinalStateUnknown("key", "new")


@pytest.mark.parametrize("kind", [ADDED, UPDATED, SYNC])
def test_every_change_is_kept(kind: DeltaType) -> None:
    """FIFO-01: in the order in which they came, the same ones, too."""
    deltas: Deltas[str] = [Delta(ADDED, "a")]
    extend(deltas, Delta(kind, "b"))
    extend(deltas, Delta(kind, "b"))
    assert deltas == [Delta(ADDED, "a"), Delta(kind, "b"), Delta(kind, "b")]


@pytest.mark.parametrize(
    ("first", "second", "kept"),
    [("a", "b", "a"), ("a", OLD, "a"), (OLD, "a", "a"), (OLD, NEW, NEW)],
    ids=["objects", "then a tombstone", "after a tombstone", "tombstones"],
)
def test_two_deletions_in_a_row_are_one(
    first: str | DeletedFinalStateUnknown[str],
    second: str | DeletedFinalStateUnknown[str],
    kept: str | DeletedFinalStateUnknown[str],
) -> None:
    """The first stays, unless it is a tombstone: a final state is worth more."""
    deltas: Deltas[str] = [Delta(DELETED, first)]
    extend(deltas, Delta(DELETED, second))
    assert deltas == [Delta(DELETED, kept)]


def test_deletions_that_something_came_between_are_two() -> None:
    """An object that was made again in between was deleted twice."""
    deltas: Deltas[str] = [Delta(DELETED, "a"), Delta(ADDED, "b")]
    extend(deltas, Delta(DELETED, "b"))
    assert [delta.type for delta in deltas] == [DELETED, ADDED, DELETED]
