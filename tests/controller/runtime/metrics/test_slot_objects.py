"""handloop_shard_objects."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

from prometheus_client import CollectorRegistry

from handloop.apis.apps_v1 import Deployment
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.controller.runtime.metrics.slot_objects import SlotObjects
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.shard_scope import ShardScope
from handloop.informers.sharding.slot_restriction import SlotRestrictions
from handloop.seams.clock import REAL_CLOCK
from support.doubles.fake_lister_watcher import FakeListerWatcher


class _Scoped(NamedTuple):
    """Implements Sharding."""

    scope: ShardScope | None

    def scope_of(self, _kind: object) -> ShardScope | None:
        return self.scope


def test_the_objects_of_all_sharded_informers_are_counted_by_slot() -> None:
    """A slot without objects is 0, a kind that is whole does not count, nor does a slot that has left."""
    held = HeldSlots(8)
    spaces = {slot_of_namespace(f"ns-{number}", 8): f"ns-{number}" for number in range(60)}
    for slot in (1, 4, 6):
        held.add(slot)
    scope = ShardScope(held, "namespace")

    def informer(scope: ShardScope | None, *slots: int) -> SimpleNamespace:
        all_metadata = [SimpleNamespace(namespace=spaces[slot], uid="", labels={}) for slot in slots]
        objects = [SimpleNamespace(metadata=each) for each in all_metadata]
        source: FakeListerWatcher = FakeListerWatcher()
        restriction = SlotRestrictions(_Scoped(scope)).restrict(
            Deployment, source, metrics=InformerMetrics(), name="", clock=REAL_CLOCK
        )
        return SimpleNamespace(restriction=restriction, indexer=SimpleNamespace(list=lambda: objects))

    informers = [informer(scope, 1, 1, 4, 5), informer(scope, 4), informer(None, 1)]
    registry = CollectorRegistry(auto_describe=True)
    registry.register(SlotObjects(held, lambda: informers))  # type: ignore[arg-type, return-value] # they have what is read
    (family,) = registry.collect()
    assert {each.labels["slot"]: each.value for each in family.samples} == {"1": 2, "4": 2, "6": 0}
