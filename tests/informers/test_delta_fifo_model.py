"""DeltaFIFO against a model that is too simple to be wrong, with a consumer that stores what it pops."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from handloop.informers.delta_fifo import Delta, Deltas, DeltaType
from handloop.informers.keys import DeletedFinalStateUnknown
from support.doubles.plain_items import Item, ItemFIFO, KnownItems

KEYS = st.sampled_from("abcde")
DELETED = DeltaType.DELETED
CHANGES = st.sampled_from([DeltaType.ADDED, DeltaType.UPDATED, DELETED])

Line = list[tuple[str, Deltas[Item]]]


def newest(deltas: Deltas[Item]) -> Item | None:
    obj = deltas[-1].object
    return obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj


class DeltaFIFOMachine(RuleBasedStateMachine):
    """
    One thread does what it likes. The model is a list of (key, deltas), and the number of pops to has_synced.

    `known` is the consumer's store: the popped deltas, applied.
    """

    def __init__(self) -> None:
        super().__init__()
        self.known = KnownItems()
        self.fifo = ItemFIFO(self.known)
        self.line: Line = []
        self.pops_to_synced: int | None = None
        self.value = 0

    def new_item(self, key: str) -> Item:
        self.value += 1
        return Item(key, self.value)

    def model_append(self, key: str, delta: Delta[Item]) -> None:
        for queued, deltas in self.line:
            if queued == key:
                deltas.append(delta)
                if len(deltas) > 1 and deltas[-2].type == deltas[-1].type == DELETED:
                    keeps_older = not isinstance(deltas[-2].object, DeletedFinalStateUnknown)
                    del deltas[-1 if keeps_older else -2]
                return
        self.line.append((key, [delta]))

    def model_change(self, kind: DeltaType, obj: Item | DeletedFinalStateUnknown[Item]) -> None:
        if self.pops_to_synced is None:
            self.pops_to_synced = 0
        if kind is DELETED and obj.key not in self.known.items and obj.key not in dict(self.line):
            return
        self.model_append(obj.key, Delta(kind, obj))

    @rule(key=KEYS)
    def add(self, key: str) -> None:
        obj = self.new_item(key)
        self.fifo.add(obj)
        self.model_change(DeltaType.ADDED, obj)

    @rule(key=KEYS)
    def update(self, key: str) -> None:
        obj = self.new_item(key)
        self.fifo.update(obj)
        self.model_change(DeltaType.UPDATED, obj)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        obj = self.new_item(key)
        self.fifo.delete(obj)
        self.model_change(DELETED, obj)

    @rule(key=KEYS)
    def delete_unseen(self, key: str) -> None:
        tombstone = DeletedFinalStateUnknown(key, self.new_item(key))
        self.fifo.delete(tombstone)
        self.model_change(DELETED, tombstone)

    @rule(changes=st.lists(st.tuples(CHANGES, KEYS), min_size=1, max_size=6))
    def enqueue_batch(self, changes: list[tuple[DeltaType, str]]) -> None:
        entries = [(kind, self.new_item(key)) for kind, key in changes]
        self.fifo.enqueue_batch(entries)
        for kind, obj in entries:
            self.model_change(kind, obj)

    @rule(keys=st.lists(KEYS, max_size=5))
    def replace(self, keys: list[str]) -> None:
        objects = [self.new_item(key) for key in keys]
        self.fifo.relist(*objects)
        self.model_replace(objects)

    def model_replace(self, objects: list[Item]) -> None:
        for obj in objects:
            self.model_append(obj.key, Delta(DeltaType.REPLACED, obj))
        listed = {obj.key for obj in objects}
        gone = {key: newest(deltas) for key, deltas in self.line if key not in listed}
        for key, known in self.known.items.items():
            if key not in listed:
                gone.setdefault(key, known)
        for key, state in gone.items():
            self.model_append(key, Delta(DELETED, DeletedFinalStateUnknown(key, state)))
        if self.pops_to_synced is None:
            self.pops_to_synced = len(listed) + len(gone)

    @rule(keys=st.lists(KEYS, max_size=5))
    def relist_and_drain(self, keys: list[str]) -> None:
        """From any queue and store, a relist makes the store equal to the list (k/k#115658)."""
        objects = {key: self.new_item(key) for key in keys}
        self.fifo.relist(*objects.values())
        self.model_replace(list(objects.values()))
        while self.line:
            self.pop_batch(3)
        assert self.known.items == objects

    @rule()
    def resync(self) -> None:
        self.fifo.resync()
        for key, obj in self.known.items.items():
            if key not in dict(self.line):
                self.model_append(key, Delta(DeltaType.SYNC, obj))

    @precondition(lambda self: self.line)
    @rule(max_keys=st.integers(1, 4))
    def pop_batch(self, max_keys: int) -> None:
        taken, self.line = self.line[:max_keys], self.line[max_keys:]
        initial = len(taken) if self.pops_to_synced is None else self.pops_to_synced
        expected = [(deltas, number < initial) for number, (_, deltas) in enumerate(taken)]
        popped: list[Any] = []

        def process(batch: list[tuple[Deltas[Item], bool]]) -> None:
            popped.extend(batch)
            assert self.fifo.has_synced() == (self.pops_to_synced == 0), "while processing"

        assert self.fifo.pop_batch(process, max_keys) == len(taken)
        assert popped == expected
        if self.pops_to_synced is not None:
            self.pops_to_synced = max(0, self.pops_to_synced - len(taken))
        for _, deltas in taken:
            self.store(deltas)

    @precondition(lambda self: self.line)
    @rule()
    def pop(self) -> None:
        (_, expected), *self.line = self.line
        assert self.fifo.pop()[0] == expected
        if self.pops_to_synced:
            self.pops_to_synced -= 1
        self.store(expected)

    def store(self, deltas: Deltas[Item]) -> None:
        for kind, obj in deltas:
            if kind is DELETED:
                self.known.items.pop(obj.key, None)
            else:
                assert isinstance(obj, Item)
                self.known.items[obj.key] = obj

    @invariant()
    def agrees_with_the_model(self) -> None:
        assert len(self.fifo) == len(self.line)
        assert self.fifo.has_synced() == (self.pops_to_synced == 0)

    @invariant()
    def queue_and_items_hold_the_same_keys(self) -> None:
        assert list(self.fifo._queue) == [key for key, _ in self.line]
        assert self.fifo._items == dict(self.line)
        assert all(self.fifo._items.values()), "empty deltas"


TestDeltaFIFO = DeltaFIFOMachine.TestCase
TestDeltaFIFO.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
