"""
The races between a slot that leaves or comes back, and lists, events and the consumer, step by step.

test_shared_informer_shards_model.py has them in random orders.
"""

from __future__ import annotations

from types import SimpleNamespace

from handloop.apis.apps_v1 import Deployment
from handloop.informers.delta_fifo import Deltas, DeltaType, Listed
from handloop.informers.indexer import Indexer
from handloop.informers.keys import (
    DeletedFinalStateUnknown,
    Departed,
    deletion_handling_meta_namespace_key_func,
    meta_namespace_key_func,
)
from handloop.informers.sharding.held_slots import Held, HeldSlots
from handloop.informers.sharding.shard_scope import SLOT_LABEL, ShardScope
from handloop.informers.sharding.slot_fifo import SlotFIFO
from handloop.seams.clock import REAL_CLOCK
from support.builders.deployments import at_version, deployment

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED


def obj(name: str, slot: int, rv: int = 1) -> Deployment:
    """An object that its label puts into a slot."""
    return deployment(name, rv, uid=f"uid-{name}", labels={SLOT_LABEL: str(slot)})


class Rig:
    """A FIFO and its store; told = what a handler would be told, in words."""

    def __init__(self, *slots: int, follows: bool = True) -> None:
        self.held = HeldSlots(4)
        self.store: Indexer[Deployment] = Indexer()
        self.source = SimpleNamespace(asked=self.held.now, scope=ShardScope(self.held, "label"))
        self.fifo = SlotFIFO(
            self.store,
            self.source,  # type: ignore[arg-type] # it has what is read
            transformer=None,
            name="fifo",
            clock=REAL_CLOCK,
        )
        if follows:
            self.held.follow(SimpleNamespace(slots_changed=self.fifo.depart))
        self.told: list[str] = []
        for slot in slots:
            self.held.add(slot)

    def ask(self) -> None:
        """A list is asked for; answer() brings it."""
        self.source.asked = self.held.now

    def answer(self, *objects: Deployment) -> None:
        listed: Listed[Deployment] = Listed()
        for each in objects:
            stored = self.store.get(each)
            listed.take(meta_namespace_key_func(each), stored if stored == each else each)
        self.fifo.replace(listed)

    def listed(self, *objects: Deployment) -> None:
        """A whole list, up to the handlers."""
        self.ask()
        self.answer(*objects)
        self.pop()
        self.told.clear()

    def event(self, kind: DeltaType, what: Deployment | DeletedFinalStateUnknown[Deployment]) -> None:
        self.fifo.enqueue_batch([(kind, what)])

    def pop(self, keys: int = 256) -> None:
        self.fifo.pop_batch(self._process, keys, 0)

    def names(self) -> str:
        """What the store has."""
        return "".join(sorted(each.metadata.name for each in self.store.list()))

    def _process(self, batch: list[tuple[Deltas[Deployment], bool]]) -> None:
        for deltas, initial in batch:
            for delta in deltas:
                name = deletion_handling_meta_namespace_key_func(delta.object).rpartition("/")[2]
                old = self.store.apply([delta])[0]
                if not isinstance(delta.object, Departed):
                    kind = "-" if delta.type is DELETED else "~" if old else "!" if initial else "+"
                    self.told.append(f"{kind}{name}")


def test_a_slot_that_leaves_takes_its_objects_out_untold() -> None:
    """Also those whose first event was queued; one that waits is not told of before it goes, either."""
    rig = Rig(0, 1)
    rig.listed(obj("a", 0), obj("b", 1))
    rig.event(UPDATED, obj("a", 0, 2))
    rig.event(UPDATED, obj("b", 1, 3))
    rig.event(ADDED, obj("c", 1, 4))
    rig.held.remove(1)
    rig.pop()
    assert (rig.names(), rig.told) == ("a", ["~a"])


def test_an_event_that_was_under_way_brings_nothing_back() -> None:
    """Before and after the store has lost the object; also one that says that it does not fit its type."""
    rig = Rig(0, 1)
    rig.listed(obj("a", 0), obj("b", 1))
    rig.held.remove(1)
    rig.event(UPDATED, obj("b", 1, 2))
    rig.event(DELETED, DeletedFinalStateUnknown("default/b", None))
    rig.pop()
    rig.event(UPDATED, obj("b", 1, 3))
    rig.event(DELETED, obj("b", 1, 4))
    rig.pop()
    assert (rig.names(), rig.told) == ("a", [])


def test_a_list_that_was_under_way_brings_nothing_back() -> None:
    """Its slot left after it was asked for; an object that it lacks is no deletion, if its slot has left."""
    rig = Rig(0, 1)
    rig.listed(obj("a", 0), obj("b", 1), obj("c", 1))
    rig.ask()
    rig.held.remove(1)
    rig.answer(obj("a", 0), obj("b", 1, 2))
    rig.pop()
    assert (rig.names(), rig.told) == ("a", ["~a"])


def test_a_list_may_come_before_its_fifo_has_heard_of_the_change() -> None:
    """The slots have changed, and the callback has not come to depart: replace sees to it."""
    rig = Rig(0, 1)
    rig.listed(obj("a", 0), obj("b", 1))
    rig.fifo.depart = lambda: None  # type: ignore[method-assign]
    rig.held._followers = ()
    rig.held.remove(1)
    rig.ask()
    rig.answer(obj("a", 0))
    rig.pop()
    assert (rig.names(), rig.told) == ("a", [])


