"""
DeltaFIFO, scenario by scenario.

Not every scenario of client-go's RealFIFO has a subject here: that FIFO keeps every delta in the order of
arrival, this one merges the deltas of a key. Ported below are RFIFO-02, 05, 06, 07, 11, 14 (its rule that a
bad object stops no other), 19, 20 (the part without atomic events) and 21. These do not apply:

    RFIFO-01            three changes of a key are one pop here: FIFO-01
    RFIFO-03            tombstones come after the listed objects here: FIFO-15 to 18
    RFIFO-04            a delete of an unknown object is dropped here: FIFO-09
    RFIFO-08, 09, 10    splits of a batch by a key that comes again: here it has no second place in line
    RFIFO-12, 13        initial and later objects in separate batches: here each key has its own flag
    RFIFO-15 to 18      atomic events (ReplacedAll, SyncAll) and bookmarks in the queue do not exist here
    RFIFO-22            nor the options that exclude each other
    RFIFO-23            the lock is always held while a batch is processed: replace() relies on it
    RFIFO-24            there is no bookmark operation; bookmarks go to the indexer
"""

from __future__ import annotations

import threading

import pytest

from handloop.informers.delta_fifo import Delta, DeltaFIFO, Deltas, DeltaType, FIFOClosed
from handloop.informers.keys import DeletedFinalStateUnknown, StoreKeyError
from handloop.workqueue.clock import REAL_CLOCK, Clock
from support.captured_logs import captured_logs
from support.fake_clock import FakeClock
from support.plain_items import Item, KnownItems, deltas, item_key, tombstone
from support.threads import DEADLINE_SECONDS, Background, Waits

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED
REPLACED, SYNC = DeltaType.REPLACED, DeltaType.SYNC

Batch = list[tuple[Deltas[Item], bool]]


def new_fifo(
    known: KnownItems | None = None, *, emit_replaced: bool = False, clock: Clock = REAL_CLOCK
) -> DeltaFIFO[Item]:
    return DeltaFIFO(key_func=item_key, known_objects=known, emit_replaced=emit_replaced, clock=clock)


def ignore(_deltas: Deltas[Item], _is_initial: bool) -> None:
    """Process nothing."""


def pop(fifo: DeltaFIFO[Item]) -> Deltas[Item]:
    assert len(fifo) > 0, "pop would block"
    return fifo.pop(ignore)


def pop_all(fifo: DeltaFIFO[Item]) -> list[Deltas[Item]]:
    return [pop(fifo) for _ in range(len(fifo))]


def pop_initial(fifo: DeltaFIFO[Item]) -> bool:
    flags: list[bool] = []
    fifo.pop(lambda _deltas, is_initial: flags.append(is_initial))
    return flags[0]


def test_deltas_of_a_key_are_popped_together() -> None:
    """FIFO-01: a key is one pop with all its deltas, oldest first. Follows TestDeltaFIFO_addUpdate."""
    fifo = new_fifo()
    fifo.add(Item("foo", 10))
    fifo.update(Item("foo", 12))
    fifo.delete(Item("foo", 15))
    assert pop_all(fifo) == [
        deltas((ADDED, Item("foo", 10)), (UPDATED, Item("foo", 12)), (DELETED, Item("foo", 15)))
    ]


def test_replace_after_a_queued_delete_keeps_both_in_order() -> None:
    """FIFO-02: a queued delete stays first. Follows TestDeltaFIFO_replaceWithDeleteDeltaIn."""
    old, new = Item("foo", 1), Item("foo", 2)
    fifo = new_fifo(KnownItems([old]))
    fifo.delete(old)
    fifo.replace([new], "")
    assert pop_all(fifo) == [deltas((DELETED, old), (SYNC, new))]


