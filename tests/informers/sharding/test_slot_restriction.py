"""What an informer of slots has of its own. Whole informers are in test_shared_informer_shards.py."""

from __future__ import annotations

from handloop.apis.apps_v1 import Deployment
from handloop.informers.indexer import Indexer
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.shard_scope import ShardScope
from handloop.informers.sharding.slot_restriction import SlotRestriction
from handloop.testing.fake_clock import FakeClock
from support.doubles.fake_lister_watcher import FakeListerWatcher

NAME = "deployments.apps"


class Told:
    """Implements Restricted."""

    def __init__(self) -> None:
        self.times = 0

    def restriction_changed(self) -> None:
        self.times += 1


def test_each_change_of_the_slots_reaches_the_reflector_until_it_leaves() -> None:
    """And nothing is listed before there is a FIFO."""
    held, told, clock = HeldSlots(4), Told(), FakeClock()
    restriction = SlotRestriction(
        Deployment,
        ShardScope(held, "uid"),
        FakeListerWatcher(),
        metrics=InformerMetrics(),
        name=NAME,
        clock=clock,
    )
    assert not restriction.has_listed(0)
    fifo = restriction.new_fifo(Indexer(), None, name=NAME, clock=clock)
    restriction.follow(told)
    held.add(1)
    assert told.times == 1
    assert restriction.has_listed(0) == fifo.has_opened(0)
    restriction.leave()
    held.add(2)
    assert told.times == 1
