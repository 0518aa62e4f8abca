"""The exercise of chapter 6: a worker that gets keys, syncs them, and gives them back."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, Final

from handloop.seams.seams import Seams
from handloop.workqueue.queue import QueueOptions
from handloop.workqueue.rate_limiters import default_controller_rate_limiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue
from handloop_learn.clocks import HandClock
from handloop_learn.exercise import Exercise, Load, WrongError, expect
from handloop_learn.waiting import NothingHappenedError, until

START: Final = '''\
"""Chapter 6: the loop of a worker."""

from handloop.workqueue.queue import ShutDown


def work(queue, sync):
    """
    queue  get() returns a key, or raises ShutDown when the worker should end;
           done(key), add_rate_limited(key), forget(key)
    sync   sync(key) returns when all is well, and raises when the key has to be tried again later
    """
    while True:
        key = queue.get()
        sync(key)
'''

PATIENCE_SECONDS: Final = 1.0
_FAILURES: Final = 2
_DONE: Final = "Each get() needs its done(), after a failure, too: `finally`."


class _Worker:
    """A real queue, the reader's worker on a thread, and a sync that fails for `bad` two times."""

    def __init__(self, work: Any) -> None:
        self.clock = HandClock()
        limiter = default_controller_rate_limiter(clock=self.clock)
        self.queue: RateLimitingQueue[str] = RateLimitingQueue(
            limiter, QueueOptions(seams=Seams(clock=self.clock))
        )
        self.runs: Counter[str] = Counter()
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, args=(work,), name="worker-0", daemon=True)
        self.thread.start()

    def expect(self, holds: Callable[[], object], happened: str, hint: str) -> None:
        """Give the worker a moment until something holds. Raises: WrongError."""
        with suppress(NothingHappenedError):
            until(lambda: holds() or self.error, happened, seconds=PATIENCE_SECONDS)
        if self.error is not None and not holds():
            raise self.error
        expect(holds(), happened, hint)

    def sync(self, key: str) -> None:
        """What the reader's worker calls."""
        self.runs[key] += 1
        if key == "bad" and self.runs[key] <= _FAILURES:
            raise _SyncError("the sync of `bad` failed")

    def _run(self, work: Any) -> None:
        try:
            work(self.queue, self.sync)
        except BaseException as error:  # noqa: BLE001 - shown to the reader
            self.error = error


class _SyncError(Exception):
    """The failure that a worker has to survive."""


def check(load: Load) -> Iterator[str]:
    """See Check."""
    worker = _Worker(load().work)
    try:
        yield from _check(worker)
    except _SyncError as error:
        hint = "Catch what sync raises: a worker lives on, and says add_rate_limited(key)."
        raise WrongError("your worker ended when a sync raised", hint) from error
    finally:
        worker.queue.shut_down()


def _check(worker: _Worker) -> Iterator[str]:
    queue, runs = worker.queue, worker.runs
    queue.add("good")
    worker.expect(lambda: runs["good"], "`good` was added, and sync was never called", "get() and sync(key).")
    idle = lambda: not queue.statistics().in_flight
    worker.expect(
        idle, "`good` is still in `processing`, long after its sync: no worker gets it again", _DONE
    )
    queue.add("good")
    worker.expect(lambda: runs["good"] == 2, "`good` was added again, and did not run again", "Loop.")
    yield "a key that was added twice ran twice, and is given back"
    queue.add("bad")
    worker.expect(lambda: runs["bad"], "`bad` was added, and sync was never called", "Loop.")
    hint = "A key that failed goes back with add_rate_limited(key), which waits longer each time."
    worker.expect(lambda: queue.statistics().delayed or runs["bad"] > 1, "`bad` failed, and is lost", hint)
    expect(runs["bad"] == 1, f"`bad` failed, and was tried {runs['bad']} times without a pause", hint)
    worker.expect(idle, "`bad` failed, and is still in `processing`", _DONE)
    for tries in (2, 3):
        worker.clock.advance(1)
        worker.expect(lambda tries=tries: runs["bad"] == tries, f"try {tries} of `bad` never came", hint)  # type: ignore[misc]
        worker.expect(idle, "`bad` is still in `processing`", _DONE)
        if tries == 2:
            worker.expect(lambda: queue.statistics().delayed, "`bad` failed again, and is lost", hint)
    yield "a failed key is tried again, later each time"
    forgotten = (
        "After a success say forget(key). Else the next failure waits as if the old ones still counted."
    )
    left = queue.num_requeues("bad")
    worker.expect(
        lambda: not queue.num_requeues("bad"), f"`bad` succeeded, and {left} failures still count", forgotten
    )
    expect(
        not queue.statistics().delayed, "`bad` succeeded, and waits for another try", "Only failures go back."
    )
    yield "a success ends the count of failures"
    queue.shut_down()
    with suppress(NothingHappenedError):
        until(lambda: not worker.thread.is_alive(), "the end", seconds=PATIENCE_SECONDS)
    end = "get() raises ShutDown when the queue is shut down: return."
    expect(
        not worker.thread.is_alive() and worker.error is None,
        "the queue was shut down, and your worker did not return",
        end,
    )
    yield "the worker ends with the queue"


EXERCISE: Final = Exercise(
    "write work(): the loop of a worker, which survives failures.",
    "exercise_06_workqueue.py",
    START,
    check,
)
