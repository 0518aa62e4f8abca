"""
The slots that this process holds.

A slot is one of N classes of namespaces, one of N ranges of the hash of UIDs, or the number in a label. Each
replica of a controller holds some slots, and its informers hold the objects in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Protocol

from handloop.informers.sharding.known_namespaces import KnownNamespaces
from handloop.seams.locks import new_lock


class Held(NamedTuple):
    """The slots at one moment, each with the version that added it. A slot that left can come back."""

    version: int
    since: Mapping[int, int]

    @property
    def slots(self) -> frozenset[int]:
        """Only the slots."""
        return frozenset(self.since)


class SlotFollower(Protocol):
    """What hears of each change of the slots."""

    def slots_changed(self) -> None:
        """The slots have changed. Called on the thread that changes them, with no lock; must not block."""


class HeldSlots:
    """
    The slots that this process holds, shared by all its informers.

    Fields: namespaces, those that any of the informers has met.
    State: now, replaced on every change, read without a lock; _followers, replaced too. Both change under
    _lock (98). Threads: any.
    """

    def __init__(self, count: int) -> None:
        """Begin with none of count slots."""
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
        """Grows with each change."""
        return self.now.version

    def add(self, slot: int) -> int:
        """
        Hold a slot from now on. If it is already held, nothing changes.

        Returns: the version that has it, to wait for with `SharedIndexInformer.has_listed`.
        Raises: ValueError for a slot number out of range. Blocks: while the followers are called.
        """
        if not 0 <= slot < self.count:
            raise ValueError(f"slot {slot} is none of {self.count}: they are counted from 0")
        return self._change(lambda held, version: {**held, slot: version} if slot not in held else held)

    def remove(self, slot: int) -> int:
        """
        Release a slot. After this returns, no informer reports its objects to a handler any more.

        A handler call that is in progress, or waits in a listener's buffer, is still made.
        Returns: the version without it. Blocks: while the followers are called.
        """
        return self._change(lambda held, _: {key: since for key, since in held.items() if key != slot})

    def follow(self, follower: SlotFollower) -> None:
        """Tell follower of each change from now on."""
        with self._lock:
            self._followers = (*self._followers, follower)

    def leave(self, follower: SlotFollower) -> None:
        """Tell follower of none any more."""
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
