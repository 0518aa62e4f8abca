from __future__ import annotations

from handloop.seams.step_trace import TRACE
from handloop_learn.sync_log import SyncLog


def test_a_sync_is_counted_by_its_outcome() -> None:
    """A forgotten key succeeded, one with an error failed; other queues and waits do not count."""
    with SyncLog() as log:
        TRACE.tell(11, "foo", "default/a", forgotten=0)
        TRACE.tell(11, "foo", "default/a", seconds=0.005, failures=1, error="Conflict: old")
        TRACE.tell(11, "foo", "default/a", seconds=1.0, waits="")
        TRACE.tell(11, "myapp", "default/a", forgotten=0)
        assert log.once_failed() == "Conflict: old"
        assert (log.succeeded, log.take_errors(), log.errors) == (1, ["Conflict: old"], [])
    assert not TRACE.on