@pytest.mark.parametrize("known", [None, KnownItems()], ids=["alone", "with known objects"])
def test_replace_deletes_what_is_only_queued(known: KnownItems | None) -> None:
    """
    FIFO-03, RFIFO-02: an object still queued and no longer listed gets a tombstone with its queued state.

    Follows TestDeltaFIFOW_ReplaceMakesDeletionsForObjectsOnlyInQueue, as the next five.
    """
    fifo = new_fifo(known)
    fifo.add(Item("foo", 10))
    fifo.replace([], "0")
    assert pop_all(fifo) == [deltas((ADDED, Item("foo", 10)), (DELETED, tombstone(Item("foo", 10))))]


FOO = Item("foo", 10)
FOO2 = Item("foo", 11)


def test_replace_reports_replaced_when_asked() -> None:
    """FIFO-04: with emit_replaced the deltas of a list can be told from those of a resync."""
    fifo = new_fifo(emit_replaced=True)
    fifo.add(FOO)
    fifo.replace([FOO], "0")
    fifo.replace([], "0")
    assert pop_all(fifo) == [deltas((ADDED, FOO), (REPLACED, FOO), (DELETED, tombstone(FOO)))]


def test_replace_does_not_double_a_queued_delete() -> None:
    """FIFO-05: after a real delete the tombstone of a list says nothing new."""
    fifo = new_fifo()
    fifo.add(FOO)
    fifo.delete(FOO)
    fifo.replace([], "0")
    assert pop_all(fifo) == [deltas((ADDED, FOO), (DELETED, FOO))]


def test_every_replace_leaves_its_delta() -> None:
    """FIFO-06: syncs are not merged."""
    fifo = new_fifo()
    fifo.add(FOO)
    fifo.replace([FOO], "0")
    fifo.replace([FOO], "0")
    fifo.replace([], "0")
    assert pop_all(fifo) == [deltas((ADDED, FOO), (SYNC, FOO), (SYNC, FOO), (DELETED, tombstone(FOO)))]


def test_two_tombstones_in_a_row_are_one() -> None:
    """FIFO-07: two empty lists delete once, and the tombstone does not wrap a tombstone."""
    fifo = new_fifo()
    fifo.add(FOO)
    fifo.replace([], "0")
    fifo.replace([], "0")
    assert pop_all(fifo) == [deltas((ADDED, FOO), (DELETED, tombstone(FOO)))]


def test_a_recreated_object_is_deleted_again() -> None:
    """FIFO-08: deletes with something in between are both kept."""
    fifo = new_fifo()
    fifo.add(FOO)
    fifo.delete(FOO)
    fifo.add(FOO2)
    fifo.replace([], "0")
    assert pop_all(fifo) == [deltas((ADDED, FOO), (DELETED, FOO), (ADDED, FOO2), (DELETED, tombstone(FOO2)))]


def test_a_real_delete_supersedes_a_tombstone() -> None:
    """Of two deletes in a row the one that knows the final state stays."""
    fifo = new_fifo()
    fifo.add(FOO)
    fifo.replace([], "0")
    fifo.delete(FOO2)
    assert pop_all(fifo) == [deltas((ADDED, FOO), (DELETED, FOO2))]


def test_without_known_objects_only_queued_keys_are_deleted() -> None:
    """FIFO-09: a delete of a key that is not queued is ignored. Follows TestDeltaFIFO_enqueueingNoLister."""
    fifo = new_fifo()
    fifo.add(Item("foo", 10))
    fifo.update(Item("bar", 15))
    fifo.add(Item("qux", 17))
    fifo.delete(Item("qux", 18))
    fifo.delete(Item("baz", 20))
    assert [popped[-1].object for popped in pop_all(fifo)] == [
        Item("foo", 10),
        Item("bar", 15),
        Item("qux", 18),
    ]


def test_known_keys_are_deleted() -> None:
    """FIFO-10: a delete of a known key is queued. Follows TestDeltaFIFO_enqueueingWithLister."""
    fifo = new_fifo(KnownItems([Item("foo", 5), Item("bar", 6), Item("baz", 7)]))
    fifo.add(Item("foo", 10))
    fifo.update(Item("bar", 15))
    fifo.delete(Item("baz", 20))
    assert [popped[-1].object for popped in pop_all(fifo)] == [
        Item("foo", 10),
        Item("bar", 15),
        Item("baz", 20),
    ]


