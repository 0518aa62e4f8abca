"""workqueue_depth: counted for plain queues, asked for per priority for priority queues."""

from __future__ import annotations

import pytest

from handloop.controller.runtime.metrics.controller_metrics import EXCEEDED, MAX_PRIORITIES, QueueDepth
from handloop.workqueue.priority_queue import PriorityQueue
from handloop.workqueue.rate_limiters import default_controller_rate_limiter
from handloop.workqueue.seams import Seams
from support.fake_clock import FakeClock


def shown(depth: QueueDepth) -> dict[tuple[str, str], float]:
    """(name, priority) -> value, as a scrape sees it."""
    [family] = depth.collect()
    assert all(sample.labels["name"] == sample.labels["controller"] for sample in family.samples)
    return {(sample.labels["name"], sample.labels["priority"]): sample.value for sample in family.samples}


def test_a_plain_queue_has_an_empty_priority() -> None:
    """Counted up and down, and there at 0 before the first item."""
    depth = QueueDepth()
    gauge = depth.of("foo")
    assert shown(depth) == {("foo", ""): 0}
    gauge.inc()
    gauge.inc()
    gauge.dec()
    assert shown(depth) == {("foo", ""): 1}


def test_a_priority_queue_is_shown_by_priority() -> None:
    """Both usual priorities from the start; what has drained stays, at 0; the plain count is not shown."""
    depth, clock = QueueDepth(), FakeClock()
    queue: PriorityQueue[str] = PriorityQueue(
        default_controller_rate_limiter(clock=clock), seams=Seams(clock=clock)
    )
    depth.of("app").inc()
    depth.show("app", queue.depths)
    assert shown(depth) == {("app", "0"): 0, ("app", "-100"): 0}
    try:
        queue.add("a", priority=-100)
        queue.add("b", priority=7)
        assert shown(depth) == {("app", "0"): 0, ("app", "-100"): 1, ("app", "7"): 1}
        queue.done(queue.get())
        assert shown(depth) == {("app", "0"): 0, ("app", "-100"): 1, ("app", "7"): 0}
    finally:
        queue.shut_down()


def test_too_many_priorities_become_one() -> None:
    """Beyond 25 of a user's own they must not become as many series; the sum stays right."""
    depth = QueueDepth()
    own = range(1, 101)
    depth.show("app", lambda: dict.fromkeys(own, 2))
    values = shown(depth)
    assert len(values) == MAX_PRIORITIES + 1
    assert sum(("app", str(priority)) in values for priority in own) == 25
    assert values["app", EXCEEDED] == 2 * (100 - 25)


def test_a_priority_that_was_known_keeps_its_label() -> None:
    """Series do not move under the other label when more values come."""
    depth = QueueDepth()
    waiting = {5: 1}
    depth.show("app", lambda: waiting)
    shown(depth)
    waiting |= dict.fromkeys(range(100, 200), 1)
    assert shown(depth)["app", "5"] == 1


@pytest.mark.parametrize("name", ["a", "b"])
def test_queues_do_not_mix(name: str) -> None:
    """Each queue has its own numbers."""
    depth = QueueDepth()
    depth.of(name).inc()
    depth.of("other")
    assert shown(depth) == {(name, ""): 1, ("other", ""): 0}
