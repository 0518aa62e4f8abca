from __future__ import annotations

from handloop.workqueue.queue import QueueStatistics
from handloop_learn import ch06_workqueue
from support.checks.chapters import told


def test_adds_collapse_and_what_a_worker_forgets_shows() -> None:
    """A hundred adds are one run; without done a key is stuck; without forget the delays grow."""
    end, text = told(ch06_workqueue.chapter)
    assert end.while_paused == QueueStatistics(queued=1, in_flight=1, readded=1, delayed=0)
    assert end.syncs == ["a", "b", "a"]
    assert end.without_done == QueueStatistics(queued=0, in_flight=1, readded=1, delayed=0)
    assert end.delays == [0.005, 0.01, 0.02, 0.04, 0.08]
    assert "a: 2, b: 1" in text