def test_replace_joins_the_queued_deltas() -> None:
    """FIFO-11: a listed key that is queued is popped once, newest last. Follows TestDeltaFIFO_addReplace."""
    fifo = new_fifo()
    fifo.add(Item("foo", 10))
    fifo.replace([Item("foo", 15)], "0")
    assert [popped[-1].object for popped in pop_all(fifo)] == [Item("foo", 15)]


def test_resync_leaves_a_queued_delete_alone() -> None:
    """FIFO-12: a key about to be deleted is not synced. Follows TestDeltaFIFO_ResyncNonExisting."""
    fifo = new_fifo(KnownItems([FOO]))
    fifo.delete(FOO)
    fifo.resync()
    assert pop_all(fifo) == [deltas((DELETED, FOO))]


def test_resync_queues_what_is_known() -> None:
    """FIFO-13: an idle known key gets one Sync. Follows TestDeltaFIFO_Resync."""
    fifo = new_fifo(KnownItems([FOO]))
    fifo.resync()
    assert pop_all(fifo) == [deltas((SYNC, FOO))]


def test_resync_without_known_objects_does_nothing() -> None:
    """There is nothing to sync from."""
    fifo = new_fifo()
    fifo.resync()
    assert len(fifo) == 0


class VanishingItems(KnownItems):
    """Known keys whose objects are gone when asked for."""

    def get_by_key(self, key: str) -> Item | None:
        return None


def test_an_object_that_vanishes_during_a_resync_is_skipped() -> None:
    """A key without a known object gets no Sync, but a line in the log."""
    fifo = new_fifo(VanishingItems([FOO]))
    with captured_logs() as entries:
        fifo.resync()
    assert len(fifo) == 0
    assert [entry["event"] for entry in entries] == ["Key does not exist in known objects store"]


def test_an_object_that_vanishes_during_a_replace_gets_an_empty_tombstone() -> None:
    """The deletion is told all the same, with no known state; and it counts for has_synced."""
    fifo = new_fifo(VanishingItems([FOO]))
    fifo.replace([], "0")
    assert not fifo.has_synced()
    assert pop_all(fifo) == [[Delta(DELETED, DeletedFinalStateUnknown("foo", None))]]
    assert fifo.has_synced()


def test_delete_of_a_key_that_is_queued_is_not_dropped() -> None:
    """FIFO-14: not yet known, but about to be. Follows TestDeltaFIFO_DeleteExistingNonPropagated."""
    fifo = new_fifo(KnownItems())
    fifo.add(Item("foo", 5))
    fifo.delete(Item("foo", 6))
    assert pop_all(fifo) == [deltas((ADDED, Item("foo", 5)), (DELETED, Item("foo", 6)))]


KNOWN = (Item("foo", 5), Item("bar", 6), Item("baz", 7))


def test_replace_makes_deletions_for_known_keys() -> None:
    """
    FIFO-15: known, not listed and not queued: a tombstone with the known state.

    Follows TestDeltaFIFO_ReplaceMakesDeletions, as the next three.
    """
    fifo = new_fifo(KnownItems(KNOWN))
    fifo.delete(Item("baz", 10))
    fifo.replace([Item("foo", 5)], "0")
    assert pop_all(fifo) == [
        deltas((DELETED, Item("baz", 10))),
        deltas((SYNC, Item("foo", 5))),
        deltas((DELETED, tombstone(Item("bar", 6)))),
    ]


def test_replace_deletes_a_queued_key_with_its_queued_state() -> None:
    """FIFO-16: the queued state is newer than the known one."""
    fifo = new_fifo(KnownItems(KNOWN))
    fifo.add(Item("baz", 10))
    fifo.replace([Item("foo", 5)], "0")
    assert pop_all(fifo) == [
        deltas((ADDED, Item("baz", 10)), (DELETED, tombstone(Item("baz", 10)))),
        deltas((SYNC, Item("foo", 5))),
        deltas((DELETED, tombstone(Item("bar", 6)))),
    ]


