"""
The delayed items of a queue, and the thread that passes them on when they are due.

Follows: client-go util/workqueue/delaying_queue.go. Differs:
  * The calling thread puts an item on the heap itself, so there is no buffer that could fill up and block.
  * There is no heartbeat. The loop waits until the earliest item is due, and computes that time under the
    lock. An earlier item or a stop is recorded under the same lock and wakes the loop, so the loop misses
    neither.
  * The thread starts with the first item, so a queue that never delays has no thread.
  * Items with equal times are passed on in the order of the calls.
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
    Stores each delayed item once, with the earliest requested time, and passes it on at that time.

    State, all guarded by the lock of the queue:
      _ready_at   item -> the time when it is due
      _heap       (time, sequence number, item); an entry is valid if _ready_at maps its item to its time. The
                  loop skips an invalid entry: its item was discarded, or was put again with an earlier time
      stopped     whether stop_locked was called; never reset

    Threads: usable from any thread; the loop thread `delaying-<queue>` is started when the first item is
    added.
    Locks: to call a method whose name ends in `_locked`, a caller must hold the queue's lock.
    """

    def __init__(
        self, lock: Lock, hand_over_locked: Callable[[list[T]], object], *, name: str, seams: Seams
    ) -> None:
        """
        Create an empty schedule.

        Args: hand_over_locked receives the items that are due, in the order of their times. The loop thread
        calls it with lock held, after it has removed the items from the schedule.
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
        """Return how many items are delayed now."""
        return len(self._ready_at)

    def put_locked(self, item: T, delay_seconds: float) -> None:
        """
        Pass item on after delay_seconds, or earlier if an earlier time was requested before.

        Ignored once stopped.
        """
        ready_at = self._clock.now() + delay_seconds
        known = self._ready_at.get(item)
        if self.stopped or (known is not None and known <= ready_at):
            return
        if self._loop is None:
            # Start the thread with the lock held, so that a stop from another thread finds it and joins it.
            # Start it before the item is stored. If that fails, the next call for the item must try again.
            self._loop = self._spawn(f"delaying-{self._name or 'queue'}", self._run)
        self._ready_at[item] = ready_at
        entry = (ready_at, next(self._sequence), item)
        heapq.heappush(self._heap, entry)
        self._sweep_locked()
        if self._heap[0] is entry:
            # Wake the loop, because it waits for a time that is later than the new entry's.
            self._changed.notify()

    def discard_locked(self, item: T) -> None:
        """Remove item, so that it is not passed on."""
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
        Wait until the thread has ended. Call stop_locked first.

        Locks: the caller must not hold the queue's lock.
        """
        if self._loop is not None:
            self._loop.join()

    def _sweep_locked(self) -> None:
        """Remove invalid entries once they are the majority, so each sweep removes more than it keeps."""
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
