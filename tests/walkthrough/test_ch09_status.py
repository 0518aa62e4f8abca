from __future__ import annotations

from handloop.walkthrough import ch09_status
from handloop.walkthrough.ch09_status import ENOUGH_WRITES
from support.checks.chapters import told


def test_a_status_ends_where_nothing_differs() -> None:
    """An event without a difference writes nothing; an equal status wakes no worker; a new one never ends."""
    end, _ = told(ch09_status.chapter)
    syncs, writes = end.touched
    assert syncs == 1
    assert writes == 0
    assert end.refused >= 1
    assert end.event_count >= 2
    assert end.loops.same.writes < ENOUGH_WRITES / 5
    assert end.loops.other.writes >= ENOUGH_WRITES


def test_an_apply_leaves_the_other_writers_field() -> None:
    """An update is refused, or erases it."""
    end, _ = told(ch09_status.chapter)
    assert [way[1:] for way in end.ways] == [
        ("409 Conflict", "ClientIP"),
        ("accepted", "None"),
        ("accepted", "ClientIP"),
    ]


def test_the_generation_counts_specs() -> None:
    """The version rises with each write, the generation with the spec, and the observed one follows."""
    end, _ = told(ch09_status.chapter)
    versions, generations, observed = zip(*end.versions, strict=True)
    assert list(versions) == sorted(set(versions))
    assert (generations[0], observed[0]) == (1, -1)
    assert (1, 1) in zip(generations, observed, strict=True)
    assert (2, 1) in zip(generations, observed, strict=True)
    assert (generations[-1], observed[-1]) == (2, 2)
