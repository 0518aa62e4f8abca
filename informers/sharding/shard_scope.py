"""Decides which objects of a kind are in the slots that this process holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, Protocol, TypeAlias

from msgspec.structs import replace

from handloop.apis.grammar.shard_selector import ShardField, format_shard_selector, slot_of, slot_range
from handloop.apis.meta import Kind
from handloop.client.options import ListOptions
from handloop.informers.sharding.held_slots import HeldSlots

SLOT_LABEL: Final = "handloop.dev/slot"
"""The label whose value is the number of an object's slot, for kinds that are sharded by label."""

ShardedBy: TypeAlias = Literal["namespace", "uid", "label"]
"""What an object's slot depends on: the hash of its namespace, the hash of its UID, or SLOT_LABEL."""

# Caches the slots of the most active UIDs, because each computation takes 2.7 us.
_slot_of_uid = lru_cache(maxsize=8192)(slot_of)


class Sharding(Protocol):
    """Decides which objects a manager's informers hold. Kinds can share a ShardScope or have their own."""

    def scope_of(self, kind: type[Kind]) -> ShardScope | None:
        """Return the restriction of a kind, or None if the kind is not sharded."""


@dataclass(frozen=True)
class ShardScope:
    """How an informer is restricted to the held slots. Implements Sharding. Any thread can use it."""

    held: HeldSlots
    by: ShardedBy

    def scope_of(self, kind: type[Kind]) -> ShardScope | None:
        """Return this scope, or None if slots depend on namespaces and the kind is cluster-scoped."""
        return None if self.by == "namespace" and not kind.resource.namespaced else self

    def slot_of(self, namespace: str, uid: str, labels: Mapping[str, str]) -> int | None:
        """Return the slot of an object; None if its label names no slot."""
        if self.by == "label":
            text = labels.get(SLOT_LABEL, "")
            slot = int(text) if text.isdecimal() and text.isascii() else -1
            return slot if 0 <= slot < self.held.count else None
        if self.by == "namespace":
            return self.held.namespaces.slot_of(namespace)
        return _slot_of_uid(uid, self.held.count)

    def holds(self, namespace: str, uid: str, labels: Mapping[str, str]) -> bool:
        """Return whether the object's slot is held now."""
        return self.slot_of(namespace, uid, labels) in self.held.now.since

    def narrowed(self, options: ListOptions, slots: frozenset[int] | None = None) -> ListOptions:
        """
        Add a selector for the objects in slots to a list's or watch's options, and return the result.

        Objects in other slots can still arrive. If the kind is sharded by namespace, the selector excludes
        only known namespaces. If the kind is sharded by UID, the server may ignore the selector.
        Args: slots is None for the slots that are held now.
        Raises: ValueError if there are no slots, because no selector could select nothing.
        """
        chosen = self.held.slots if slots is None else slots
        if not chosen:
            raise ValueError("no slots to request")
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
