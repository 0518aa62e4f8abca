from __future__ import annotations

from handloop.walkthrough import ch03_delta_fifo
from support.checks.chapters import told


def test_a_key_stands_in_line_once() -> None:
    """Five events of two keys are one pop of two; a relist makes a tombstone; a final state replaces it."""
    end, _ = told(ch03_delta_fifo.chapter)
    assert end.pops == 2
    events, relist, late_event, resync = end.deltas
    assert events == {"a": ["Added", "Updated", "Updated"], "b": ["Added", "Updated"]}
    assert relist == {"a": ["Replaced"], "b": ["Deleted(DeletedFinalStateUnknown)"]}
    assert late_event == {"a": ["Replaced"], "b": ["Deleted(Foo)"]}
    assert resync == {"a": ["Sync"]}
    assert end.stored == ["default/a"]
