"""The objects of one kind in list order, and their most recent changes."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator

from handloop_sandbox.storage.stored import Change, ChangeType, Stored

MAX_BYTES = 16 * 1024 * 1024
"""The maximum size of a history, in bytes of JSON. In memory, the objects take several times as much."""


class History:
    """
    The last `size` changes of a collection (fewer if they are large), oldest first.

    A position is the number of changes appended before it. It stays valid when old changes are dropped.
    floor is at least the resource version of every dropped change. A reader that has read all changes up to
    floor can therefore continue without missing any.
    """

    __slots__ = ("_bytes", "_dropped", "_entries", "_size", "floor")

    def __init__(self, *, size: int, floor: int) -> None:
        self._size = size
        self._entries: list[Change] = []
        self._bytes = 0
        self._dropped = 0
        self.floor = floor

    @property
    def end(self) -> int:
        """The position after the newest change."""
        return self._dropped + len(self._entries)

    def append(self, change: Change) -> None:
        """Append a change, and drop the oldest changes if the history has become too large."""
        self._entries.append(change)
        self._bytes += len(change.new.tail)
        while len(self._entries) > self._size or self._bytes > MAX_BYTES:
            self._drop(1)

    def position_after(self, rv: int) -> int:
        """Return the position of the first change after rv. rv must be at least floor."""
        return self._dropped + bisect_right(self._entries, rv, key=lambda change: change.rv)

    def read(self, position: int, *, limit: int | None = None) -> list[Change] | None:
        """Return up to limit changes, starting at position, or None if some of them have been dropped."""
        index = position - self._dropped
        return None if index < 0 else self._entries[index : None if limit is None else index + limit]

    def newer_than(self, rv: int) -> Iterator[Change]:
        """Yield the changes after rv, newest first."""
        for change in reversed(self._entries):
            if change.rv <= rv:
                return
            yield change

    def until(self, rv: int) -> History:
        """Return a copy without the changes after rv. Positions stay valid."""
        copy = History(size=self._size, floor=self.floor)
        copy._dropped = self._dropped
        copy._entries = self._entries[: self.position_after(rv) - self._dropped]
        copy._bytes = sum(len(change.new.tail) for change in copy._entries)
        return copy

    def forget(self, rv: int) -> None:
        """Drop the changes up to rv, so that a reader that has not reached rv cannot continue."""
        self._drop(self.position_after(rv) - self._dropped)

    def _drop(self, count: int) -> None:
        dropped = self._entries[:count]
        if dropped:
            del self._entries[:count]
            self._bytes -= sum(len(change.new.tail) for change in dropped)
            self._dropped += count
            self.floor = dropped[-1].rv


class Collection:
    """
    The sorted keys and the objects of one kind.

    history is replaced when the kind is redefined or removed. Watches then read the rest of the old history,
    and end.
    """

    __slots__ = ("_history_size", "history", "keys", "objects")

    def __init__(self, *, history_size: int, floor: int) -> None:
        self.objects: dict[str, Stored] = {}
        self.keys: list[str] = []
        self._history_size = history_size
        self.history = History(size=history_size, floor=floor)

    def apply(self, change: Change) -> None:
        """Apply a change, and append it to the history."""
        key = change.key
        if change.type is ChangeType.DELETED:
            del self.objects[key]
            del self.keys[bisect_left(self.keys, key)]
        else:
            if key not in self.objects:
                insort(self.keys, key)
            self.objects[key] = change.new
        self.history.append(change)

    def until(self, rv: int) -> Collection:
        """Return a copy as of rv, or as of the oldest version that the history can reconstruct."""
        copy = Collection(history_size=self._history_size, floor=self.history.floor)
        keys, objects = self.as_of(max(rv, self.history.floor), "")
        copy.keys, copy.objects = list(keys), dict(objects)
        copy.history = self.history.until(rv)
        return copy

    def begin_again(self, rv: int) -> None:
        """Start a new history, so that no reader can continue from a version before rv."""
        self.history = History(size=self._history_size, floor=rv)

    def become(self, other: Collection) -> None:
        """Replace the objects and history with another collection's. Watches of the old history will end."""
        self.objects, self.keys, self.history = other.objects, other.keys, other.history

    def select(self, namespace: str) -> list[str]:
        """Return the sorted keys of a namespace, or all keys if namespace is ""."""
        return _in_namespace(self.keys, namespace)

    def as_of(self, rv: int, namespace: str) -> tuple[list[str], dict[str, Stored]]:
        """Return the keys and objects as of rv. rv must be at least the history's floor."""
        before: dict[str, Stored | None] = {}
        for change in self.history.newer_than(rv):
            before[change.key] = change.old
        if not before:
            return self.select(namespace), self.objects
        objects = {key: stored for key, stored in self.objects.items() if key not in before}
        objects |= {key: stored for key, stored in before.items() if stored is not None}
        return _in_namespace(sorted(objects), namespace), objects


def _in_namespace(keys: list[str], namespace: str) -> list[str]:
    if not namespace:
        return keys
    # "0" follows "/" in ASCII, so the range contains exactly the keys of the namespace.
    return keys[bisect_left(keys, f"{namespace}/") : bisect_left(keys, f"{namespace}0")]
