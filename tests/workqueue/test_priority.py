from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloop.workqueue.priority import LOW_PRIORITY, PriorityOrder


def push(order: PriorityOrder[str], item: str, priority: int = 0) -> None:
    order.prefer(item, priority)
    order.push(item)


def pop_all(order: PriorityOrder[str]) -> list[str]:
    return [order.pop() for _ in range(len(order))]


def test_higher_priorities_first_and_first_in_first_out_within_one() -> None:
    """Items come by priority, and in the order of pushes within a priority."""
    order: PriorityOrder[str] = PriorityOrder()
    for item, priority in (("a", LOW_PRIORITY), ("b", 0), ("c", 5), ("d", 0), ("e", LOW_PRIORITY)):
        push(order, item, priority)
    assert order.depths() == {LOW_PRIORITY: 2, 0: 2, 5: 1}

    assert pop_all(order) == ["c", "b", "d", "a", "e"]
    assert order.depths() == {}


def test_a_waiting_item_rises_but_never_falls() -> None:
    """A higher wish moves a waiting item to the end of the higher level; a lower one changes nothing."""
    order: PriorityOrder[str] = PriorityOrder()
    push(order, "low", LOW_PRIORITY)
    push(order, "default")
    order.prefer("low", 0)
    order.touch("low")
    order.prefer("default", LOW_PRIORITY)
    order.touch("default")

    assert order.depths() == {0: 2}
    assert pop_all(order) == ["default", "low"]


def test_a_waiting_item_that_is_wanted_as_before_keeps_its_place() -> None:
    """An item that changes all the time is not sent to the back of its level each time."""
    order: PriorityOrder[str] = PriorityOrder()
    push(order, "changing")
    push(order, "other")
    order.prefer("changing", 0)
    order.touch("changing")

    assert pop_all(order) == ["changing", "other"]


def test_the_highest_wish_before_a_push_counts_for_that_push_only() -> None:
    """Wishes for an item that does not wait are kept for its next push; the one after has the default."""
    order: PriorityOrder[str] = PriorityOrder()
    order.prefer("a", LOW_PRIORITY)
    order.prefer("a", 7)
    order.prefer("a", 3)
    order.push("a")
    assert order.depths() == {7: 1}
    assert order.pop() == "a"
    order.push("a")

    assert order.depths() == {0: 1}


def test_the_priority_in_flight_is_remembered_until_settled() -> None:
    """What is handed out keeps its priority until it is given back; what is not in flight has the default."""
    order: PriorityOrder[str] = PriorityOrder()
    push(order, "a", LOW_PRIORITY)
    assert order.priority_in_flight("a") == 0
    order.pop()
    assert order.priority_in_flight("a") == LOW_PRIORITY
    order.settle("a")
    order.settle("a")

    assert order.priority_in_flight("a") == 0


def test_the_oldest_item_is_overtaken_a_bounded_number_of_times() -> None:
    """With urgent items without end, every fourth pop takes the item that waits longest."""
    order: PriorityOrder[str] = PriorityOrder(max_overtakes=3)
    for item in ("low-0", "low-1"):
        push(order, item, LOW_PRIORITY)
    popped = []
    for n in range(9):
        push(order, f"urgent-{n}", 10)
        popped.append(order.pop())

    assert popped[3] == "low-0"
    assert popped[7] == "low-1"
    assert all(item.startswith("urgent") for item in popped[:3] + popped[4:7] + popped[8:])


def test_an_item_that_rises_keeps_its_age() -> None:
    """Rising does not send an item to the back of the line of ageing."""
    order: PriorityOrder[str] = PriorityOrder(max_overtakes=1)
    push(order, "old", LOW_PRIORITY)
    push(order, "younger", LOW_PRIORITY)
    order.prefer("old", -50)
    push(order, "urgent-0")
    push(order, "urgent-1")

    assert [order.pop() for _ in range(2)] == ["urgent-0", "old"]


@given(
    max_overtakes=st.integers(0, 5),
    backlog=st.lists(st.integers(-3, 3), min_size=1, max_size=20),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=100, deadline=None, derandomize=True, database=None)
def test_no_item_waits_longer_than_the_bound(max_overtakes: int, backlog: list[int], seed: int) -> None:
    """The item with m older ones leaves within (m + 1) * (max_overtakes + 1) pops, whatever else comes."""
    rng = random.Random(seed)
    order: PriorityOrder[str] = PriorityOrder(max_overtakes=max_overtakes)
    for n, priority in enumerate(backlog):
        push(order, f"backlog-{n}", priority)
    left: dict[str, int] = {}
    for pops in range(1, len(backlog) * (max_overtakes + 1) + 1):
        for n in range(rng.randrange(3)):
            push(order, f"new-{pops}-{n}", rng.randrange(-2, 10))
        if len(order):
            left[order.pop()] = pops

    for n in range(len(backlog)):
        assert left[f"backlog-{n}"] <= (n + 1) * (max_overtakes + 1)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_or_doubled(seed: int) -> None:
    """Whatever the order of operations, what was pushed is popped once, and the levels add up."""
    rng = random.Random(seed)
    order: PriorityOrder[str] = PriorityOrder(max_overtakes=rng.randrange(4))
    waiting: set[str] = set()
    for _ in range(300):
        item = rng.choice("abcdefgh")
        if rng.random() < 0.6:
            order.prefer(item, rng.randrange(-2, 3))
            if item in waiting:
                order.touch(item)
            else:
                order.push(item)
                waiting.add(item)
        elif waiting:
            waiting.remove(order.pop())
        assert len(order) == len(waiting) == sum(order.depths().values())

    assert set(pop_all(order)) == waiting
