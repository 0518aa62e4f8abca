"""
An order in which urgent items overtake others, but not for ever.

Follows: controller-runtime pkg/controller/priorityqueue (levels, LowPriority, a waiting item only rises),
differs: ageing. There, a steady stream of urgent items starves the rest (controller-runtime#3496).
More: docs/differences.md.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Hashable
from typing import Final, Generic, TypeVar

T = TypeVar("T", bound=Hashable)

DEFAULT_PRIORITY: Final = 0
LOW_PRIORITY: Final = -100  # the initial list and resyncs, as controller-runtime's handler.LowPriority


class PriorityOrder(Generic[T]):
    """
    A container (see `queue.Container`): highest priority first, first in first out within a priority.

    Ageing: when max_overtakes pops in a row have overtaken the item that waits longest, the next pop takes
    that one. So among any max_overtakes + 1 pops one takes the oldest item, and an item with m older ones
    before it leaves within (m + 1) * (max_overtakes + 1) pops, whatever is added meanwhile.

    State, guarded by the lock of the queue:
      _levels       per priority the items that wait, oldest push first; none is empty
      _priorities   the keys of _levels, ascending
      _waiting      the items that wait -> priority, oldest push first
      _wanted       the priority for the next push of an item that does not wait
      _in_flight    the priority with which an item was handed out, until `settle`
      _overtakes    pops since the oldest item was taken, each of which overtook it

    Cost: a push or pop is O(1) in items; a priority that comes or goes is O(priorities).
    """

    def __init__(self, *, max_overtakes: int = 9) -> None:
        """
        Make an empty order.

        Args: max_overtakes, at least 0; 9 leaves the low priorities every tenth pop under constant pressure.
        """
        self._max_overtakes = max_overtakes
        self._levels: dict[int, OrderedDict[T, None]] = {}
        self._priorities: list[int] = []
        self._waiting: OrderedDict[T, int] = OrderedDict()
        self._wanted: dict[T, int] = {}
        self._in_flight: dict[T, int] = {}
        self._overtakes = 0

    def __len__(self) -> int:
        """How many items wait."""
        return len(self._waiting)

    def prefer(self, item: T, priority: int) -> None:
        """Give item at least that priority: at once if it waits, else for its next push. It never falls."""
        current = self._waiting.get(item)
        if current is None:
            self._wanted[item] = max(priority, self._wanted.get(item, priority))
        elif priority > current:
            self._leave_level(item, current)
            self._enter_level(item, priority)

    def touch(self, item: T) -> None:
        """Keep the place: `prefer` has already moved an item that rises."""

    def push(self, item: T) -> None:
        """Put item at the end of its level; without a wish, of the default one."""
        self._enter_level(item, self._wanted.pop(item, DEFAULT_PRIORITY))

    def pop(self) -> T:
        """Take the first item of the highest level, or the one that waits longest when its turn has come."""
        item = next(iter(self._levels[self._priorities[-1]]))
        oldest = next(iter(self._waiting))
        if item == oldest or self._overtakes >= self._max_overtakes:
            item, self._overtakes = oldest, 0
        else:
            self._overtakes += 1
        priority = self._waiting.pop(item)
        self._leave_level(item, priority)
        self._in_flight[item] = priority
        return item

    def wanted(self, item: T) -> int:
        """The priority that the next push of an item that does not wait will have."""
        return self._wanted.get(item, DEFAULT_PRIORITY)

    def settle(self, item: T) -> None:
        """The item is about to be given back."""
        self._in_flight.pop(item, None)

    def priority_in_flight(self, item: T) -> int:
        """The priority with which item was handed out; the default one if it is not in flight."""
        return self._in_flight.get(item, DEFAULT_PRIORITY)

    def depths(self) -> dict[int, int]:
        """How many items wait per priority."""
        return {priority: len(level) for priority, level in self._levels.items()}

    def _enter_level(self, item: T, priority: int) -> None:
        if priority not in self._levels:
            self._levels[priority] = OrderedDict()
            insort(self._priorities, priority)
        self._levels[priority][item] = None
        # a key that is there keeps its place: an item that rises keeps its age
        self._waiting[item] = priority

    def _leave_level(self, item: T, priority: int) -> None:
        level = self._levels[priority]
        del level[item]
        if not level:
            del self._levels[priority]
            del self._priorities[bisect_left(self._priorities, priority)]
