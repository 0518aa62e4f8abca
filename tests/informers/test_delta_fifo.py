"""
DeltaFIFO, scenario by scenario.

Lists reach the FIFO keyed and transformed; test_initial_list.py covers failures of that.

Not every scenario of client-go's RealFIFO has a subject here: that FIFO keeps every delta in the order of
arrival, this one merges the deltas of a key. What differs from upstream's tests of both:

    known objects      an informer always has its store: without known objects it is an empty one
    listed objects     are always Replaced, also where upstream's default is Sync
    key of deltas      has no caller; test_keys.py has objects and tombstones
    order              three changes of a key are one pop; tombstones come after the listed objects
    unknown object     its delete is dropped
    batches            a key has one place in line, and its own flag for the initial list
    atomic events      ReplacedAll, SyncAll, bookmarks in the queue and their options do not exist
    lock               is always held while a batch is processed: replace() relies on it
"""

from __future__ import annotations

import re
import threading

import pytest

from handloop.informers.delta_fifo import Delta, Deltas, DeltaType, FIFOClosed
from handloop.informers.keys import DeletedFinalStateUnknown, StoreKeyError
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.checks.threads import DEADLINE_SECONDS, Background, Waits
from support.doubles.plain_items import Item, ItemFIFO, KnownItems, deltas, tombstone

ADDED, UPDATED, DELETED = DeltaType.ADDED, DeltaType.UPDATED, DeltaType.DELETED
REPLACED, SYNC = DeltaType.REPLACED, DeltaType.SYNC

Batch = list[tuple[Deltas[Item], bool]]


def pop_all(fifo: ItemFIFO) -> list[Deltas[Item]]:
    return [fifo.pop()[0] for _ in range(len(fifo))]


FOO = Item("foo", 10)

WORDS = {"+": ADDED, "~": UPDATED, "-": DELETED, "=": REPLACED, "*": SYNC}
STORIES = """
FIFO-01: deltas of a key are popped together, oldest first |  | +foo1 ~foo2 -foo3 | foo: +1 ~2 -3
FIFO-02: a queued delete stays first, before a list | foo1 | -foo1 list:foo2 | foo: -1 =2
FIFO-03, RFIFO-02: queued, not listed: a tombstone with the queued state |  | +foo1 list: | foo: +1 x1
FIFO-04: deltas of a list can be told from those of a resync |  | +foo1 list:foo1 list: | foo: +1 =1 x1
FIFO-05: a tombstone after a real delete says nothing new |  | +foo1 -foo1 list: | foo: +1 -1
FIFO-06: listed states are not merged |  | +foo1 list:foo1 list:foo1 list: | foo: +1 =1 =1 x1
FIFO-07: two tombstones in a row are one, and wrap none |  | +foo1 list: list: | foo: +1 x1
FIFO-08: a recreated object is deleted again |  | +foo1 -foo1 +foo2 list: | foo: +1 -1 +2 x2
a real delete supersedes a tombstone: it knows the final state |  | +foo1 list: -foo2 | foo: +1 -2
FIFO-09: a delete of a key neither known nor queued is dropped |  | +foo1 ~bar1 -baz1 | foo: +1; bar: ~1
FIFO-10: a delete of a known key is queued | foo1 bar1 baz1 | +foo2 ~bar2 -baz2 | foo: +2; bar: ~2; baz: -2
FIFO-11: a listed key that is queued is popped once |  | +foo1 list:foo2 | foo: +1 =2
FIFO-12: a key about to be deleted is not synced | foo1 | -foo1 resync | foo: -1
FIFO-13: an idle known key gets one Sync | foo1 | resync | foo: *1
FIFO-14: a delete of a queued key is not dropped |  | +foo1 -foo2 | foo: +1 -2
FIFO-15: known and not listed: a tombstone | foo5 bar6 baz7 | -baz8 list:foo5 | baz: -8; foo: =5; bar: x6
FIFO-16: the queued state is newer than the known one | foo5 baz7 | +baz8 list:foo5 | baz: +8 x8; foo: =5
FIFO-17: the newest queued delta decides | foo5 bar6 | -bar6 +bar7 list:foo5 | bar: -6 +7 x7; foo: =5
FIFO-18: listed first, then no more | bar6 | list:bar7,foo5 list:foo5 | bar: =7 x7; foo: =5 =5
FIFO-19: a listed known object is Replaced | foo1 | list:foo1 | foo: =1
FIFO-20, RFIFO-06: a newer state is queued, so no Sync | foo1 | ~foo2 resync | foo: ~2
"""


