"""Two informers share the slots of a kind; slots move while objects change, in many orders of their steps."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.shard_selector import fnv1a_64
from handloop.client.decoding.pages import ListPage
from handloop.client.decoding.watch_stream import EventType, WatchEvent
from handloop.client.errors import StreamClosed
from handloop.client.options import ListOptions
from handloop.informers.informer_options import InformerOptions
from handloop.informers.keys import DeletedFinalStateUnknown
from handloop.informers.shards import SLOT_LABEL, HeldSlots, ShardScope
from handloop.informers.shared_informer import SharedIndexInformer
from support.builders.deployments import bookmark, deployment
from support.rigs.interleaving import Interleaving

SLOTS: Final = 4
MOVING: Final = (2, 3)  # the others stay where they are
NAMES: Final = [f"n{i}" for i in range(8)]


class Change(NamedTuple):
    """One step of the server's history."""

    version: int
    before: Deployment | None
    after: Deployment | None


class Server:
    """
    Objects, their history, and whether it narrows by UID. Selects by label and namespace as every server.

    uid = how many objects were made: each has another one.
    """

    def __init__(self, threads: Interleaving, choose: random.Random) -> None:
        self.threads = threads
        self.supports_watch_list = choose.random() < 0.5
        self.obeys = choose.random() < 0.5
        self._choose = choose
        self.version, self.uid = 10, 0
        self.objects: dict[str, Deployment] = {}
        self.history: list[Change] = []
        self.requests: list[ListOptions] = []

    def change(self) -> None:
        """Create, change, relabel or delete an object."""
        name = self._choose.choice(NAMES)
        before = self.objects.get(name)
        self.version += 1
        if before is not None and self._choose.random() < 0.4:
            after = None
            del self.objects[name]
        else:
            self.uid += before is None
            uid = before.metadata.uid if before else f"{self.uid * 7919}-uid"
            label = self._choose.choice([*map(str, range(SLOTS)), "x"])
            after = deployment(
                name, self.version, namespace=f"ns-{name}", uid=uid, labels={SLOT_LABEL: label}
            )
            self.objects[name] = after
        self.history.append(Change(self.version, before, after))

    def list(self, options: ListOptions) -> ListPage[Deployment]:
        self.requests.append(options)
        self.threads.step()
        selects = self._selector(options)
        return ListPage([obj for obj in self.objects.values() if selects(obj)], str(self.version))

    def watch(self, options: ListOptions) -> Stream:
        self.requests.append(options)
        self.threads.step()
        return Stream(self, self._selector(options), options)

    def _selector(self, options: ListOptions) -> Callable[[Deployment], bool]:
        ranges = [
            (int(a, 16), int(b, 16)) for a, b in re.findall(r"'(0x\w+)', '(0x\w+)'", options.shard_selector)
        ]
        foreign = re.findall(r"metadata.namespace!=([\w-]+)", options.field_selector)
        labels = re.findall(r"\d", options.label_selector)

        def selects(obj: Deployment) -> bool:
            hashed = fnv1a_64(obj.metadata.uid)
            return (
                (not ranges or not self.obeys or any(start <= hashed < end for start, end in ranges))
                and obj.metadata.namespace not in foreign
                and (not labels or obj.metadata.labels.get(SLOT_LABEL) in labels)
            )

        return selects


class Stream:
    """A watch; it may begin with the objects there are."""

    def __init__(self, server: Server, selects: Callable[[Deployment], bool], options: ListOptions) -> None:
        self._server = server
        self._selects = selects
        self._closed = threading.Event()
        self._seen = server.version if options.send_initial_events else int(options.resource_version or 0)
        self._initial: list[WatchEvent[Deployment]] = []
        if options.send_initial_events:
            objects = [obj for obj in server.objects.values() if selects(obj)]
            self._initial = [WatchEvent(EventType.ADDED, obj) for obj in objects]
            self._initial.append(bookmark(server.version, ends_list=True))

    def read(self) -> list[WatchEvent[Deployment]]:
        while True:
            if self._closed.is_set():
                raise StreamClosed("closed from this side")
            if self._initial:
                events, self._initial = self._initial[:3], self._initial[3:]
                return events
            changes = [change for change in self._server.history if change.version > self._seen][:3]
            self._seen = changes[-1].version if changes else self._seen
            if events := [event for change in changes if (event := self._event(change)) is not None]:
                return events
            if not changes:
                self._server.threads.clock.sleep(0.05, self._closed)

    def close(self) -> None:
        self._closed.set()

    def _event(self, change: Change) -> WatchEvent[Deployment] | None:
        """As the server has it: an object that no longer fits is DELETED, in its former state."""
        before = change.before if change.before is not None and self._selects(change.before) else None
        after = change.after if change.after is not None and self._selects(change.after) else None
        if after is not None:
            return WatchEvent(EventType.ADDED if before is None else EventType.MODIFIED, after)
        if before is None:
            return None
        former = deployment(
            before.metadata.name,
            change.version,
            namespace=before.metadata.namespace,
            uid=before.metadata.uid,
            labels=before.metadata.labels,
        )
        return WatchEvent(EventType.DELETED, former)


class Replica:
    """An informer with its slots, and a handler; faults = calls that do not continue the former ones."""

    def __init__(self, server: Server, by: Any) -> None:
        self.server = server
        self.held = HeldSlots(SLOTS)
        self.scope = ShardScope(self.held, by)
        self.informer: SharedIndexInformer[Deployment] = SharedIndexInformer(
            server,
            Deployment,
            options=InformerOptions(shards=self.scope, page_size=3, stop_poll_seconds=10_000),
            seams=server.threads.seams,
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
        self.server = Server(threads, self.choose)
        self.replicas = [Replica(self.server, by) for _ in range(2)]
        self.replicas[0].held.add(0)
        self.replicas[1].held.add(1)
        self.holder: dict[int, Replica | None] = dict.fromkeys(MOVING)
        self.busy = 2

    def change_objects(self) -> None:
        for _ in range(30):
            self.server.change()
            self.threads.clock.sleep(self.choose.choice([0, 0.01, 0.1]), threading.Event())
        self.busy -= 1

    def move_slots(self) -> None:
        for _ in range(10):
            slot = self.choose.choice(MOVING)
            if (holder := self.holder[slot]) is not None:
                holder.held.remove(slot)
            self.holder[slot] = to = self.choose.choice([*self.replicas, holder, None])
            version = 0 if to is None else to.held.add(slot)
            while to is not None and self.choose.random() < 0.9 and not to.informer.has_slots(version):
                self.threads.clock.sleep(0.05, threading.Event())
            self.threads.clock.sleep(self.choose.choice([0, 0.05, 0.3]), threading.Event())
        self.busy -= 1

    def stop_when_quiet(self) -> None:
        """Time passes only when every thread waits."""
        quiet = 0
        while quiet < 10:
            self.threads.clock.sleep(0.1, threading.Event())
            ready = all(each.informer.has_slots(each.held.version) for each in self.replicas)
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
