"""The exercise of chapter 6: a worker that gets keys, syncs them, and reports them as done."""

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
    sync   sync(key) returns on success, and raises if the key needs a retry
    """
    while True:
        key = queue.get()
        sync(key)
'''

PATIENCE_SECONDS: Final = 1.0
_FAILURES: Final = 2
_DONE: Final = "Each get() needs a done(), even after a failure: use `finally`."
_LATER: Final = "Put a failed key back with add_rate_limited(key), which waits longer each time."


class _Worker:
    """A real queue, the reader's worker on a thread, and a sync that fails twice for the key `bad`."""

    def __init__(self, work: Any) -> None:
        self.clock = HandClock()
        limiter = default_controller_rate_limiter(clock=self.clock)
        self.queue: RateLimitingQueue[str] = RateLimitingQueue(
            limiter, QueueOptions(seams=Seams(clock=self.clock))
        )
        self.syncs: Counter[str] = Counter()
        self.early = ""
        self.error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, args=(work,), name="worker-0", daemon=True)
        self.thread.start()

    def expect(self, holds: Callable[[], object], happened: str, hint: str) -> None:
        """
        Wait briefly until holds() is true.

        Raises: the error that ended the worker, if any; otherwise WrongError if holds() stays false.
        """
        with suppress(NothingHappenedError):
            until(lambda: holds() or self.error, happened, seconds=PATIENCE_SECONDS)
        if self.error is not None and not holds():
            raise self.error
        expect(holds(), happened, hint)

    def sync(self, key: str) -> None:
        self.syncs[key] += 1
        if not self.queue.statistics().in_flight:
            self.early = key
        if key == "bad" and self.syncs[key] <= _FAILURES:
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
        hint = "Catch what sync raises, so that the worker continues, and call add_rate_limited(key)."
        raise WrongError("your worker ended when a sync raised", hint) from error
    finally:
        worker.queue.shut_down()


def _check(worker: _Worker) -> Iterator[str]:
    queue, syncs = worker.queue, worker.syncs
    queue.add("good")
    worker.expect(lambda: syncs["good"], "`good` was added, and sync was never called", "get(), then sync.")
    idle = lambda: not queue.statistics().in_flight
    worker.expect(idle, "`good` is still in `processing` after its sync, so no worker gets it again", _DONE)
    expect(
        not worker.early,
        "you called done(key) before sync(key), so two workers can sync it at once",
        "Sync, then call done(key).",
    )
    queue.add("good")
    worker.expect(lambda: syncs["good"] == 2, "`good` was added again, but was not synced again", "Loop.")
    worker.expect(idle, "`good` is still in `processing`", _DONE)
    expect(
        not queue.statistics().delayed,
        "`good` succeeded, but is still waiting for a retry",
        "Only failures wait for a retry.",
    )
    yield "a key that was added twice was synced twice, and done() was called each time"
    queue.add("bad")
    worker.expect(lambda: syncs["bad"], "`bad` was added, and sync was never called", "Loop.")
    waits = [_wait_after(worker, failures) for failures in range(1, _FAILURES + 1)]
    worker.expect(idle, "`bad` is still in `processing`", _DONE)
    same = f"`bad` failed twice, and its waits were {' and '.join(f'{wait * 1000:g} ms' for wait in waits)}"
    expect(waits[1] > waits[0], same, "Call forget(key) only after a success: it resets the failure count.")
    yield "a failed key is retried, and waits longer each time"
    forgotten = "After a success, call forget(key), so that the old failures are no longer counted."
    left = queue.num_requeues("bad")
    worker.expect(
        lambda: not queue.num_requeues("bad"),
        f"`bad` succeeded, but {left} failures are still counted",
        forgotten,
    )
    expect(
        not queue.statistics().delayed,
        "`bad` succeeded, but is still waiting for a retry",
        "Only failures wait for a retry.",
    )
    yield "a success resets the failure count"
    queue.shut_down()
    with suppress(NothingHappenedError):
        until(lambda: not worker.thread.is_alive(), "the end", seconds=PATIENCE_SECONDS)
    end = "get() raises ShutDown when the queue is shut down. Return then."
    ended = not worker.thread.is_alive() and worker.error is None
    expect(ended, "the queue was shut down, and your worker did not return", end)
    yield "the worker ends when the queue is shut down"


def _wait_after(worker: _Worker, failures: int) -> float:
    """Wait for the retry of `bad` after this many failures. Returns: the retry's delay in seconds."""
    queue, syncs = worker.queue, worker.syncs

    def delay() -> float:
        return queue.items(9).delayed.get("bad", 0.0)

    worker.expect(
        lambda: delay() or syncs["bad"] > failures, "`bad` failed, and was not queued again", _LATER
    )
    again = f"`bad` failed, and was synced {syncs['bad'] - failures} more times without a wait"
    expect(syncs["bad"] == failures, again, _LATER)
    worker.expect(lambda: not queue.statistics().in_flight, "`bad` failed, but stays in `processing`", _DONE)
    wait = delay()
    worker.clock.advance(1)
    worker.expect(lambda: syncs["bad"] > failures, "`bad` was never retried", _LATER)
    return wait


EXERCISE: Final = Exercise("write work(), a worker loop that survives failed syncs.", START, check)
