"""Threads that run one at a time, in virtual time."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from contextlib import suppress
from random import Random

import pytest

from handloop.seams.locks import new_lock
from handloop_explore.virtual_threads import (
    EPOCH,
    BlockedError,
    VirtualThread,
    VirtualThreads,
)
from support.doubles.real_thread import real_thread


def test_a_day_passes_in_a_moment_and_in_order() -> None:
    """Whoever waits for a time gets it exactly."""
    seen = []
    with VirtualThreads() as threads:

        def wait(seconds: float) -> None:
            threads.seams.clock.sleep(seconds, threading.Event())
            seen.append((seconds, threads.now))

        for seconds in (86_400.0, 5.0, 0.5):
            threading.Thread(target=wait, args=(seconds,)).start()
        threads.run_for(5.0)
        assert seen == [(0.5, 0.5), (5.0, 5.0)]
        threads.run_for(86_400.0)
    assert seen[-1] == (86_400.0, 86_400.0)


def test_the_time_of_the_world_is_that_of_the_module_time() -> None:
    """Whoever reads or sleeps by hand does so in virtual time, until its end."""
    before = (time.time, time.time_ns, time.sleep)
    with VirtualThreads() as threads:
        assert (int(time.time()), time.time_ns() // 10**9) == (EPOCH, EPOCH)
        time.sleep(86_400)
        assert (int(time.time()), int(threads.now)) == (EPOCH + 86_400, 86_400)
    assert (time.time, time.time_ns, time.sleep) == before


def test_who_only_looks_changes_nothing() -> None:
    """It takes no lock that another holds, and no time; the lock goes on to the thread that waits for it."""
    with VirtualThreads() as threads:
        lock, taken = new_lock("Any._lock", 1), threading.Event()

        def hold() -> None:
            with lock:
                threads.sleep(10)

        def want() -> None:
            with lock:
                taken.set()

        threading.Thread(target=hold).start()
        threads.run_for(1)
        threading.Thread(target=want).start()
        before = threads.now
        with threads.looking():
            assert threads.seams.clock.now() > before
        with pytest.raises(BlockedError), threads.looking():
            lock.acquire()
        assert threads.now == before
        threads.run_for(10)
        assert taken.is_set()


def order_of(seed: int | None) -> list[int]:
    """Which of ten threads come first."""
    seen: list[int] = []
    with VirtualThreads(None if seed is None else Random(seed)) as threads:
        for number in range(10):
            threading.Thread(target=seen.append, args=(number,)).start()
        threads.run_for(1)
    return seen


def test_the_order_follows_from_the_seed() -> None:
    """First come, first served without one."""
    assert order_of(None) == list(range(10))
    assert order_of(1) == order_of(1) != order_of(2)
    assert sorted(order_of(1)) == list(range(10))


def test_killed_threads_end_where_they_are() -> None:
    """Their `finally` runs, and gets no time."""
    seen = []
    with VirtualThreads() as threads:

        def work() -> None:
            try:
                threads.sleep(60)
            finally:
                seen.append("finally")
                threads.sleep(60)
                seen.append("never")

        def end_another() -> None:
            threads.in_main(lambda: threads.kill([worker]))
            threads.sleep(1)
            seen.append("lives")

        threads.spawn("worker", work)
        (worker,) = threads.threads()
        threads.run_for(1)
        threads.spawn("other", end_another)
        threads.run_for(5)
        assert seen == ["finally", "lives"]


def test_a_world_leaves_nothing_behind() -> None:
    """Neither names of threading, nor threads; another real thread never sees it."""
    before, real = (threading.Lock, threading.Event, threading.Thread), threading.Event
    made = []
    start, go = threading.Event(), threading.Event()

    def elsewhere() -> None:
        start.wait()
        made.append(type(threading.Event()))
        go.set()

    other = threading.Thread(target=elsewhere)
    other.start()
    with VirtualThreads() as threads:
        threads.spawn("for ever", threads.park)
        assert type(threading.Event()) is not real
        start.set()
        go.wait()
    other.join()
    assert made == [real]
    assert (threading.Lock, threading.Event, threading.Thread) == before
    assert threads.threads() == []


def test_a_paused_process_stands_still_and_its_waits_go_on() -> None:
    """Another process works meanwhile."""
    with VirtualThreads() as threads:
        seen: list[tuple[str, int]] = []

        def wait(name: str, seconds: float) -> None:
            threads.sleep(seconds)
            seen.append((name, round(threads.now)))

        def pause() -> None:
            threads.spawn("short", lambda: wait("short", 5))
            threads.spawn("long", lambda: wait("long", 30))
            threads.sleep(1)
            threads.pause(20)
            seen.append(("pause", round(threads.now)))

        for process, target in (("one", pause), ("two", lambda: wait("other", 5))):
            thread = VirtualThread(threads, target=target)
            thread.process = process
            thread.start()
        threads.run_for(60)
        assert seen == [("other", 5), ("pause", 21), ("short", 21), ("long", 30)]


def test_an_interrupt_ends_the_main_thread(threads: VirtualThreads) -> None:
    """Not the thread that runs, which may outlive whatever is raised in it."""

    def outlive() -> None:
        while True:
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
                threads.sleep(1)

    threads.spawn("worker", outlive)
    with threads.interrupted_in_main(), pytest.raises(KeyboardInterrupt):
        threads.run_for(1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_loop_of_the_real_thread_goes_on_afterwards() -> None:
    """As that of a browser's driver; in the world no loop runs, but for those of its own threads."""

    async def play() -> None:
        loop = asyncio.get_running_loop()
        with VirtualThreads() as threads:
            thread = threading.Thread(target=lambda: asyncio.run(asyncio.sleep(3)))
            thread.start()
            thread.join()
            assert 2.9 < threads.now < 5.5
            threading.Thread(target=lambda: asyncio.run(asyncio.sleep(3))).start()
            threads.run_for(1)
            assert threads.outside(asyncio.get_running_loop) is loop
        assert asyncio.get_running_loop() is loop

    asyncio.run(play())


def test_another_real_thread_gets_real_locks() -> None:
    """One that outlives the world, such as that of a server which tests share."""
    made = []
    with real_thread() as run, VirtualThreads():
        ours = new_lock("Ours._lock", 10)
        run(lambda: made.append(new_lock("Server._lock", 10)))
    assert type(made[0]) is not type(ours)
