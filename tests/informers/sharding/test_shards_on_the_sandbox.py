"""Informers of some slots on a server: what the decoders drop, and who keeps foreign objects away."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from handloop.apis.meta import FrozenMap, ObjectMeta
from handloop.client.resource_client import Client
from handloop.informers.factory import SharedInformerFactory
from handloop.informers.informer_options import InformerOptions
from handloop.informers.sharding import sharded_source
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.shard_scope import SLOT_LABEL, ShardedBy, ShardScope
from handloop.informers.sharding.slot_restriction import SlotRestrictions
from handloop.kinds.core_v1 import ConfigMap, Namespace
from handloop_sandbox.server import Sandbox

NAMESPACES = [f"ns-{i}" for i in range(6)]


class Replica:
    """One informer of ConfigMaps, and the slots of its process."""

    def __init__(self, client: Client, by: ShardedBy, *slots: int) -> None:
        self.held = HeldSlots(4)
        self.factory = SharedInformerFactory(
            client,
            options=InformerOptions(restrictions=SlotRestrictions(ShardScope(self.held, by)), page_size=5),
        )
        self.informer = self.factory.informer_for(ConfigMap)
        self.factory.start(threading.Event())
        self.hold(*slots)

    def hold(self, *slots: int) -> None:
        version = max(self.held.add(slot) for slot in slots)
        until(lambda: self.informer.has_listed(version))

    def stored(self) -> dict[str, str]:
        objects = self.informer.indexer.list()
        return {obj.metadata.uid: obj.metadata.resource_version for obj in objects}


def until(holds: Callable[[], bool]) -> None:
    """Block until something holds, for 20 s at most."""
    probe = threading.Event()
    for _ in range(4000):
        if holds():
            return
        probe.wait(0.005)
    raise AssertionError("waited 20 s")


@pytest.mark.parametrize(
    ("by", "gate", "found"),
    [
        ("uid", True, "server"),
        ("uid", False, "client"),
        ("namespace", False, "fields"),
        ("label", False, "labels"),
    ],
)
def test_each_object_is_in_one_informer(
    by: ShardedBy, gate: bool, found: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its newest version, also after changes and after a slot has moved."""
    monkeypatch.setattr(sharded_source, "SETTLE_SECONDS", 0.0)
    with Sandbox(seed=1, sharded_list_and_watch=gate) as sandbox:
        client = Client(sandbox.transport())  # type: ignore[arg-type] # the same shapes
        maps = client.resource(ConfigMap)
        for name in NAMESPACES:
            client.resource(Namespace).create(Namespace(metadata=ObjectMeta(name=name)))

        def create(number: int) -> None:
            labels = FrozenMap({SLOT_LABEL: str(number % 4)})
            maps.create(
                ConfigMap(
                    metadata=ObjectMeta(name=f"m{number}", namespace=NAMESPACES[number % 6], labels=labels)
                )
            )

        def are_right(*replicas: Replica) -> bool:
            listed = {obj.metadata.uid: obj.metadata.resource_version for obj in maps.list().items}
            ours = {uid: rv for uid, rv in listed.items() if by != "label" or uid in made()}
            stored = [replica.stored() for replica in replicas]
            return stored[0] | stored[1] == ours and sum(map(len, stored)) == len(ours)

        def made() -> set[str]:
            return {obj.metadata.uid for obj in maps.list().items if SLOT_LABEL in obj.metadata.labels}

        for number in range(48):
            create(number)
        one, two = Replica(client, by, 0, 1), Replica(client, by, 2, 3)
        until(lambda: are_right(one, two))
        assert one.informer.restriction.narrowed_by == found
        for number in range(48, 60):
            create(number)
        for number in range(12):
            maps.patch(f"m{number}", {"data": {"a": "b"}}, namespace=NAMESPACES[number % 6])
        maps.delete("m12", namespace=NAMESPACES[0])
        until(lambda: are_right(one, two))
        one.held.remove(1)
        two.hold(1)
        until(lambda: are_right(one, two))
        assert two.informer.restriction.narrowed_by == found
        for replica in (one, two):
            replica.factory.shutdown(5)
