from __future__ import annotations

from collections.abc import Iterator

import pytest

from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.priority_queue import LOW_PRIORITY, PriorityQueue
from handloop.workqueue.queue import ShutDown
from support.builders.queues import assert_nothing_comes_within, priority_queue
from support.checks.threads import Background
from support.checks.told_steps import NO, told_steps


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def queue(clock: FakeClock) -> Iterator[PriorityQueue[str]]:
    with priority_queue(seams=Seams(clock=clock)) as queue:
        yield queue


def wait_for_depths(queue: PriorityQueue[str], expected: dict[int, int]) -> None:
    """Get and add back until the loop has handed over what it will: a blocking get is the wait."""
    item = Background(queue.get).result()
    priority = queue._in_flight[item]
    queue.add(item, priority=priority)
    queue.done(item)
    assert queue.depths() == expected


def test_the_initial_list_yields_to_fresh_events(queue: PriorityQueue[str]) -> None:
    """A change that comes after ten thousand listed objects is handed out first."""
    queue.add_all((f"listed-{n}" for n in range(10_000)), priority=LOW_PRIORITY)
    queue.add("fresh")

    assert queue.get() == "fresh"
    assert queue.get() == "listed-0"


def test_a_fresh_event_raises_a_listed_item(queue: PriorityQueue[str]) -> None:
    """An item of the initial list that changes is served with the fresh ones, once."""
    queue.add_all(["a", "b"], priority=LOW_PRIORITY)
    queue.add("b")
    assert queue.depths() == {LOW_PRIORITY: 1, 0: 1}

    assert [queue.get(), queue.get()] == ["b", "a"]
    assert len(queue) == 0


def test_the_order_without_one_given_ages() -> None:
    """By default every tenth pop takes the item that waits longest."""
    queue = priority_queue()
    queue.add("listed", priority=LOW_PRIORITY)
    queue.add_all(f"fresh-{n}" for n in range(20))
    popped = [queue.get() for _ in range(10)]

    assert popped == [*(f"fresh-{n}" for n in range(9)), "listed"]


def test_added_again_while_in_flight_has_the_priority_of_that_add(
    queue: PriorityQueue[str], clock: FakeClock
) -> None:
    """A fresh event for a listed item in flight brings it back as fresh; done settles its own priority."""
    queue.add("a", priority=LOW_PRIORITY)
    assert queue.get() == "a"
    queue.add("a")
    queue.done("a")

    assert queue.depths() == {0: 1}
    assert queue.get() == "a"
    queue.add_after("a", 1)
    queue.done("a")
    clock.advance(1)
    wait_for_depths(queue, {0: 1})


def test_a_failed_item_keeps_its_priority(queue: PriorityQueue[str], clock: FakeClock) -> None:
    """Added back rate limited, a listed item is still one; delayed with a priority given it has that one."""
    queue.add_all(["a", "b"], priority=LOW_PRIORITY)
    assert [queue.get(), queue.get()] == ["a", "b"]
    queue.add_rate_limited("a")
    queue.add_after("b", 1, priority=3)
    for item in ("a", "b"):
        queue.done(item)
    clock.advance(1)

    wait_for_depths(queue, {LOW_PRIORITY: 1, 3: 1})
    assert queue.num_requeues("a") == 1


def test_a_failed_item_is_told_with_its_error(queue: PriorityQueue[str]) -> None:
    """As by the other queue: step (11), with the real delay."""
    with told_steps() as told:
        try:
            int("no")
        except ValueError:
            queue.add_rate_limited("a", at_least_seconds=7)
    assert [facts for number, *_, facts in told if number == 11] == [
        {"seconds": 7, "failures": 1, "error": NO}
    ]


