from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handloop.informers.keys import StoreKeyError
from handloop.informers.store.heap import Heap, HeapClosed, ObjectNotFound
from support.plain_items import Item, item_key
from support.threads import Background, Waits


def new_heap(*items: Item) -> Heap[Item]:
    heap: Heap[Item] = Heap(item_key, lambda one, other: one.value < other.value)
    heap.add(*items)
    return heap


def pop_all(heap: Heap[Item]) -> list[Item]:
    return [heap.pop() for _ in heap.list_keys()]


def test_the_least_comes_first() -> None:
    """STO-23: in the order of less, however they were added. Follows TestHeapBasic, TestHeap_BulkAdd."""
    heap = new_heap(Item("e", 5), Item("a", 1), Item("c", 3))
    heap.add(Item("b", 2))
    heap.add(Item("d", 4))
    assert [item.key for item in pop_all(heap)] == ["a", "b", "c", "d", "e"]


@pytest.mark.parametrize("method", ["add", "update"])
def test_adding_a_key_again_moves_it(method: str) -> None:
    """STO-23: forward or back, once. Follows TestHeap_Add, TestHeap_Update."""
    heap = new_heap(Item("a", 1), Item("b", 2), Item("c", 3))
    getattr(heap, method)(Item("a", 9))
    getattr(heap, method)(Item("c", 0))
    assert pop_all(heap) == [Item("c", 0), Item("b", 2), Item("a", 9)]


def test_delete() -> None:
    """STO-23: by key, wherever it stands; a missing one is an error. Follows TestHeap_Delete."""
    heap = new_heap(Item("a", 1), Item("b", 2), Item("c", 3))
    heap.delete(Item("a"))
    heap.delete(Item("c"))
    with pytest.raises(ObjectNotFound, match=r"^object not found$"):
        heap.delete(Item("c"))
    assert pop_all(heap) == [Item("b", 2)]


def test_reading_takes_nothing_out() -> None:
    """Follows TestHeap_GetByKey, TestHeap_List, TestHeap_ListKeys."""
    heap = new_heap(Item("a", 1), Item("b", 2))
    assert heap.get_by_key("b") == Item("b", 2)
    assert heap.get_by_key("c") is None
    assert sorted(heap.list()) == [Item("a", 1), Item("b", 2)]
    assert sorted(heap.list_keys()) == ["a", "b"]


def test_adding_after_close() -> None:
    """STO-23: refused. Follows TestHeapAddAfterClose."""
    heap = new_heap(Item("a", 1))
    heap.close()
    with pytest.raises(HeapClosed, match=r"^heap is closed$"):
        heap.add(Item("b", 2))
    assert heap.list_keys() == ["a"]


def test_pop_from_a_closed_heap() -> None:
    """STO-23: what is there still comes; then the end. Follows TestHeapEmptyPop."""
    heap = new_heap(Item("a", 1))
    heap.close()
    assert heap.pop() == Item("a", 1)
    with pytest.raises(HeapClosed, match=r"^heap is closed$"):
        heap.pop()


def test_close_ends_a_blocked_pop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Follows TestHeap_Close."""
    heap = new_heap()
    waits = Waits(monkeypatch, heap._lock)
    popper = Background(heap.pop)
    waits.wait_for(1)
    heap.close()
    with pytest.raises(HeapClosed):
        popper.result()


def test_add_ends_a_blocked_pop(monkeypatch: pytest.MonkeyPatch) -> None:
    """The waiting thread gets what was added."""
    heap = new_heap()
    waits = Waits(monkeypatch, heap._lock)
    popper = Background(heap.pop)
    waits.wait_for(1)
    heap.add(Item("a", 1))
    assert popper.result() == Item("a", 1)


def test_objects_without_keys_are_refused_together() -> None:
    """All are added or none."""
    heap = new_heap()
    with pytest.raises(StoreKeyError):
        heap.add(Item("a"), Item("bad"))
    with pytest.raises(StoreKeyError):
        heap.delete(Item("bad"))
    assert heap.list_keys() == []


def test_moved_objects_leave_no_pile_behind() -> None:
    """Moving one key for ever needs no more memory than a few entries."""
    heap = new_heap(Item("b", 5000))
    for value in range(1000):
        heap.add(Item("a", value))
    assert len(heap._heap) <= 5
    assert pop_all(heap) == [Item("a", 999), Item("b", 5000)]


OPERATIONS = st.lists(
    st.tuples(st.sampled_from(["add", "delete", "pop"]), st.sampled_from("abcde"), st.integers(0, 9))
)


@given(OPERATIONS)
def test_against_a_dict(operations: list[tuple[str, str, int]]) -> None:
    """Whatever is done, the heap holds what a dict would, and gives one of the least."""
    heap, model = new_heap(), dict[str, Item]()
    for operation, key, value in operations:
        if operation == "add":
            heap.add(Item(key, value))
            model[key] = Item(key, value)
        elif operation == "delete" and key in model:
            heap.delete(Item(key))
            del model[key]
        elif operation == "pop" and model:
            popped = heap.pop()
            assert popped.value == min(item.value for item in model.values())
            assert model.pop(popped.key) == popped
        assert sorted(heap.list()) == sorted(model.values())
        assert len(heap._heap) <= 2 * len(model) + 2
