"""DeltaFIFO between a reflector and an informer thread, in many orders of their steps."""

from __future__ import annotations

import random

import pytest

from handloop.informers.delta_fifo import Deltas, DeltaType, FIFOClosed
from handloop.informers.indexer import Indexer
from support.doubles.plain_items import Item, ItemFIFO
from support.rigs.interleaving import Interleaving


class Cluster:
    """
    The truth, and the reflector's report of it.

    Some changes are missed, as when a watch breaks; a list follows then.
    """

    def __init__(self, fifo: ItemFIFO, seed: int) -> None:
        self.objects: dict[str, Item] = {}
        self._fifo = fifo
        self._choose = random.Random(seed)
        self._value = 0

    def reflect(self) -> None:
        self._fifo.relist(*self.objects.values())
        for _ in range(12):
            events = [self._change() for _ in range(self._choose.randint(1, 4))]
            if self._choose.random() < 0.3:
                self._fifo.relist(*self.objects.values())
            else:
                self._fifo.enqueue_batch(events)
        self._fifo.close()

    def _change(self) -> tuple[DeltaType, Item]:
        self._value += 1
        obj = Item(self._choose.choice("abcd"), self._value)
        if obj.key not in self.objects:
            self.objects[obj.key] = obj
            return DeltaType.ADDED, obj
        if self._choose.random() < 0.5:
            del self.objects[obj.key]
            return DeltaType.DELETED, obj
        self.objects[obj.key] = obj
        return DeltaType.UPDATED, obj


class Informer:
    """Applies popped deltas to a store, and resyncs now and then."""

    def __init__(self, fifo: ItemFIFO, store: Indexer[Item], seed: int) -> None:
        self._fifo = fifo
        self._store = store
        self._choose = random.Random(seed)

    def loop(self) -> None:
        while True:
            try:
                self._fifo.pop_batch(
                    self.process, self._choose.randint(1, 3), self._choose.choice([None, 1.0])
                )
            except FIFOClosed:
                return
            if self._choose.random() < 0.3:
                self._fifo.resync()

    def process(self, batch: list[tuple[Deltas[Item], bool]]) -> None:
        for deltas, _ in batch:
            for kind, obj in deltas:
                if kind is DeltaType.DELETED:
                    self._store.delete(obj)
                else:
                    assert isinstance(obj, Item)
                    assert self.is_news(kind, obj), f"{kind} of {obj} goes back in time"
                    self._store.update(obj)

    def is_news(self, kind: DeltaType, obj: Item) -> bool:
        """Only a resync or a list may deliver a known state, and nothing may deliver an older one."""
        stored = self._store.get_by_key(obj.key)
        if stored is None:
            return True
        repeats = kind in (DeltaType.SYNC, DeltaType.REPLACED)
        return obj.value > stored.value or (repeats and obj.value == stored.value)


@pytest.mark.parametrize("interleaving", range(60), indirect=True)
def test_the_store_ends_as_the_cluster_is(interleaving: Interleaving) -> None:
    """In any order of threads, nothing is lost, left over or taken back, and no thread sleeps for ever."""
    seed = interleaving.seed
    store: Indexer[Item] = Indexer()
    fifo = ItemFIFO(store, clock=interleaving.clock)
    cluster = Cluster(fifo, seed)
    interleaving.run(cluster.reflect, Informer(fifo, store, seed).loop)
    assert {obj.key: obj for obj in store.list()} == cluster.objects
    assert fifo.has_synced()