class ReleasingSource:
    """Releases slot 1 when the FIFO reads which slots the list requested, so in the middle of a replace."""

    def __init__(self, rig: Rig) -> None:
        self.scope = rig.source.scope
        self._rig, self._asked = rig, rig.held.now

    @property
    def asked(self) -> Held:
        self._rig.held.remove(1)
        return self._asked


def test_a_slot_may_leave_while_a_list_is_taken_in() -> None:
    """Its objects depart then, too: no handler is told of a deletion that did not happen."""
    rig = Rig(0, 1, follows=False)
    rig.listed(obj("a", 0), obj("b", 1), obj("c", 1))
    rig.fifo._source = ReleasingSource(rig)  # type: ignore[assignment] # it has what is read
    rig.answer(obj("a", 0), obj("b", 1, 2))
    rig.fifo.depart()
    rig.pop()
    assert (rig.names(), [words for words in rig.told if words.startswith("-")]) == ("a", [])


def test_a_slot_that_came_back_waits_for_its_own_list() -> None:
    """A list or event of its former time opens nothing: what happened in between is not known."""
    rig = Rig(0, 1)
    rig.listed(obj("a", 0), obj("b", 1))
    rig.ask()
    rig.held.remove(1)
    version = rig.held.add(1)
    assert not rig.fifo.has_opened(version)
    rig.answer(obj("a", 0), obj("b", 1), obj("c", 1))
    rig.event(UPDATED, obj("b", 1, 2))
    rig.pop()
    assert (rig.names(), rig.fifo.has_opened(version)) == ("a", False)
    rig.ask()
    rig.answer(obj("a", 0), obj("b", 1, 2), obj("c", 1))
    assert not rig.fifo.has_opened(version)
    rig.told.clear()
    rig.pop()
    assert (rig.names(), rig.told, rig.fifo.has_opened(version)) == ("abc", ["!b", "!c"], True)


def test_an_object_that_left_and_was_deleted_elsewhere_is_not_told() -> None:
    """Its slot comes back before the store has lost it, and the list lacks it."""
    rig = Rig(0, 1)
    rig.listed(obj("a", 0), obj("b", 1))
    rig.held.remove(1)
    rig.held.add(1)
    rig.ask()
    rig.answer(obj("a", 0))
    rig.pop()
    assert (rig.names(), rig.told) == ("a", [])


def test_a_list_for_other_slots_tells_the_difference_alone() -> None:
    """Objects of the new slot are initial; another new one is not, and an unchanged one is no news."""
    rig = Rig(0)
    a, b, c = obj("a", 0), obj("b", 0), obj("c", 0)
    rig.listed(a, b, c)
    version = rig.held.add(1)
    rig.ask()
    rig.answer(a, at_version(b, 2), obj("d", 0), obj("e", 1))
    rig.pop(2)
    assert not rig.fifo.has_opened(version)
    rig.pop()
    assert rig.told == ["~b", "+d", "!e", "-c"]
    assert rig.fifo.has_opened(version)


def test_an_unchanged_object_with_news_in_the_queue_is_listed() -> None:
    """The list may be newer than the news: it has to follow them."""
    rig = Rig(0)
    a = obj("a", 0)
    rig.listed(a)
    rig.event(DELETED, obj("a", 0, 2))
    rig.held.add(1)
    rig.ask()
    rig.answer(a)
    rig.pop()
    assert (rig.names(), rig.told) == ("a", ["-a", "+a"])


def test_a_list_of_the_same_slots_repeats_all() -> None:
    """As of every informer after an outage."""
    rig = Rig(0)
    a = obj("a", 0)
    rig.listed(a)
    rig.answer(a)
    rig.pop()
    assert rig.told == ["~a"]


def test_an_object_that_moves_to_a_slot_that_has_left_leaves() -> None:
    """The watch still has that slot, so the server sends no deletion. One of another UID is another one."""
    rig = Rig(0, 1)
    rig.listed(obj("a", 0), obj("b", 0), obj("c", 0))
    rig.held.remove(1)
    rig.event(UPDATED, obj("a", 1, 2))
    rig.event(UPDATED, deployment("b", 2, uid="other", labels={SLOT_LABEL: "1"}))
    rig.pop()
    assert (rig.names(), rig.told) == ("bc", ["-a"])


def test_without_a_slot_an_empty_list_is_complete() -> None:
    """One that comes is there with the list that was asked for it, and is not missed when it leaves."""
    rig = Rig()
    assert not rig.fifo.has_opened(0)
    rig.answer()
    assert rig.fifo.has_opened(0)
    assert not rig.fifo.has_opened(1)
    version = rig.held.add(2)
    assert (rig.fifo.has_opened(0), rig.fifo.has_opened(version)) == (True, False)
    rig.listed(obj("a", 2))
    assert rig.fifo.has_opened(version)
    assert rig.fifo.has_opened(rig.held.remove(2))


def test_a_slot_that_left_and_came_back_unnoticed_departs_all_the_same() -> None:
    """The callback of the first change comes after the second one."""
    rig = Rig(0, 1, follows=False)
    rig.listed(obj("a", 0), obj("b", 1))
    rig.held.remove(1)
    rig.held.add(1)
    rig.fifo.depart()
    rig.pop()
    assert (rig.names(), rig.told) == ("a", [])
