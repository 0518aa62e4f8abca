"""What an informer of slots has of its own. Whole informers are in test_shared_informer_shards.py."""

from __future__ import annotations

from typing import Any

from handloop.apis.apps_v1 import Deployment
from handloop.informers.indexer import Indexer
from handloop.informers.informer_metrics import InformerMetrics
from handloop.informers.sharded_parts import ShardedParts
from handloop.informers.shards import HeldSlots, ShardScope
from handloop.testing.fake_clock import FakeClock
from support.doubles.fake_lister_watcher import FakeListerWatcher


def test_each_change_of_the_slots_reaches_the_reflector_until_it_is_forgotten() -> None:
    """And nothing has opened before there is a FIFO."""
    held, seen = HeldSlots(4), list[Any]()
    parts: ShardedParts[Deployment] = ShardedParts(
        ShardScope(held, "uid"),
        FakeListerWatcher(),
        metrics=InformerMetrics(),
        name="deployments.apps",
        clock=FakeClock(),
    )
    assert not parts.has_opened(0)
    fifo = parts.new_fifo(Indexer(), None)
    forget = parts.follow(_Reflector(seen))  # type: ignore[arg-type] # it is only told
    held.add(1)
    assert seen == [parts.source]
    assert parts.has_opened(0) == fifo.has_opened(0)
    forget()
    held.add(2)
    assert len(seen) == 1


class _Reflector:
    def __init__(self, seen: list[Any]) -> None:
        self.slots_changed = seen.append