def items(text: str) -> list[Item]:
    return [Item(key, int(value)) for key, value in re.findall(r"([a-z]+)(\d+)", text)]


def shown(popped: Deltas[Item]) -> str:
    """`foo: +1 x1`; x is a tombstone."""
    key = popped[0].object.key
    words = []
    for kind, obj in popped:
        if isinstance(obj, Item):
            words.append(next(word for word, meant in WORDS.items() if meant is kind) + str(obj.value))
        else:
            assert (kind, obj.key, type(obj.obj)) == (DELETED, key, Item)
            words.append(f"x{obj.obj.value}" if obj.obj else "x")
    return f"{key}: {' '.join(words)}"


@pytest.mark.parametrize("story", STORIES.strip().splitlines(), ids=lambda story: story.partition(" |")[0])
def test_what_is_popped(story: str) -> None:
    """A row: claim, known items, steps, popped deltas. FIFO: client-go's TestDeltaFIFO."""
    _, known, steps, popped = story.split("|")
    fifo = ItemFIFO(KnownItems(items(known)))
    for step in steps.split():
        if step == "resync":
            fifo.resync()
        elif step.startswith("list:"):
            fifo.relist(*items(step.removeprefix("list:")))
        else:
            fifo.enqueue_batch([(WORDS[step[0]], obj) for obj in items(step)])
    assert "; ".join(map(shown, pop_all(fifo))) == popped.strip()


class VanishingItems(KnownItems):
    """Known keys whose objects are gone when asked for."""

    def get_by_key(self, key: str) -> Item | None:
        return None


def test_an_object_that_vanishes_during_a_resync_is_skipped() -> None:
    """A key without a known object gets no Sync, but a line in the log."""
    fifo = ItemFIFO(VanishingItems([FOO]))
    with captured_logs() as entries:
        fifo.resync()
    assert len(fifo) == 0
    assert [entry["event"] for entry in entries] == ["Key does not exist in known objects store"]


def test_an_object_that_vanishes_during_a_replace_gets_an_empty_tombstone() -> None:
    """The deletion is delivered all the same, with no known state; and it counts for has_synced."""
    fifo = ItemFIFO(VanishingItems([FOO]))
    fifo.relist()
    assert not fifo.has_synced()
    assert pop_all(fifo) == [[Delta(DELETED, DeletedFinalStateUnknown("foo", None))]]
    assert fifo.has_synced()


def test_deletions_of_the_first_replace_count_for_has_synced() -> None:
    """
    Synced only after the deletions, which are initial too.

    Follows TestDeltaFIFO_HasSyncedCorrectOnDeletion.
    """
    fifo = ItemFIFO(KnownItems([FOO, Item("bar", 6), Item("baz", 7)]))
    fifo.relist(FOO)
    for _ in range(3):
        assert not fifo.has_synced()
        assert fifo.pop()[1]
    assert fifo.has_synced()


def test_a_first_list_that_names_an_object_twice_counts_it_once() -> None:
    """
    Keys are waited for, not objects.

    Follows kubernetes#96797.
    """
    fifo = ItemFIFO()
    fifo.relist(FOO, Item("foo", 11))
    assert len(pop_all(fifo)) == 1
    assert fifo.has_synced()


def test_a_resync_before_the_first_list_does_not_sync() -> None:
    """Resynced keys are no list: they are handed on as initial, and the list that follows is waited for."""
    fifo = ItemFIFO(KnownItems([FOO]))
    fifo.resync()
    assert fifo.pop()[1]
    assert not fifo.has_synced()
    fifo.relist(FOO)
    assert not fifo.has_synced()
    fifo.pop()
    assert fifo.has_synced()


