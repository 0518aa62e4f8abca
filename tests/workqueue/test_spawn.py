from __future__ import annotations

import threading

from handloop.workqueue.spawn import spawn_thread


def test_a_spawned_thread_runs_its_target_under_its_name() -> None:
    """The target runs in a daemon thread of that name, which can be joined."""
    seen: list[threading.Thread] = []
    go = threading.Event()

    def target() -> None:
        assert go.wait(20)
        seen.append(threading.current_thread())

    thread = spawn_thread("worker-1", target)
    assert thread.is_alive()
    go.set()
    thread.join()

    assert not thread.is_alive()
    assert [(t.name, t.daemon) for t in seen] == [("worker-1", True)]
