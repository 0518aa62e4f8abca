"""A worker that takes keys from a queue, and can be held in the middle of its work."""

from __future__ import annotations

import threading
from typing import Self

from handloop.walkthrough.waiting import until
from handloop.workqueue.queue import ShutDown
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue


class PausedWorker:
    """
    A thread that gets a key, waits for resume(), and gives the key back; for the length of a `with`.

    State: runs, the keys in the order in which work on them began. The worker's thread alone writes it.
    """

    def __init__(self, queue: RateLimitingQueue[str]) -> None:
        self.runs: list[str] = []
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

    def begins(self, runs: int) -> None:
        """Wait until so many keys were begun. Blocks: until then."""
        until(lambda: len(self.runs) >= runs, f"run {runs} of the worker")

    def resume(self, runs: int) -> None:
        """Never wait again. Blocks: until so many keys were begun, and none is in work."""
        self._gate.set()
        self.begins(runs)
        until(lambda: self._queue.statistics().in_flight == 0, "the end of the work")

    def _run(self) -> None:
        while True:
            try:
                key = self._queue.get()
            except ShutDown:
                return
            self.runs.append(key)
            self._gate.wait()
            self._queue.forget(key)
            self._queue.done(key)
