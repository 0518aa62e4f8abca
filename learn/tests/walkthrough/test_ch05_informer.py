from __future__ import annotations

from handloop_learn import ch05_informer
from support.checks.chapters import told


def test_a_slow_handler_and_a_failing_one_stop_no_other() -> None:
    """While one handler waits the other gets all; a resync shows the same objects; a failure is survived."""
    end, _ = told(ch05_informer.chapter)
    assert end.requests == 1
    assert [(one.handled, one.pending) for one in end.blocked] == [(3, 0), (0, 3)]
    assert len(end.resyncs) == 3
    assert all(old == new and is_same for old, new, is_same in end.resyncs)
    assert [(one.handled, one.panics) for one in end.last] == [(8, 1), (5, 0)]
