"""
The slots that this process holds, and the objects of a kind that are in them.

A slot is one of N classes of namespaces, one of N ranges of the hash of UIDs, or the number in a label. Each
replica of a controller holds some slots, and its informers hold the objects of those.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from msgspec.structs import replace

from handloop.apis.meta import Kind
from handloop.apis.shard_selector import ShardField, format_shard_selector, slot_of, slot_range
from handloop.client.options import ListOptions
from handloop.informers.known_namespaces import KnownNamespaces
from handloop.seams.locks import new_lock

SLOT_LABEL: Final = "handloop.dev/slot"
"""The label with the number of an object's slot, for kinds that are sharded by label."""

ShardedBy: TypeAlias = Literal["namespace", "uid", "label"]
"""What decides an object's slot: the hash of its namespace, the hash of its UID, or SLOT_LABEL."""

# a UID costs 2.7 us without it; it keeps those that change most
_slot_of_uid = lru_cache(maxsize=8192)(slot_of)


class Held(NamedTuple):
    """The slots of one moment: each with the version that brought it. A slot that left may come back."""

    version: int
    since: Mapping[int, int]

    @property
    def slots(self) -> frozenset[int]:
        """The slots alone."""
        return frozenset(self.since)


class HeldSlots:
    """
    The slots that this process holds, shared by all its informers.

    Fields: namespaces, those that any of them has met.
    State: now, replaced with each change, read without a lock; _callbacks, replaced too. Both change under
    _lock (98). Threads: any.
    """

    def __init__(self, count: int) -> None:
        """Begin with none of count slots."""
        self.count: Final = count
        self.namespaces: Final = KnownNamespaces(count)
        self.now = Held(0, MappingProxyType({}))
        self._lock = new_lock("HeldSlots._lock", 98)
        self._callbacks: tuple[Callable[[], None], ...] = ()

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
        Hold a slot from here on; nothing changes if it is held.

        Returns: the version that has it, to wait for with `SharedIndexInformer.has_slots`.
        Raises: ValueError for a slot that is none of ours. Blocks: while the callbacks run.
        """
        if not 0 <= slot < self.count:
            raise ValueError(f"slot {slot} is none of {self.count}: they are counted from 0")
        return self._change(lambda held, version: {**held, slot: version} if slot not in held else held)

    def remove(self, slot: int) -> int:
        """
        Hold a slot no longer. When this returns, no informer tells a handler of its objects any more.

        A handler call that is under way, or that waits in a listener's buffer, still comes.
        Returns: the version without it. Blocks: while the callbacks run.
        """
        return self._change(lambda held, _: {key: since for key, since in held.items() if key != slot})

    def on_change(self, callback: Callable[[], None]) -> Callable[[], None]:
        """
        Call callback after each change, on the thread that makes it, without a lock; it must not block.

        Returns: a function that ends this.
        """
        with self._lock:
            self._callbacks = (*self._callbacks, callback)
        return partial(self._forget, callback)

    def _change(self, changed: Callable[[Mapping[int, int], int], Mapping[int, int]]) -> int:
        with self._lock:
            version = self.now.version + 1
            since = changed(self.now.since, version)
            if since == self.now.since:
                return self.now.version
            self.now = Held(version, MappingProxyType(dict(since)))
            callbacks = self._callbacks
        for callback in callbacks:
            callback()
        return version

    def _forget(self, callback: Callable[[], None]) -> None:
        with self._lock:
            self._callbacks = tuple(each for each in self._callbacks if each is not callback)


class Sharding(Protocol):
    """Which objects of each kind the informers of a manager hold: a ShardScope, or one per kind."""

    def scope_of(self, kind: type[Kind]) -> ShardScope | None:
        """How a kind is restricted; None = it is whole."""


@dataclass(frozen=True)
class ShardScope:
    """How an informer restricts itself to the slots that are held. Implements Sharding. Threads: any."""

    held: HeldSlots
    by: ShardedBy

    def scope_of(self, kind: type[Kind]) -> ShardScope | None:
        """Itself for each kind, but by namespace a cluster-scoped kind is whole."""
        return None if self.by == "namespace" and not kind.resource.namespaced else self

    def slot_of(self, namespace: str, uid: str, labels: Mapping[str, str]) -> int | None:
        """The slot of an object; None for one whose label names no slot."""
        if self.by == "label":
            text = labels.get(SLOT_LABEL, "")
            slot = int(text) if text.isdecimal() and text.isascii() else -1
            return slot if 0 <= slot < self.held.count else None
        if self.by == "namespace":
            return self.held.namespaces.slot_of(namespace)
        return _slot_of_uid(uid, self.held.count)

    def holds(self, namespace: str, uid: str, labels: Mapping[str, str]) -> bool:
        """Whether the object's slot is held now."""
        return self.slot_of(namespace, uid, labels) in self.held.now.since

    def would_hold(self, obj: Mapping[str, Any]) -> bool:
        """The same for an object as JSON."""
        metadata = obj.get("metadata") or {}
        return self.holds(
            metadata.get("namespace") or "", metadata.get("uid") or "", metadata.get("labels") or {}
        )

    def narrowed(self, options: ListOptions, slots: frozenset[int] | None = None) -> ListOptions:
        """
        The options of a list or watch for the objects of slots, None = those held now.

        By namespace the server leaves out the foreign namespaces that are known. By UID it may ignore the
        selector. So foreign objects may come by either.
        Raises: ValueError without a slot: a server has no selector that chooses nothing.
        """
        chosen = self.held.slots if slots is None else slots
        if not chosen:
            raise ValueError("there is no slot to ask for")
        if self.by == "label":
            ours = f"{SLOT_LABEL} in ({','.join(map(str, sorted(chosen)))})"
            return replace(options, label_selector=_joined(options.label_selector, ours))
        if self.by == "namespace":
            ours = self.held.namespaces.excluding(chosen)
            return replace(options, field_selector=_joined(options.field_selector, ours))
        if len(chosen) == self.held.count:
            return options
        ranges = [slot_range(slot, self.held.count) for slot in chosen]
        return replace(options, shard_selector=format_shard_selector(ShardField.UID, ranges))


def _joined(*selectors: str) -> str:
    return ",".join(filter(None, selectors))