def test_a_delayed_item_has_the_highest_priority_asked_for(
    queue: PriorityQueue[str], clock: FakeClock
) -> None:
    """Of several delayed adds the earliest time and the highest priority count, for one delivery."""
    queue.add_after("a", 1, priority=LOW_PRIORITY)
    queue.add_after("a", 2, priority=4)
    queue.add_after("a", 3)
    clock.advance(1)
    wait_for_depths(queue, {4: 1})
    assert queue.get() == "a"
    queue.done("a")

    queue.add_after("a", 1, priority=LOW_PRIORITY)
    clock.advance(1)
    wait_for_depths(queue, {LOW_PRIORITY: 1})


def test_an_add_takes_the_place_of_a_delayed_one(queue: PriorityQueue[str], clock: FakeClock) -> None:
    """Whatever was to come later comes now, once, with the higher of the two priorities."""
    queue.add_after("a", 5, priority=4)
    queue.add("a", priority=LOW_PRIORITY)
    assert queue.depths() == {4: 1}
    assert queue.statistics().delayed == 0
    queue.done(queue.get())

    assert_nothing_comes_within(queue, clock, 5)


def test_a_delayed_add_joins_an_item_that_waits(queue: PriorityQueue[str], clock: FakeClock) -> None:
    """An item that is about to be handed out does not come a second time; the higher priority counts."""
    queue.add("a", priority=LOW_PRIORITY)
    queue.add_after("a", 5, priority=4)
    assert queue.depths() == {4: 1}
    queue.done(queue.get())

    assert_nothing_comes_within(queue, clock, 5)


def test_a_delayed_add_joins_an_item_that_was_added_again_in_flight(
    queue: PriorityQueue[str], clock: FakeClock
) -> None:
    """An event that came during the work brings the item back at done; the delayed add adds nothing."""
    queue.add("a")
    queue.get()
    queue.add("a")
    queue.add_after("a", 5)
    queue.done("a")
    queue.done(queue.get())

    assert_nothing_comes_within(queue, clock, 5)


def test_an_item_added_again_in_flight_counts_as_depth(queue: PriorityQueue[str]) -> None:
    """As in the metric of upstream. len leaves the item out, because no get can have it yet."""
    queue.add("a", priority=LOW_PRIORITY)
    queue.get()
    assert queue.depths() == {}
    queue.add("a", priority=3)
    queue.add("a", priority=LOW_PRIORITY)
    assert queue.depths() == {3: 1}
    assert len(queue) == 0
    queue.add("a", priority=4)
    queue.done("a")
    assert queue.depths() == {4: 1}


def test_a_delayed_item_is_no_depth(queue: PriorityQueue[str]) -> None:
    """The metric shows what could be worked on now, not what waits for its time."""
    queue.add_after("a", 0.5, priority=3)
    queue.add("b")
    queue.get()
    queue.add_after("b", 5)

    assert queue.depths() == {}


def test_an_item_added_again_in_flight_waits_behind_those_that_have_not_been_out(
    queue: PriorityQueue[str],
) -> None:
    """Its place in line counts from done, so that an item that always changes does not come before others."""
    queue.add("hot")
    queue.get()
    queue.add("hot")
    queue.add("b")
    queue.done("hot")

    assert [queue.get(), queue.get()] == ["b", "hot"]


def test_no_delay_is_an_add_with_the_priority(queue: PriorityQueue[str]) -> None:
    """A delay of zero queues at once, with the given priority."""
    queue.add_after("a", 0, priority=LOW_PRIORITY)

    assert queue.depths() == {LOW_PRIORITY: 1}


def test_adds_are_ignored_while_shutting_down(queue: PriorityQueue[str]) -> None:
    """After the shutdown neither adds nor delayed adds leave anything behind, or raise what waits."""
    queue.add("waits", priority=LOW_PRIORITY)
    queue.shut_down()
    for item in ("a", "waits"):
        queue.add(item)
        queue.add_after(item, 1)
        queue.add_after(item, 0)

    assert queue.depths() == {LOW_PRIORITY: 1}
    assert queue.get() == "waits"
    with pytest.raises(ShutDown):
        queue.get()
