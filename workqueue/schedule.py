"""
Holds items that wait for their time, and has the thread that hands them over.

Follows: client-go util/workqueue/delaying_queue.go, differs:
  * The caller puts an item on the heap, so there is no hand-over buffer that could fill up and block.
  * There is no heartbeat. The loop decides under the lock to wait for the earliest item. An earlier item or a
    stop ends that wait early. It is recorded under the same lock and notifies the loop, which cannot miss it.
  * The thread starts with the first item, so a queue that never delays has no thread.
  * Items with equal times are handed over in the order of the calls.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Hashable
from typing import Final, Generic, TypeVar

from handloop.seams.locks import Lock, condition_over
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable

T = TypeVar("T", bound=Hashable)

_COMPACT_FROM: Final = 64


class Schedule(Generic[T]):
    """
    Holds each item once, at the earliest requested time, and hands it over when that time has come.

    State, all guarded by the lock of the queue:
      _ready_at   item -> its time
      _heap       (time, sequence number, item); an entry is valid if its time is the one in _ready_at. Other
                  entries were superseded by an earlier one or discarded; the loop skips them
      stopped     never goes back to False

    Threads: usable from any thread; the loop thread `delaying-<queue>` runs once the first item is added.
    Locks: a caller of a method named `_locked` holds the queue's lock.
    """

    def __init__(
        self, lock: Lock, hand_over_locked: Callable[[list[T]], object], *, name: str, seams: Seams
    ) -> None:
        """
        Create an empty schedule.

        Args: hand_over_locked receives the items that are due, in the order of their times. The loop thread
        calls it with lock held, and has already removed the items from the schedule.
        """
        self.stopped = False
        self._hand_over_locked = hand_over_locked
        self._name = name
        self._clock = seams.clock
        self._spawn = seams.spawn
        self._changed = condition_over(lock)
        self._ready_at: dict[T, float] = {}
        self._heap: list[tuple[float, int, T]] = []
        self._sequence = itertools.count()
        self._loop: Joinable | None = None

    def __len__(self) -> int:
        """Return how many items wait for their time."""
        return len(self._ready_at)

    def put_locked(self, item: T, delay_seconds: float) -> None:
        """
        Hand over item after delay_seconds, or earlier if an earlier time was requested.

        Ignored once stopped.
        """
        ready_at = self._clock.now() + delay_seconds
        known = self._ready_at.get(item)
        if self.stopped or (known is not None and known <= ready_at):
            return
        self._ready_at[item] = ready_at
        entry = (ready_at, next(self._sequence), item)
        heapq.heappush(self._heap, entry)
        self._sweep_locked()
        if self._loop is None:
            # Start the thread with the lock held, so that a stop finds the thread that it has to join.
            self._loop = self._spawn(f"delaying-{self._name or 'queue'}", self._run)
        elif self._heap[0] is entry:
            # Wake the loop, because it is waiting for a later time than that of the new earliest entry.
            self._changed.notify()

    def discard_locked(self, item: T) -> None:
        """Do not hand item over."""
        self._ready_at.pop(item, None)

    def seconds_left_locked(self, most: int) -> dict[T, float]:
        """Return at most this many items, unordered, each with the seconds until its time."""
        now = self._clock.now()
        return {item: max(0.0, at - now) for item, at in itertools.islice(self._ready_at.items(), most)}

    def stop_locked(self) -> None:
        """Drop all items and end the thread."""
        self.stopped = True
        self._ready_at.clear()
        self._heap.clear()
        self._changed.notify_all()

    def join(self) -> None:
        """
        Wait for the end of the thread once it is stopped.

        Locks: the caller does not hold the queue's lock.
        """
        if self._loop is not None:
            self._loop.join()

    def _sweep_locked(self) -> None:
        """Drop invalid entries once they are the majority, so that each sweep removes more than it keeps."""
        if len(self._heap) <= _COMPACT_FROM + 2 * len(self._ready_at):
            return
        self._heap = [entry for entry in self._heap if self._ready_at.get(entry[2]) == entry[0]]
        heapq.heapify(self._heap)

    def _run(self) -> None:
        with self._changed:
            while not self.stopped:
                self._hand_over_due_locked()
                self._clock.wait_until(self._changed, self._heap[0][0] if self._heap else None)

    def _hand_over_due_locked(self) -> None:
        now = self._clock.now()
        due: list[T] = []
        while self._heap and self._heap[0][0] <= now:
            ready_at, _, item = heapq.heappop(self._heap)
            if self._ready_at.get(item) == ready_at:
                del self._ready_at[item]
                due.append(item)
        if due:
            self._hand_over_locked(due)