def test_replace_deletes_a_recreated_key_that_is_not_listed() -> None:
    """FIFO-17: the newest queued delta decides, here an Added after a Deleted."""
    fifo = new_fifo(KnownItems(KNOWN))
    fifo.delete(Item("bar", 6))
    fifo.add(Item("bar", 100))
    fifo.replace([Item("foo", 5)], "0")
    assert pop_all(fifo) == [
        deltas((DELETED, Item("bar", 6)), (ADDED, Item("bar", 100)), (DELETED, tombstone(Item("bar", 100)))),
        deltas((SYNC, Item("foo", 5))),
        deltas((DELETED, tombstone(Item("baz", 7)))),
    ]


def test_replace_deletes_what_an_earlier_replace_queued() -> None:
    """FIFO-18: an object of a first list that the second no longer has."""
    fifo = new_fifo(KnownItems(KNOWN))
    fifo.replace([Item("bar", 100), Item("foo", 5)], "0")
    fifo.replace([Item("foo", 5)], "0")
    assert pop_all(fifo) == [
        deltas((SYNC, Item("bar", 100)), (DELETED, tombstone(Item("bar", 100)))),
        deltas((SYNC, Item("foo", 5)), (SYNC, Item("foo", 5))),
        deltas((DELETED, tombstone(Item("baz", 7)))),
    ]


def test_listed_objects_are_replaced_not_synced() -> None:
    """FIFO-19: what a listed object's delta is with emit_replaced. Follows TestDeltaFIFO_ReplaceDeltaType."""
    fifo = new_fifo(KnownItems([FOO]), emit_replaced=True)
    fifo.replace([FOO], "0")
    assert pop_all(fifo) == [deltas((REPLACED, FOO))]


def test_resync_skips_pending_keys() -> None:
    """FIFO-20, RFIFO-06: a newer state is queued, so no Sync. Follows TestDeltaFIFO_UpdateResyncRace."""
    fifo = new_fifo(KnownItems([Item("foo", 5)]))
    fifo.update(Item("foo", 6))
    fifo.resync()
    assert pop_all(fifo) == [deltas((UPDATED, Item("foo", 6)))]


def test_deletions_of_the_first_replace_count_for_has_synced() -> None:
    """
    FIFO-21, RFIFO-05: synced only after the deletions, which are initial too.

    Follows TestDeltaFIFO_HasSyncedCorrectOnDeletion.
    """
    fifo = new_fifo(KnownItems(KNOWN))
    fifo.replace([Item("foo", 5)], "0")
    for _ in range(3):
        assert not fifo.has_synced()
        assert pop_initial(fifo)
    assert fifo.has_synced()


def test_a_key_added_again_goes_to_the_back() -> None:
    """FIFO-22: a popped key does not jump the line. Follows TestDeltaFIFO_detectLineJumpers."""
    fifo = new_fifo()
    for added in (Item("foo", 10), Item("bar", 1), Item("foo", 11), Item("foo", 13), Item("zab", 30)):
        fifo.add(added)
    assert pop(fifo)[-1].object == Item("foo", 13)
    fifo.add(Item("foo", 14))
    assert [popped[-1].object for popped in pop_all(fifo)] == [
        Item("bar", 1),
        Item("zab", 30),
        Item("foo", 14),
    ]


def test_key_of_unwraps() -> None:
    """FIFO-23: tombstones and deltas have their object's key. Follows TestDeltaFIFO_KeyOf."""
    fifo = new_fifo()
    for named in (FOO, tombstone(FOO), deltas((ADDED, FOO)), deltas((DELETED, tombstone(FOO)))):
        assert fifo.key_of(named) == "foo"


def test_empty_deltas_have_no_key() -> None:
    """FIFO-23: there is no object to take the key from."""
    with pytest.raises(StoreKeyError, match="0 length Deltas object; can't get key"):
        new_fifo().key_of([])


