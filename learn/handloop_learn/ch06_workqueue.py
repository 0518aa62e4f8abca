"""Chapter 6: the workqueue decides when a key is synced, and never gives a key to two workers at once."""

from __future__ import annotations

import threading
from typing import Final, NamedTuple, Self

from handloop.seams.seams import Seams
from handloop.workqueue.queue import Queue, QueueOptions, QueueStatistics, ShutDown
from handloop.workqueue.rate_limiters import default_controller_rate_limiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop_learn.clocks import HandClock
from handloop_learn.prediction import NO
from handloop_learn.screen import Screen
from handloop_learn.source import cut
from handloop_learn.waiting import until

RECAP: Final = (
    "A key is queued only once, however often it is added. The next sync reads the newest state anyway.",
    "The set `processing` acts as a lock on each key, so no two workers have the same key.",
    "Each get() needs a done(), and each success needs a forget().",
)


class End(NamedTuple):
    """
    The queue's statistics with a paused worker; the keys that the worker synced; the statistics without
    done(); the delays without forget().
    """

    while_paused: QueueStatistics
    syncs: list[str]
    without_done: QueueStatistics
    delays: list[float]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    queue = _queue(HandClock())
    with PausedWorker(queue) as worker:
        screen.tell(
            "A Foo takes two paths. The object goes into the cache, and its key, such as default/a, goes "
            "into the workqueue. A worker takes the key from the queue, and reads the object from the "
            "cache."
        )
        screen.tell(
            "A worker is busy with `a`. The keys in `dirty` need work, and those in `processing` have a "
            "worker."
        )
        queue.add("a")
        worker.begins(1)
        _show(screen, queue)
        screen.ask(
            "`a` and `b` are added 100 times each. How many times will `a` have been synced in the end?"
        )
        for key in ["a", "b"] * 100:
            queue.add(key)
        while_paused = queue.statistics()
        _show(screen, queue)
        worker.resume(3)
        counts = ", ".join(f"{key}: {worker.syncs.count(key)}" for key in "ab")
        screen.reveal(
            f"{counts}. An add during a sync causes one more sync, because the running one may already have "
            "read the state.",
            worker.syncs.count("a"),
        )
        screen.tell("add() does not queue a key that a worker has. done() queues it later:")
        screen.code(cut(Queue._accept_locked, "if item in self._dirty", "return True"))
        screen.code(cut(Queue._take_back_locked, "self._processing.remove", "self._processing.remove"))
        screen.code(cut(Queue._take_back_locked, "in self._dirty", "self._container.append"))
    without_done, delays = _without_done(screen), _without_forget(screen)
    return End(while_paused, worker.syncs, without_done, delays)


def _without_done(screen: Screen) -> QueueStatistics:
    """Get a key, and never call done(). Returns: the statistics afterwards."""
    screen.break_it(
        "a worker never calls done(), and the key is added again.", "Does an idle worker get the key?"
    )
    with _queue(HandClock()) as queue:
        queue.add("stuck")
        queue.get()
        queue.add("stuck")
        _show(screen, queue)
        without_done = queue.statistics()
        screen.reveal(
            "No, and no worker ever will. The key stays in `processing`, and no error is reported.", NO
        )
    return without_done


def _without_forget(screen: Screen) -> list[float]:
    """Let each sync fail once, without ever calling forget(). Returns: the delays."""
    screen.break_it(
        "a worker never calls forget(). Each sync fails once, and its retry succeeds.",
        "The first retry waits 5 ms. How many seconds does the fifth wait?",
    )
    clock, delays = HandClock(), list[float]()
    with _queue(clock) as queue:
        for _ in range(5):
            queue.add_rate_limited("slow")
            delays.append(round(queue.items(1).delayed["slow"], 6))
            clock.advance(delays[-1])
            until(lambda: len(queue), "the delayed key")
            queue.done(queue.get())
        screen.show(seconds_to_each_retry=delays)
        screen.reveal(f"{delays[-1]:g}. Each success should have reset the delay.", delays[-1])
    return delays


def _queue(clock: HandClock) -> RateLimitingQueue[str]:
    return RateLimitingQueue(
        default_controller_rate_limiter(clock=clock), QueueOptions(seams=Seams(clock=clock))
    )


def _show(screen: Screen, queue: RateLimitingQueue[str]) -> None:
    columns = sorted(queue._dirty), sorted(queue._processing), [*queue._container]
    screen.table(("dirty", "processing", "queue"), [columns])


class PausedWorker:
    """
    A worker thread that waits in each sync until resume() is called. It runs inside a `with` block.

    State: syncs holds the keys in the order in which their syncs started. Only the worker's thread writes it.
    """

    def __init__(self, queue: RateLimitingQueue[str]) -> None:
        self.syncs: list[str] = []
        self._queue = queue
        self._gate = threading.Event()
        self._thread = threading.Thread(target=self._run, name="worker-0")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._gate.set()
        self._queue.shut_down()
        self._thread.join()

    def begins(self, syncs: int) -> None:
        """Wait until this many syncs have started. Blocks: until they have."""
        until(lambda: len(self.syncs) >= syncs, f"sync {syncs} of the worker")

    def resume(self, syncs: int) -> None:
        """Let all syncs continue. Blocks: until this many syncs have started, and all have ended."""
        self._gate.set()
        self.begins(syncs)
        until(lambda: self._queue.statistics().in_flight == 0, "the end of the work")

    def _run(self) -> None:
        while True:
            try:
                key = self._queue.get()
            except ShutDown:
                return
            self.syncs.append(key)
            self._gate.wait()
            self._queue.forget(key)
            self._queue.done(key)