def test_close_ends_all_blocked_pops(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Every thread blocked in pop learns that the FIFO is closed.

    Follows TestDeltaFIFO_PopShouldUnblockWhenClosed.
    """
    fifo = ItemFIFO()
    waits = Waits(monkeypatch, fifo._lock)
    threads = [Background(fifo.pop) for _ in range(10)]
    waits.wait_for(10)
    fifo.close()
    for thread in threads:
        with pytest.raises(FIFOClosed, match=r"^DeltaFIFO: manipulating with closed queue$"):
            thread.result()


def test_a_closed_fifo_gives_what_it_has() -> None:
    """Closing loses nothing, and adding still works."""
    fifo = ItemFIFO()
    fifo.add(Item("a", 1))
    fifo.close()
    fifo.add(Item("b", 2))
    assert pop_all(fifo) == [deltas((ADDED, Item("a", 1))), deltas((ADDED, Item("b", 2)))]
    with pytest.raises(FIFOClosed):
        fifo.pop()


def doubled(calls: list[Item], obj: Item) -> Item:
    calls.append(obj)
    return Item(obj.key, obj.value * 2)


def test_transformer_sees_every_object_once() -> None:
    """Those of watch events; Sync, tombstones and the kept objects of a list do not pass it."""
    calls: list[Item] = []
    known = KnownItems([Item("old", 100)])
    fifo = ItemFIFO(known, transformer=lambda obj: doubled(calls, obj))
    fifo.add(Item("a", 1))
    fifo.update(Item("a", 2))
    fifo.delete(Item("a", 3))
    fifo.delete(tombstone(Item("old", 50)))
    fifo.relist(Item("b", 4))
    fifo.enqueue_batch([(ADDED, Item("c", 5))])
    assert pop_all(fifo) == [
        deltas((ADDED, Item("a", 2)), (UPDATED, Item("a", 4)), (DELETED, Item("a", 6))),
        deltas((DELETED, tombstone(Item("old", 50)))),
        deltas((REPLACED, Item("b", 4))),
        deltas((ADDED, Item("c", 10))),
    ]
    fifo.resync()
    assert pop_all(fifo) == [deltas((SYNC, Item("old", 100)))]
    assert [call.value for call in calls] == [1, 2, 3, 5]


def test_the_key_is_that_of_the_untransformed_object() -> None:
    """A transformer may drop what the key is made of."""
    fifo = ItemFIFO(transformer=lambda obj: Item("", obj.value))
    fifo.add(Item("a", 1))
    fifo.update(Item("a", 2))
    assert pop_all(fifo) == [deltas((ADDED, Item("", 1)), (UPDATED, Item("", 2)))]


def failing(obj: Item) -> Item:
    if obj.value < 0:
        raise ArithmeticError("negative")
    return obj


@pytest.mark.parametrize("operation", ["add", "update", "delete"])
def test_an_object_without_a_key_is_refused(operation: str) -> None:
    """StoreKeyError, nothing queued, nothing marked as begun."""
    fifo = ItemFIFO()
    with pytest.raises(ExceptionGroup) as raised:
        getattr(fifo, operation)(Item("bad"))
    assert [type(error) for error in raised.value.exceptions] == [StoreKeyError]
    assert len(fifo) == 0
    assert not fifo.has_synced()


def test_one_bad_event_does_not_stop_the_others_of_its_block() -> None:
    """The good events are queued, and the error names each bad one."""
    fifo = ItemFIFO(transformer=failing)
    with pytest.raises(ExceptionGroup, match="2 of 4 events not queued") as raised:
        fifo.enqueue_batch(
            [(ADDED, Item("a", 1)), (ADDED, Item("bad")), (UPDATED, Item("b", -1)), (UPDATED, Item("a", 2))]
        )
    assert [type(error) for error in raised.value.exceptions] == [StoreKeyError, ArithmeticError]
    assert pop_all(fifo) == [deltas((ADDED, Item("a", 1)), (UPDATED, Item("a", 2)))]


def test_a_block_of_bad_events_queues_nothing() -> None:
    """Not even has_synced changes; nor does it with an empty block."""
    fifo = ItemFIFO()
    with pytest.raises(ExceptionGroup, match="1 of 1 events not queued"):
        fifo.enqueue_batch([(ADDED, Item("bad"))])
    fifo.enqueue_batch([])
    assert not fifo.has_synced()


def test_a_block_wakes_a_waiter_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many objects come at once, there is one wake-up."""
    fifo = ItemFIFO()
    wakes: list[int] = []
    notify_all = fifo._lock.notify_all

    def counted() -> None:
        wakes.append(1)
        notify_all()

    monkeypatch.setattr(fifo._lock, "notify_all", counted)
    fifo.enqueue_batch([(ADDED, Item(f"key-{number}")) for number in range(100)])
    fifo.relist(*(Item(f"key-{number}") for number in range(100)))
    assert len(wakes) == 2


def test_a_batch_is_bounded() -> None:
    """At most max_keys keys at once, 256 by default."""
    fifo = ItemFIFO()
    fifo.enqueue_batch([(ADDED, Item(f"key-{number}")) for number in range(600)])
    sizes: list[int] = []
    while len(fifo):
        sizes.append(fifo.pop_batch(lambda _batch: None))
    assert sizes == [256, 256, 88]
    fifo.enqueue_batch([(ADDED, Item(f"key-{number}")) for number in range(3)])
    assert fifo.pop_batch(lambda _batch: None, 2) == 2
    assert len(fifo) == 1


def test_not_synced_while_the_last_initial_object_is_processed() -> None:
    """has_synced is false until process has returned."""
    fifo = ItemFIFO()
    fifo.relist(Item("1"), Item("2"))
    seen: list[bool] = []
    fifo.pop_batch(lambda _batch: seen.append(fifo.has_synced()))
    assert seen == [False]
    assert fifo.has_synced()


def raise_error(_batch: Batch) -> None:
    raise ArithmeticError("processing failed")


def test_a_processing_error_drops_the_deltas() -> None:
    """An error of process goes to the caller; the keys are gone and count as processed."""
    fifo = ItemFIFO()
    fifo.relist(Item("1"), Item("2"))
    with pytest.raises(ArithmeticError, match="processing failed"):
        fifo.pop_batch(raise_error)
    assert len(fifo) == 0
    assert fifo.has_synced()


def test_pop_batch_gives_up_at_its_timeout() -> None:
    """Nothing queued until then: 0, and process is not called."""
    clock = FakeClock()
    fifo = ItemFIFO(clock=clock)
    popper = Background(lambda: fifo.pop_batch(raise_error, timeout_seconds=2.0))
    clock.wait_for_waiters(1)
    assert clock.deadlines() == [2.0]
    clock.advance(2.0)
    assert popper.result() == 0
    assert fifo.pop_batch(raise_error, timeout_seconds=0) == 0


def test_two_waiters_get_a_key_each() -> None:
    """A wake-up that finds the queue drained by another waits on."""
    clock = FakeClock()
    fifo = ItemFIFO(clock=clock)
    poppers = [Background(lambda: fifo.pop_batch(lambda _batch: None, 1, 5.0)) for _ in range(2)]
    clock.wait_for_waiters(2)
    fifo.add(Item("1"))
    fifo.add(Item("2"))
    assert [popper.result() for popper in poppers] == [1, 1]


@pytest.mark.parametrize(
    ("waiting", "seconds", "reported"), [(12, 0.2, True), (10, 0.2, False), (12, 0.1, False)]
)
def test_slow_processing_of_a_long_queue_is_reported(waiting: int, seconds: float, reported: bool) -> None:
    """More than ten keys behind and more than 100 ms: one line with both numbers."""
    clock = FakeClock()
    fifo = ItemFIFO(name="foos", clock=clock)
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
    fifo = ItemFIFO()
    assert fifo.is_drained()
    fifo.add(Item("a"))
    assert not fifo.is_drained()
    fifo.pop()
    assert fifo.is_drained()


def test_what_is_being_processed_is_waited_for() -> None:
    """The line is empty meanwhile: the answer comes once process has returned."""
    fifo = ItemFIFO()
    fifo.add(Item("a"))
    begun, go_on, processed = threading.Event(), threading.Event(), threading.Event()

    def process(_batch: Batch) -> None:
        begun.set()
        assert go_on.wait(DEADLINE_SECONDS)
        processed.set()

    popping = Background(lambda: fifo.pop_batch(process))
    assert begun.wait(DEADLINE_SECONDS)
    asking = Background(lambda: (fifo.is_drained(), processed.is_set()))
    assert len(fifo) == 0
    go_on.set()
    assert asking.result() == (True, True)
    popping.result()


# -- what several changes of one object are together
