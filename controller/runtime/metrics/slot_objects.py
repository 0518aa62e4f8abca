"""The metric handloop_shard_objects: how many objects this replica caches for each of its slots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.slot_restriction import SlotRestriction
from handloop.informers.shared_informer import SharedIndexInformer


class SlotObjects(Collector):
    """
    Counts the cached objects by slot on every scrape.

    Counting takes 0.3 us per object, or up to 3 us if the slots are divided by UID.
    Threads: any thread can scrape. Each store's lock is held while its list is copied.
    """

    def __init__(self, held: HeldSlots, informers: Callable[[], Iterable[SharedIndexInformer[Any]]]) -> None:
        """Args: informers returns all informers of the process. Informers without shards are ignored."""
        self._held = held
        self._informers = informers

    def counts(self) -> Mapping[int, int]:
        """Return the number of objects in each slot that this replica holds."""
        found = Counter[int | None]()
        for informer in self._informers():
            if isinstance(restriction := informer.restriction, SlotRestriction):
                all_metadata = (obj.metadata for obj in informer.indexer.list())
                slot_of = restriction.scope.slot_of
                found.update(slot_of(each.namespace, each.uid, each.labels) for each in all_metadata)
        return {slot: found[slot] for slot in sorted(self._held.slots)}

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the family without samples."""
        return [_family()]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return a sample for each slot."""
        family = _family()
        for slot, count in self.counts().items():
            family.add_metric((str(slot),), count)
        return [family]


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily(
        "handloop_shard_objects",
        "Cached objects of a slot, in the replica that holds the slot",
        labels=("slot",),
    )