def test_has_synced_before_anything() -> None:
    """FIFO-24: nothing came, so nothing is complete. Follows TestDeltaFIFO_HasSynced."""
    assert not new_fifo().has_synced()


def test_has_synced_after_an_add() -> None:
    """FIFO-25: who adds without a list has no initial list to wait for."""
    fifo = new_fifo()
    fifo.add(FOO)
    assert fifo.has_synced()


def test_has_synced_after_an_empty_list() -> None:
    """FIFO-26, RFIFO-20: an empty list is complete at once."""
    fifo = new_fifo()
    fifo.replace([], "0")
    assert fifo.has_synced()


@pytest.mark.parametrize(("pops", "synced"), [(0, False), (1, False), (2, True)])
def test_has_synced_counts_the_pops_of_the_list(pops: int, synced: bool) -> None:
    """FIFO-27, 28, 29: complete when as many keys were processed as were listed."""
    fifo = new_fifo()
    fifo.replace([Item("a", 1), Item("b", 2)], "0")
    for _ in range(pops):
        pop(fifo)
    assert fifo.has_synced() is synced


def test_has_synced_counts_a_key_listed_twice_once() -> None:
    """FIFO-30: keys count, not objects."""
    fifo = new_fifo()
    fifo.replace([Item("a", 1), Item("a", 2)], "0")
    assert not fifo.has_synced()
    assert pop(fifo) == deltas((SYNC, Item("a", 1)), (SYNC, Item("a", 2)))
    assert fifo.has_synced()


def test_a_later_replace_does_not_unsync() -> None:
    """Once synced, always synced."""
    fifo = new_fifo()
    fifo.replace([], "0")
    fifo.replace([FOO], "1")
    assert fifo.has_synced()
    assert not pop_initial(fifo)


def test_a_resync_before_the_first_list_does_not_sync() -> None:
    """Resynced keys are no list: they are handed on as initial, and the list that follows is waited for."""
    fifo = new_fifo(KnownItems([FOO]))
    fifo.resync()
    assert pop_initial(fifo)
    assert not fifo.has_synced()
    fifo.replace([FOO], "0")
    assert not fifo.has_synced()
    pop(fifo)
    assert fifo.has_synced()


