from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handloop.workqueue.priority_queue import LOW_PRIORITY, PriorityOrder


def pop_all(order: PriorityOrder[str]) -> list[str]:
    return [order.pop()[0] for _ in range(len(order.waiting))]


def test_higher_priorities_first_and_first_in_first_out_within_one() -> None:
    """Items come by priority, and in the order of pushes within a priority."""
    order: PriorityOrder[str] = PriorityOrder()
    for item, priority in (("a", LOW_PRIORITY), ("b", 0), ("c", 5), ("d", 0), ("e", LOW_PRIORITY)):
        order.push(item, priority)
    assert order.depths() == {LOW_PRIORITY: 2, 0: 2, 5: 1}

    assert pop_all(order) == ["c", "b", "d", "a", "e"]
    assert order.depths() == {}


def test_a_waiting_item_rises_but_never_falls() -> None:
    """A higher wish moves a waiting item to the end of the higher level; a lower one changes nothing."""
    order: PriorityOrder[str] = PriorityOrder()
    order.push("low", LOW_PRIORITY)
    order.push("default", 0)
    order.rise("low", 0)
    order.rise("default", LOW_PRIORITY)

    assert order.depths() == {0: 2}
    assert pop_all(order) == ["default", "low"]


def test_a_waiting_item_that_is_wanted_as_before_keeps_its_place() -> None:
    """An item that changes all the time is not sent to the back of its level each time."""
    order: PriorityOrder[str] = PriorityOrder()
    order.push("changing", 0)
    order.push("other", 0)
    order.rise("changing", 0)

    assert pop_all(order) == ["changing", "other"]


def test_the_oldest_item_is_overtaken_a_bounded_number_of_times() -> None:
    """With urgent items without end, every fourth pop takes the item that waits longest."""
    order: PriorityOrder[str] = PriorityOrder(max_overtakes=3)
    for item in ("low-0", "low-1"):
        order.push(item, LOW_PRIORITY)
    popped = []
    for n in range(9):
        order.push(f"urgent-{n}", 10)
        popped.append(order.pop()[0])

    assert popped[3] == "low-0"
    assert popped[7] == "low-1"
    assert all(item.startswith("urgent") for item in popped[:3] + popped[4:7] + popped[8:])


def test_an_item_that_rises_keeps_its_age() -> None:
    """Rising does not send an item to the back of the line of ageing."""
    order: PriorityOrder[str] = PriorityOrder(max_overtakes=1)
    order.push("old", LOW_PRIORITY)
    order.push("younger", LOW_PRIORITY)
    order.rise("old", -50)
    order.push("urgent-0", 0)
    order.push("urgent-1", 0)

    assert [order.pop()[0] for _ in range(2)] == ["urgent-0", "old"]


@given(
    max_overtakes=st.integers(0, 5),
    backlog=st.lists(st.integers(-3, 3), min_size=1, max_size=20),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=100, deadline=None, derandomize=True, database=None)
def test_no_item_waits_longer_than_the_bound(max_overtakes: int, backlog: list[int], seed: int) -> None:
    """The item with m older ones leaves within (m + 1) * (max_overtakes + 1) pops, for any later pushes."""
    rng = random.Random(seed)
    order: PriorityOrder[str] = PriorityOrder(max_overtakes=max_overtakes)
    for n, priority in enumerate(backlog):
        order.push(f"backlog-{n}", priority)
    left: dict[str, int] = {}
    for pops in range(1, len(backlog) * (max_overtakes + 1) + 1):
        for n in range(rng.randrange(3)):
            order.push(f"new-{pops}-{n}", rng.randrange(-2, 10))
        if order.waiting:
            left[order.pop()[0]] = pops

    for n in range(len(backlog)):
        assert left[f"backlog-{n}"] <= (n + 1) * (max_overtakes + 1)


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_lost_or_doubled(seed: int) -> None:
    """In any order of operations, each pushed item is popped once, and the levels add up."""
    rng = random.Random(seed)
    order: PriorityOrder[str] = PriorityOrder(max_overtakes=rng.randrange(4))
    waiting: set[str] = set()
    for _ in range(300):
        item = rng.choice("abcdefgh")
        if rng.random() < 0.6:
            if item in order.waiting:
                order.rise(item, rng.randrange(-2, 3))
            else:
                order.push(item, rng.randrange(-2, 3))
                waiting.add(item)
        elif waiting:
            waiting.remove(order.pop()[0])
        assert {*order.waiting} == waiting
        assert len(order.waiting) == len(waiting) == sum(order.depths().values())

    assert set(pop_all(order)) == waiting
