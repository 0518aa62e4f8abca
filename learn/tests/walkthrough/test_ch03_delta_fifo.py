from __future__ import annotations

from handloop_learn import ch03_delta_fifo
from support.checks.chapters import told


def test_a_key_stands_in_line_once() -> None:
    """
    Five events of two keys are one pop of two, heard in another order than from a RealFIFO. A relist makes a
    tombstone, but none after a final state.
    """
    end, _ = told(ch03_delta_fifo.chapter)
    joined, single = end.orders
    assert joined == ["a 1", "a 2", "a 3", "b 1", "b 2"]
    assert single == ["a 1", "b 1", "a 2", "a 3", "b 2"]
    events, relist, seen_and_listed, resync = end.deltas
    assert events == {"a": ["Added", "Updated", "Updated"], "b": ["Added", "Updated"]}
    assert relist == {"a": ["Replaced"], "b": ["Deleted(DeletedFinalStateUnknown)"]}
    assert seen_and_listed == {"a": ["Replaced"], "c": ["Deleted(Foo)"]}
    assert resync == {"a": ["Sync"]}
    assert end.stored == ["default/a"]
