"""The simplest objects a store or FIFO can hold: a key and a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from handloop.informers.delta_fifo import Delta, Deltas, DeltaType
from handloop.informers.keys import DeletedFinalStateUnknown


class Item(NamedTuple):
    """An object without metadata."""

    key: str
    value: int = 0


def item_key(obj: Item) -> str:
    """The key function; the key "bad" is none."""
    if obj.key == "bad":
        raise ValueError("bad key")
    return obj.key


def tombstone(obj: Item) -> DeletedFinalStateUnknown[Item]:
    """The tombstone of an item last seen as obj."""
    return DeletedFinalStateUnknown(obj.key, obj)


def deltas(*entries: tuple[DeltaType, Item | DeletedFinalStateUnknown[Item]]) -> Deltas[Item]:
    """Deltas from pairs."""
    return [Delta(kind, obj) for kind, obj in entries]


class KnownItems:
    """Implements KnownObjects over a dict that a test fills."""

    def __init__(self, items: Iterable[Item] = ()) -> None:
        self.items = {item.key: item for item in items}

    def list_keys(self) -> list[str]:
        return list(self.items)

    def get_by_key(self, key: str) -> Item | None:
        return self.items.get(key)
