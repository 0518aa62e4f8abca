"""
The slots that this process holds.

Every object of a sharded kind is in one of N slots. Its slot depends on a hash of its namespace, on a hash of
its UID, or on a label. Each replica of a controller holds some slots, and its informers hold the objects in
these slots.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from handloop.informers.sharding.known_namespaces import KnownNamespaces
from handloop.seams.locks import new_lock


class Held(NamedTuple):
    """
    A snapshot of the held slots.

    version is the snapshot's version. since maps each held slot to the version that last added the slot.
    """

    version: int
    since: Mapping[int, int]

    @property
    def slots(self) -> frozenset[int]:
        """Only the slots."""
        return frozenset(self.since)


class SlotFollower(Protocol):
    """A component that is notified of each change of the slots."""

    def slots_changed(self) -> None:
        """
        React to a change of the slots.

        Called without holding a lock, on the thread that changes the slots. The call must not block.
        """


class HeldSlots:
    """
    The slots that this process holds, shared by all its informers.

    Field: namespaces records which namespaces the informers have seen. State: now and _followers are replaced
    under _lock (98) and never modified in place. now is read without holding the lock.
    Threads: usable from any thread.
    """

    def __init__(self, count: int) -> None:
        """Create the set with no slot held. Args: count is the number of slots that exist."""
        self.count: Final = count
        self.namespaces: Final = KnownNamespaces(count)
        self.now = Held(0, MappingProxyType({}))
        self._lock = new_lock("HeldSlots._lock", 98)
        self._followers: tuple[SlotFollower, ...] = ()

    def __repr__(self) -> str:
        return f"<HeldSlots {sorted(self.slots)} of {self.count}, version {self.version}>"

    @property
    def slots(self) -> frozenset[int]:
        """The slots that are held."""
        return self.now.slots

    @property
    def version(self) -> int:
        """The version of the held slots, which grows with each change."""
        return self.now.version

    def add(self, slot: int) -> int:
        """
        Hold a slot from now on. If it is already held, nothing changes.

        Returns: a version of the held slots that includes this slot. Pass this version to
        `SharedIndexInformer.has_listed` to find out whether the slot's objects are in the store.
        Raises: ValueError if the slot number is out of range. Blocks: while the followers are called.
        """
        if not 0 <= slot < self.count:
            raise ValueError(f"slot {slot} does not exist: the {self.count} slots are numbered from 0")
        return self._change(lambda held, version: {**held, slot: version} if slot not in held else held)

    def remove(self, slot: int) -> int:
        """
        Release a slot. After this returns, no informer queues notifications about the slot's objects.

        Handler calls in progress continue, and handlers still receive the notifications in their buffers.
        Returns: the first version without the slot. Blocks: while the followers are called.
        """
        return self._change(lambda held, _: {key: since for key, since in held.items() if key != slot})

    def follow(self, follower: SlotFollower) -> None:
        """Notify follower of each change from now on."""
        with self._lock:
            self._followers = (*self._followers, follower)

    def leave(self, follower: SlotFollower) -> None:
        """Stop notifying follower of changes."""
        with self._lock:
            self._followers = tuple(each for each in self._followers if each is not follower)

    def _change(self, changed: Callable[[Mapping[int, int], int], Mapping[int, int]]) -> int:
        with self._lock:
            version = self.now.version + 1
            since = changed(self.now.since, version)
            if since == self.now.since:
                return self.now.version
            self.now = Held(version, MappingProxyType(dict(since)))
            followers = self._followers
        for follower in followers:
            follower.slots_changed()
        return version
