"""The simplest objects a store or FIFO can hold: a key and a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from handloop.informers.delta_fifo import Delta, DeltaFIFO, Deltas, DeltaType, KnownObjects, Listed
from handloop.informers.keys import DeletedFinalStateUnknown


class Keyed:
    """The metadata of an object that has nothing but a key; the key "bad" raises."""

    namespace = ""

    def __init__(self, key: str) -> None:
        if key == "bad":
            raise ValueError("bad key")
        self.name = key


class Item(NamedTuple):
    """An object of a key and a value."""

    key: str
    value: int = 0

    @property
    def metadata(self) -> Keyed:
        """Its key, as the name."""
        return Keyed(self.key)


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


def listed(objects: Iterable[Item]) -> Listed[Item]:
    """Items as a list has them."""
    made: Listed[Item] = Listed()
    for obj in objects:
        made.take(obj.key, obj)
    return made


class ItemFIFO(DeltaFIFO[Item]):
    """A DeltaFIFO of items; one watch event at a time, one key at a time."""

    def __init__(self, known: KnownObjects[Item] | None = None, **options: Any) -> None:
        super().__init__(KnownItems() if known is None else known, **options)

    def add(self, obj: Item) -> None:
        """Queue Added."""
        self.enqueue_batch([(DeltaType.ADDED, obj)])

    def update(self, obj: Item) -> None:
        """Queue Updated."""
        self.enqueue_batch([(DeltaType.UPDATED, obj)])

    def delete(self, obj: Item | DeletedFinalStateUnknown[Item]) -> None:
        """Queue Deleted."""
        self.enqueue_batch([(DeltaType.DELETED, obj)])

    def relist(self, *objects: Item) -> None:
        """Replace."""
        self.replace(listed(objects), "0")

    def pop(self) -> tuple[Deltas[Item], bool]:
        """The deltas of the oldest key, and whether it was in the initial list; blocks until there is one."""
        taken: list[tuple[Deltas[Item], bool]] = []
        self.pop_batch(taken.extend, 1)
        return taken[0]
