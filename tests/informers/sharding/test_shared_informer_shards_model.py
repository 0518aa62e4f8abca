"""Two informers share the slots of a kind; slots move while objects change, in many orders of their steps."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from typing import Any, Final

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.shard_scope import SLOT_LABEL, ShardScope
from handloop.informers.sharding.slot_restriction import SlotRestrictions
from handloop.informers.shared_informer import SharedIndexInformer
from support.doubles.sharded_server import ShardedServer
from support.rigs.interleaving import Interleaving

SLOTS: Final = 4
MOVING: Final = (2, 3)  # the others stay where they are
NAMES: Final = [f"n{i}" for i in range(8)]


class Replica:
    """An informer with its slots, and a handler; faults = calls that do not continue the former ones."""

    def __init__(self, server: ShardedServer, threads: Interleaving, by: Any) -> None:
        self.server = server
        self.held = HeldSlots(SLOTS)
        self.scope = ShardScope(self.held, by)
        self.informer: SharedIndexInformer[Deployment] = SharedIndexInformer(
            server,
            Deployment,
            options=InformerOptions(
                restrictions=SlotRestrictions(self.scope), page_size=3, stop_poll_seconds=10_000
            ),
            seams=threads.seams,
        )
        self.informer.add_event_handler(self)
        self.known: dict[str, Deployment] = {}
        self.faults: list[str] = []

    def run(self) -> None:
        self.informer.run(threading.Event())

    def on_add(self, obj: Deployment, is_in_initial_list: bool) -> None:
        name = obj.metadata.name
        if name in self.known and self.stays(self.known[name]):
            self.faults.append(f"add {name}, known already")
        self.known[name] = obj

    def on_update(self, old: Deployment, new: Deployment) -> None:
        name = new.metadata.name
        if self.known.get(name) != old:
            self.faults.append(f"update {name} {old.metadata.resource_version}, not known as that")
        if old == new:
            self.faults.append(f"update {name} without a change")
        self.known[name] = new

    def on_delete(self, obj: Deployment | DeletedFinalStateUnknown[Deployment]) -> None:
        final = obj.obj if isinstance(obj, DeletedFinalStateUnknown) else obj
        assert final is not None
        if self.known.pop(final.metadata.name, None) is None:
            self.faults.append(f"delete {final.metadata.name}, not known")
        there = self.server.objects.get(final.metadata.name)
        if self.scope.by != "label" and there is not None and there.metadata.uid == final.metadata.uid:
            self.faults.append(f"delete {final.metadata.name}, which exists")

    def stored(self) -> dict[str, Deployment]:
        return {obj.metadata.name: obj for obj in self.informer.indexer.list()}

    def ours(self, objects: Mapping[str, Deployment]) -> dict[str, Deployment]:
        return {name: obj for name, obj in objects.items() if self._slot(obj) in self.held.slots}

    def stays(self, obj: Deployment) -> bool:
        """Whether the object's slot is none that moves."""
        return self._slot(obj) not in MOVING

    def _slot(self, obj: Deployment) -> int | None:
        return self.scope.slot_of(obj.metadata.namespace, obj.metadata.uid, obj.metadata.labels)


class Rig:
    """A server, two replicas, and what happens to them; its tasks are methods."""

    def __init__(self, threads: Interleaving, by: str) -> None:
        self.threads = threads
        self.choose = random.Random(threads.seed)
        self.server = ShardedServer(
            threads.clock,
            step=threads.step,
            supports_watch_list=self.choose.random() < 0.5,
            obeys=self.choose.random() < 0.5,
        )
        self.replicas = [Replica(self.server, threads, by) for _ in range(2)]
        self.replicas[0].held.add(0)
        self.replicas[1].held.add(1)
        self.holder: dict[int, Replica | None] = dict.fromkeys(MOVING)
        self.busy = 2

    def change_objects(self) -> None:
        for _ in range(30):
            self._change_one()
            self.threads.clock.sleep(self.choose.choice([0, 0.01, 0.1]), threading.Event())
        self.busy -= 1

    def _change_one(self) -> None:
        """Create, change, relabel or delete an object."""
        name = self.choose.choice(NAMES)
        if name in self.server.objects and self.choose.random() < 0.4:
            self.server.delete(name)
        else:
            label = self.choose.choice([*map(str, range(SLOTS)), "x"])
            self.server.put(name, namespace=f"ns-{name}", labels={SLOT_LABEL: label})

    def move_slots(self) -> None:
        for _ in range(10):
            slot = self.choose.choice(MOVING)
            if (holder := self.holder[slot]) is not None:
                holder.held.remove(slot)
            self.holder[slot] = to = self.choose.choice([*self.replicas, holder, None])
            version = 0 if to is None else to.held.add(slot)
            while to is not None and self.choose.random() < 0.9 and not to.informer.has_listed(version):
                self.threads.clock.sleep(0.05, threading.Event())
            self.threads.clock.sleep(self.choose.choice([0, 0.05, 0.3]), threading.Event())
        self.busy -= 1

    def stop_when_quiet(self) -> None:
        """Time passes only when every thread waits."""
        quiet = 0
        while quiet < 10:
            self.threads.clock.sleep(0.1, threading.Event())
            ready = all(each.informer.has_listed(each.held.version) for each in self.replicas)
            quiet = quiet + 1 if not self.busy and ready else 0
        for replica in self.replicas:
            replica.informer.stop()


@pytest.mark.parametrize("by", ["namespace", "uid", "label"])
@pytest.mark.parametrize("interleaving", range(40), indirect=True)
def test_each_informer_has_the_objects_of_its_slots(interleaving: Interleaving, by: str) -> None:
    """
    At rest each store and handler has what the server has in the slots that are held, and nothing else.

    A handler sees an add, updates that continue it, and a deletion. Only an object of a slot that moved may
    come as new again, and none is told that nothing has changed.
    """
    rig = Rig(interleaving, by)
    rig.threads.run(
        *(each.run for each in rig.replicas), rig.change_objects, rig.move_slots, rig.stop_when_quiet
    )
    for replica in rig.replicas:
        ours = replica.ours(rig.server.objects)
        assert replica.faults == []
        assert replica.stored() == ours
        # of what happened to an object while its slot was elsewhere the handler knows nothing
        told = replica.ours(replica.known)
        assert {name: obj for name, obj in told.items() if name in ours or replica.stays(obj)} == ours
