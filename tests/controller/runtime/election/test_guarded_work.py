"""What only the leader does, on a thread of its own."""

from __future__ import annotations

import threading

import pytest

from handloop.controller.runtime.election.leader_election import GuardedWork
from handloop.workqueue.seams import spawn_thread


def test_work_is_told_to_stop_and_seen_to_end() -> None:
    """The end is seen once it has returned, not before."""
    begun = threading.Event()

    def wait(stop: threading.Event) -> None:
        begun.set()
        assert stop.wait(20.0)

    work = GuardedWork(wait)
    thread = spawn_thread("leading", work.run)
    assert begun.wait(20.0)
    assert not work.ended.is_set()
    work.stop.set()
    assert work.ended.wait(20.0)
    thread.join()
    work.raise_error()


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(3), MemoryError()])
def test_what_work_raises_comes_out_elsewhere(error: BaseException) -> None:
    """P11, P17: of every kind, also those that end a thread without a word."""

    def fail(_stop: threading.Event) -> None:
        raise error

    work = GuardedWork(fail)
    work.raise_error()
    work.run()
    assert work.ended.is_set()
    with pytest.raises(type(error)):
        work.raise_error()