def test_close_ends_all_blocked_pops(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    FIFO-31, RFIFO-19: every thread blocked in pop learns that the FIFO is closed.

    Follows TestDeltaFIFO_PopShouldUnblockWhenClosed.
    """
    fifo = new_fifo()
    waits = Waits(monkeypatch, fifo._lock)
    threads = [Background(lambda: fifo.pop(ignore)) for _ in range(10)]
    waits.wait_for(10)
    fifo.close()
    for thread in threads:
        with pytest.raises(FIFOClosed, match=r"^DeltaFIFO: manipulating with closed queue$"):
            thread.result()


def test_a_closed_fifo_gives_what_it_has() -> None:
    """RFIFO-19: closing loses nothing, and adding still works."""
    fifo = new_fifo()
    fifo.add(Item("a", 1))
    fifo.close()
    fifo.add(Item("b", 2))
    assert pop_all(fifo) == [deltas((ADDED, Item("a", 1))), deltas((ADDED, Item("b", 2)))]
    with pytest.raises(FIFOClosed):
        fifo.pop(ignore)


def doubled(calls: list[Item], obj: Item) -> Item:
    calls.append(obj)
    return Item(obj.key, obj.value * 2)


def test_transformer_sees_every_object_once() -> None:
    """FIFO-32: added, updated, deleted and listed objects are transformed; Sync and tombstones are not."""
    calls: list[Item] = []
    known = KnownItems([Item("old", 100)])
    fifo: DeltaFIFO[Item] = DeltaFIFO(
        key_func=item_key, known_objects=known, transformer=lambda obj: doubled(calls, obj)
    )
    fifo.add(Item("a", 1))
    fifo.update(Item("a", 2))
    fifo.delete(Item("a", 3))
    fifo.delete(tombstone(Item("old", 50)))
    fifo.replace([Item("b", 4)], "0")
    fifo.enqueue_batch([(ADDED, Item("c", 5))])
    assert pop_all(fifo) == [
        deltas((ADDED, Item("a", 2)), (UPDATED, Item("a", 4)), (DELETED, Item("a", 6))),
        deltas((DELETED, tombstone(Item("old", 50)))),
        deltas((SYNC, Item("b", 8))),
        deltas((ADDED, Item("c", 10))),
    ]
    fifo.resync()
    assert pop_all(fifo) == [deltas((SYNC, Item("old", 100)))]
    assert [call.value for call in calls] == [1, 2, 3, 4, 5]


def test_the_key_is_that_of_the_untransformed_object() -> None:
    """A transformer may drop what the key is made of."""
    fifo: DeltaFIFO[Item] = DeltaFIFO(key_func=item_key, transformer=lambda obj: Item("", obj.value))
    fifo.add(Item("a", 1))
    fifo.update(Item("a", 2))
    assert pop_all(fifo) == [deltas((ADDED, Item("", 1)), (UPDATED, Item("", 2)))]


def failing(obj: Item) -> Item:
    if obj.value < 0:
        raise ArithmeticError("negative")
    return obj


def test_a_replace_that_fails_changes_nothing() -> None:
    """A key or transformer error in a list queues none of it and leaves the FIFO unsynced."""
    fifo: DeltaFIFO[Item] = DeltaFIFO(key_func=item_key, transformer=failing)
    with pytest.raises(ArithmeticError, match="negative"):
        fifo.replace([Item("a", 1), Item("b", -1)], "0")
    with pytest.raises(StoreKeyError, match=r"couldn't create key for object .*bad key"):
        fifo.replace([Item("a", 1), Item("bad")], "0")
    assert len(fifo) == 0
    assert not fifo.has_synced()


@pytest.mark.parametrize("operation", ["add", "update", "delete"])
def test_an_object_without_a_key_is_refused(operation: str) -> None:
    """StoreKeyError, nothing queued, nothing marked as begun."""
    fifo = new_fifo()
    with pytest.raises(StoreKeyError):
        getattr(fifo, operation)(Item("bad"))
    assert len(fifo) == 0
    assert not fifo.has_synced()


def test_one_bad_event_does_not_stop_the_others_of_its_block() -> None:
    """RFIFO-14: the good events are queued, and the error tells of each bad one."""
    fifo: DeltaFIFO[Item] = DeltaFIFO(key_func=item_key, transformer=failing)
    with pytest.raises(ExceptionGroup, match="2 of 4 events not queued") as raised:
        fifo.enqueue_batch(
            [(ADDED, Item("a", 1)), (ADDED, Item("bad")), (UPDATED, Item("b", -1)), (UPDATED, Item("a", 2))]
        )
    assert [type(error) for error in raised.value.exceptions] == [StoreKeyError, ArithmeticError]
    assert pop_all(fifo) == [deltas((ADDED, Item("a", 1)), (UPDATED, Item("a", 2)))]


def test_a_block_of_bad_events_queues_nothing() -> None:
    """Not even has_synced changes."""
    fifo = new_fifo()
    with pytest.raises(ExceptionGroup, match="1 of 1 events not queued"):
        fifo.enqueue_batch([(ADDED, Item("bad"))])
    assert not fifo.has_synced()


def test_an_empty_block_is_nothing() -> None:
    """No events, no sign of a beginning."""
    fifo = new_fifo()
    fifo.enqueue_batch([])
    assert not fifo.has_synced()


def test_a_block_follows_the_rules_of_single_events() -> None:
    """Order, merging and dropped deletes are those of single calls; a delete sees the adds before it."""
    fifo = new_fifo(KnownItems([Item("known", 1)]))
    fifo.enqueue_batch(
        [
            (ADDED, Item("a", 1)),
            (DELETED, Item("unknown", 2)),
            (UPDATED, Item("a", 3)),
            (DELETED, Item("known", 4)),
            (ADDED, Item("b", 5)),
            (DELETED, Item("b", 6)),
        ]
    )
    assert fifo.has_synced()
    assert pop_all(fifo) == [
        deltas((ADDED, Item("a", 1)), (UPDATED, Item("a", 3))),
        deltas((DELETED, Item("known", 4))),
        deltas((ADDED, Item("b", 5)), (DELETED, Item("b", 6))),
    ]


def test_a_block_wakes_a_waiter_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many objects come at once, there is one wake-up."""
    fifo = new_fifo()
    wakes: list[int] = []
    notify_all = fifo._lock.notify_all

    def counted() -> None:
        wakes.append(1)
        notify_all()

    monkeypatch.setattr(fifo._lock, "notify_all", counted)
    fifo.enqueue_batch([(ADDED, Item(f"key-{number}")) for number in range(100)])
    fifo.replace([Item(f"key-{number}") for number in range(100)], "0")
    assert len(wakes) == 2


def test_a_batch_takes_what_is_queued() -> None:
    """RFIFO-07, RFIFO-11: one call gets all keys in order, each with its deltas and its flag."""
    fifo = new_fifo()
    fifo.replace([Item("1"), Item("2"), Item("3")], "0")
    fifo.update(Item("2", 9))
    batches: list[Batch] = []
    assert fifo.pop_batch(batches.append) == 3
    assert batches == [
        [
            (deltas((SYNC, Item("1"))), True),
            (deltas((SYNC, Item("2")), (UPDATED, Item("2", 9))), True),
            (deltas((SYNC, Item("3"))), True),
        ]
    ]
    assert fifo.has_synced()


def test_a_batch_is_bounded() -> None:
    """At most max_keys keys at once, 256 unless told otherwise."""
    fifo = new_fifo()
    fifo.enqueue_batch([(ADDED, Item(f"key-{number}")) for number in range(600)])
    sizes: list[int] = []
    while len(fifo):
        sizes.append(fifo.pop_batch(lambda _batch: None))
    assert sizes == [256, 256, 88]
    fifo.enqueue_batch([(ADDED, Item(f"key-{number}")) for number in range(3)])
    assert fifo.pop_batch(lambda _batch: None, 2) == 2
    assert len(fifo) == 1


def test_a_batch_may_cross_the_end_of_the_initial_list() -> None:
    """Each key carries its own flag: listed ones are initial, later ones are not."""
    fifo = new_fifo()
    fifo.replace([Item("1"), Item("2")], "0")
    fifo.update(Item("3"))
    flags: list[bool] = []
    fifo.pop_batch(lambda batch: flags.extend(is_initial for _, is_initial in batch))
    assert flags == [True, True, False]


def test_not_synced_while_the_last_initial_object_is_processed() -> None:
    """RFIFO-21: has_synced is false until process has returned."""
    fifo = new_fifo()
    fifo.replace([Item("1"), Item("2")], "0")
    seen: list[bool] = []
    fifo.pop_batch(lambda _batch: seen.append(fifo.has_synced()))
    assert seen == [False]
    assert fifo.has_synced()


def raise_error(_batch: Batch) -> None:
    raise ArithmeticError("processing failed")


def test_a_processing_error_drops_the_deltas() -> None:
    """What process raises goes to the caller; the keys are gone and count as processed."""
    fifo = new_fifo()
    fifo.replace([Item("1"), Item("2")], "0")
    with pytest.raises(ArithmeticError, match="processing failed"):
        fifo.pop_batch(raise_error)
    assert len(fifo) == 0
    assert fifo.has_synced()


def test_replace_waits_for_the_batch_in_processing() -> None:
    """A popped object is in the store before replace compares: it gets its tombstone, not oblivion."""
    known = KnownItems()
    fifo = new_fifo(known)
    fifo.add(FOO)
    in_process, replacing = threading.Event(), threading.Event()

    def store(batch: Batch) -> None:
        in_process.set()
        assert replacing.wait(DEADLINE_SECONDS)
        assert not replacer.has_ended()
        for popped, _ in batch:
            obj = popped[-1].object
            assert isinstance(obj, Item)
            known.items[obj.key] = obj

    def replace() -> None:
        assert in_process.wait(DEADLINE_SECONDS)
        replacing.set()
        fifo.replace([], "0")

    replacer = Background(replace)
    fifo.pop_batch(store)
    replacer.result()
    assert pop_all(fifo) == [deltas((DELETED, tombstone(FOO)))]


def test_pop_batch_gives_up_at_its_timeout() -> None:
    """Nothing queued until then: 0, and process is not called."""
    clock = FakeClock()
    fifo = new_fifo(clock=clock)
    popper = Background(lambda: fifo.pop_batch(raise_error, timeout_seconds=2.0))
    clock.wait_for_waiters(1)
    assert clock.deadlines() == [2.0]
    clock.advance(2.0)
    assert popper.result() == 0
    assert fifo.pop_batch(raise_error, timeout_seconds=0) == 0


def test_pop_batch_wakes_when_something_comes() -> None:
    """An add ends the wait, and the woken thread gets it."""
    clock = FakeClock()
    fifo = new_fifo(clock=clock)
    popper = Background(lambda: fifo.pop_batch(lambda _batch: None, timeout_seconds=2.0))
    clock.wait_for_waiters(1)
    clock.advance(1.0)
    fifo.add(FOO)
    assert popper.result() == 1


def test_two_waiters_get_a_key_each() -> None:
    """A wake-up that finds the queue drained by another waits on."""
    clock = FakeClock()
    fifo = new_fifo(clock=clock)
    poppers = [Background(lambda: fifo.pop_batch(lambda _batch: None, 1, 5.0)) for _ in range(2)]
    clock.wait_for_waiters(2)
    fifo.add(Item("1"))
    fifo.add(Item("2"))
    assert [popper.result() for popper in poppers] == [1, 1]


@pytest.mark.parametrize(
    ("waiting", "seconds", "reported"), [(12, 0.2, True), (10, 0.2, False), (12, 0.1, False)]
)
def test_slow_processing_of_a_long_queue_is_reported(waiting: int, seconds: float, reported: bool) -> None:
    """More than ten keys behind and more than 100 ms: one line that says how many and how long."""
    clock = FakeClock()
    fifo: DeltaFIFO[Item] = DeltaFIFO(key_func=item_key, name="foos", clock=clock)
    fifo.enqueue_batch([(ADDED, Item(f"key-{number}")) for number in range(waiting + 1)])
    with captured_logs() as entries:
        fifo.pop_batch(lambda _batch: clock.advance(seconds), 1)
    expected = {
        "event": "DeltaFIFO Pop Process",
        "id": "foos",
        "depth": waiting,
        "seconds": seconds,
        "log_level": "info",
    }
    assert entries == ([expected] if reported else [])


def test_a_fifo_is_drained_when_nothing_is_left() -> None:
    """Neither in line nor being processed."""
    fifo = new_fifo()
    assert fifo.is_drained()
    fifo.add(Item("a"))
    assert not fifo.is_drained()
    pop(fifo)
    assert fifo.is_drained()


def test_what_is_being_processed_is_waited_for() -> None:
    """The line is empty meanwhile: the answer comes once process has returned."""
    fifo = new_fifo()
    fifo.add(Item("a"))
    begun, go_on, processed = threading.Event(), threading.Event(), threading.Event()

    def process(_deltas: Deltas[Item], _is_initial: bool) -> None:
        begun.set()
        assert go_on.wait(DEADLINE_SECONDS)
        processed.set()

    popping = Background(lambda: fifo.pop(process))
    assert begun.wait(DEADLINE_SECONDS)
    asking = Background(lambda: (fifo.is_drained(), processed.is_set()))
    assert len(fifo) == 0
    go_on.set()
    assert asking.result() == (True, True)
    popping.result()
