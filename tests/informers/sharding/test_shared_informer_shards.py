"""An informer that holds only the slots of its process, from requests to handlers and readers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.grammar.shard_selector import slot_of_namespace
from handloop.client.decoding.pages import ListPage, Undecodable
from handloop.informers.indexer import NAMESPACE_INDEX, namespace_index_func
from handloop.informers.lister import Lister, NamespaceNotWatched
from handloop.informers.reflector import State
from handloop.informers.sharding.held_slots import HeldSlots
from handloop.informers.sharding.served_cache import NamespaceNotServed
from handloop.informers.sharding.shard_scope import ShardScope
from handloop.informers.sharding.sharded_source import SETTLE_SECONDS
from handloop.informers.sharding.slot_restriction import SlotRestrictions
from support.builders.deployments import deployment
from support.checks.captured_logs import captured_logs
from support.doubles.fake_lister_watcher import FakeSource
from support.doubles.recording_handler import Gate
from support.rigs.informer_rig import InformerRig

NAMESPACE = {slot_of_namespace(f"n{i}", 4): f"n{i}" for i in range(100)}


def obj(name: str, slot: int) -> Deployment:
    return deployment(name, namespace=NAMESPACE[slot], uid=f"u-{name}")


class Rig(InformerRig):
    """An informer by namespace, over a source with an object in each of four slots: a0, b1, c2 and d3."""

    def __init__(self, **options: Any) -> None:
        self.held = HeldSlots(4)
        self.scope = ShardScope(self.held, "namespace")
        source = FakeSource(*(obj(f"{'abcd'[slot]}{slot}", slot) for slot in range(4)), **options)
        super().__init__(
            source,
            indexers={NAMESPACE_INDEX: namespace_index_func},
            restrictions=SlotRestrictions(self.scope),
            stop_poll_seconds=1e6,
        )

    def hold(self, *slots: int) -> int:
        """Hold slots from one moment on, and wait until they are there; the last version."""
        version = [self.held.add(slot) for slot in slots][-1]
        self.settle()
        self.until(lambda: self.informer.has_listed(version))
        self.until_watching()
        return version

    def settle(self) -> None:
        """Let the moment pass in which further slots share a list."""
        self.clock.wait_for_deadline(self.clock.now() + SETTLE_SECONDS)
        self.clock.advance(SETTLE_SECONDS)

    def names(self) -> str:
        return "".join(sorted(each.metadata.name for each in self.informer.indexer.list()))

    @property
    def requests(self) -> int:
        return len(self.source.list_options) + len(self.source.watch_options)


@pytest.fixture(params=[False, True], ids=["pages", "stream"])
def rig(request: pytest.FixtureRequest) -> Iterator[Rig]:
    made = Rig(supports_watch_list=request.param)
    yield made
    made.close()


def test_without_a_slot_nothing_is_asked_and_an_empty_store_is_complete(rig: Rig) -> None:
    """Before the first slot, and after the last has left; the stream is closed then."""
    rig.run_synced()
    assert (rig.requests, rig.names(), rig.informer.has_listed(0)) == (0, "", True)
    rig.hold(0, 1)
    assert rig.names() == "a0b1"
    asked = rig.requests
    rig.held.remove(0)
    rig.held.remove(1)
    rig.until(lambda: rig.names() == "" and not rig.source.open_watches())  # type: ignore[attr-defined]
    rig.until(lambda: rig.informer.statistics().reflector.state is State.EMPTY)  # type: ignore[union-attr]
    assert (rig.requests, rig.informer.has_listed(rig.held.version)) == (asked, True)
    rig.hold(2)
    assert rig.names() == "c2"


def test_slots_that_come_are_one_list_and_only_their_objects_are_told(rig: Rig) -> None:
    """As initial ones. The others are the same objects, and their handlers are not called."""
    handler, _ = rig.handle()
    rig.run()
    rig.hold(0)
    before = rig.informer.indexer.get_by_key(f"{NAMESPACE[0]}/a0")
    rig.hold(1, 3)
    handler.wait_for(3)
    assert rig.informer.indexer.get_by_key(f"{NAMESPACE[0]}/a0") is before
    assert handler.seen() == ["add a0 1 initial", "add b1 1 initial", "add d3 1 initial"]
    reflector = rig.informer.statistics().reflector
    assert reflector is not None
    assert reflector.relists == {"slots": 1}
    assert rig.metrics.made["relists", "deployments.apps", "slots"].value == 1


def test_a_slot_that_leaves_costs_no_request_and_no_call(rig: Rig) -> None:
    """Its objects leave the store; what the open watch still brings of them is dropped."""
    handler, _ = rig.handle()
    rig.run()
    rig.hold(0, 1)
    handler.wait_for(2)
    asked = rig.requests
    rig.held.remove(1)
    rig.until(lambda: rig.names() == "a0")
    source = rig.source
    assert isinstance(source, FakeSource)
    source.modify(obj("b1", 1))
    source.delete("b1")
    source.modify(obj("a0", 0))
    assert handler.wait_for(3)[2:] == ["update a0 1 4"]
    assert (rig.names(), rig.requests) == ("a0", asked)
    assert rig.informer.has_seen("4")


def test_a_slot_that_comes_and_goes_at_once_is_no_trouble(rig: Rig) -> None:
    """The watch was ended for it, and is opened again without a list, a pause or a line."""
    rig.run()
    rig.hold(0)
    lists = len(rig.source.list_options)
    watch = rig.source.open_watches()[0]  # type: ignore[attr-defined]
    close = watch.close

    def slow_close() -> None:
        rig.held.remove(1)
        close()

    watch.close = slow_close
    with captured_logs() as logs:
        rig.held.add(1)
        rig.until(lambda: rig.source.open_watches() not in ([], [watch]))  # type: ignore[attr-defined]
    assert len(rig.source.list_options) == lists
    assert [line["event"] for line in logs if line["log_level"] != "debug"] == []


def test_a_slot_is_there_when_the_store_has_its_objects(rig: Rig) -> None:
    """A handler that is slow delays nobody else."""
    gate = Gate()
    handler, _ = rig.handle(lambda line: gate(line) if "b1" in line else None)
    rig.run()
    rig.hold(0)
    version = rig.held.add(1)
    rig.settle()
    gate.wait()
    assert rig.names() == "a0b1"
    rig.until(lambda: rig.informer.has_listed(version))
    gate.open()
    handler.wait_for("add b1 1 initial")


def test_an_expired_watch_lists_the_same_slots_again(rig: Rig) -> None:
    """As without shards: each object is repeated, and the list is not older than what was seen."""
    handler, _ = rig.handle()
    rig.run()
    rig.hold(0)
    handler.wait_for(1)
    rig.expire()
    assert handler.wait_for(2)[1:] == ["update a0 1 1"]


def test_a_foreign_namespace_cannot_be_read(rig: Rig) -> None:
    """Its objects are not absent: another replica has them. Reads over all see those that are ours."""
    lister = Lister(rig.informer.cache, Deployment.resource)
    rig.run()
    rig.hold(0)
    assert lister.get("a0", namespace=NAMESPACE[0]) is not None
    assert lister.get("b1", namespace=NAMESPACE[0]) is None
    assert [len(lister.list()), len(lister.list(namespace=NAMESPACE[0]))] == [1, 1]
    for read in (
        lambda: lister.get("b1", namespace=NAMESPACE[1]),
        lambda: lister.list(namespace=NAMESPACE[1]),
    ):
        with pytest.raises(NamespaceNotServed, match=f'"{NAMESPACE[1]}" is in slot 1 of 4') as refused:
            read()
        assert isinstance(refused.value, NamespaceNotWatched)
    whole = InformerRig(FakeSource())
    assert whole.informer.cache is whole.informer.indexer
    assert (whole.informer.has_listed(7), whole.informer.restriction.narrowed_by) == (False, "")


def test_misfits_of_a_slot_leave_the_quarantine_with_it() -> None:
    """With the next event."""
    rig = Rig()
    bad = [Undecodable(NAMESPACE[slot], f"bad{slot}", "1", b"{}", "misfit", f"u{slot}") for slot in (0, 1)]
    rig.source.lists.append(ListPage([obj("a0", 0)], "1", undecodable=tuple(bad)))
    rig.run()
    rig.hold(0, 1)
    rig.until(lambda: len(rig.informer.quarantine) == 2)
    rig.held.remove(1)
    rig.source.add(obj("e0", 0))  # type: ignore[attr-defined]
    rig.until(lambda: len(rig.informer.quarantine) == 1)
    assert rig.informer.quarantine.keys() == [f"{NAMESPACE[0]}/bad0"]
    assert rig.informer.statistics().narrowed_by == rig.informer.restriction.narrowed_by == "fields"
    rig.close()
