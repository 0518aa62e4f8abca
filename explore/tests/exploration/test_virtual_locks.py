"""What virtual threads wait for."""

from __future__ import annotations

import threading

import pytest

from handloop.seams.locks import new_condition, new_lock
from handloop_explore.virtual_threads import DeadlockError, VirtualThreads


def test_a_lock_is_held_by_one() -> None:
    """The others wait, or give up after their time."""
    seen = []
    with VirtualThreads() as threads:
        lock = new_lock("Any._lock", 1)

        def hold() -> None:
            with lock:
                threads.sleep(10)

        def want(seconds: float) -> None:
            seen.append((lock.acquire(timeout=seconds), threads.now))

        threading.Thread(target=hold).start()
        threads.run_for(1)
        assert not lock.acquire(blocking=False)
        for seconds in (2.0, 60.0):
            threading.Thread(target=want, args=(seconds,)).start()
        threads.run_for(60)
    assert seen == [(False, 3.0), (True, 10.0)]


def test_a_condition_wakes_as_many_as_it_is_asked_to() -> None:
    """And one that waits for a time goes on alone."""
    woken = []
    with VirtualThreads() as threads:
        condition = new_condition("Any._changed", 1)

        def wait(name: str, seconds: float | None) -> None:
            with condition:
                woken.append((name, condition.wait(seconds), threads.now))

        for name, seconds in (("late", 3.0), ("a", None), ("b", None), ("c", None)):
            threading.Thread(target=wait, args=(name, seconds)).start()
        threads.run_for(5)
        with condition:
            condition.notify(2)
        threads.run_for(1)
        with condition:
            condition.notify_all()
        threads.run_for(1)
        with condition:
            assert not condition.wait_for(lambda: False, timeout=2)
        assert threads.now == 9
    assert woken == [("late", False, 3.0), ("a", True, 5.0), ("b", True, 5.0), ("c", True, 6.0)]


def test_events_and_ends_are_waited_for() -> None:
    """Also by the main thread, which lets the others run meanwhile."""
    with VirtualThreads() as threads:
        event = threading.Event()

        def set_later() -> None:
            threads.sleep(7)
            event.set()

        thread = threading.Thread(target=set_later, name="setter")
        assert not thread.is_alive()
        thread.start()
        assert [one.name for one in threads.threads()] == ["setter"]
        assert not event.wait(2)
        assert event.wait(20)
        thread.join()
        assert (threads.now, thread.is_alive(), threads.threads()) == (7, False, [])
        with pytest.raises(DeadlockError):
            threading.Event().wait()
