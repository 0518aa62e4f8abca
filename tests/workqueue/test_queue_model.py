"""The queue against a model that is too simple to be wrong."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from handloop.workqueue.queue import Queue, QueueStatistics, ShutDown
from support.builders.queues import NewQueue, priority_queue

ITEMS = st.sampled_from("abcde")


class QueueMachine(RuleBasedStateMachine):
    """
    One thread does what it likes; the model is a list of waiting items and a map of those in flight.

    In the map True means: added again since the get.
    """

    new_queue: NewQueue = Queue

    def __init__(self) -> None:
        super().__init__()
        self.queue = self.new_queue()
        self.waiting: list[str] = []
        self.in_flight: dict[str, bool] = {}
        self.shutting_down = False

    def model_add(self, item: str) -> None:
        if self.shutting_down or item in self.waiting:
            return
        if item in self.in_flight:
            self.in_flight[item] = True
        else:
            self.waiting.append(item)

    @rule(item=ITEMS)
    def add(self, item: str) -> None:
        self.queue.add(item)
        self.model_add(item)

    @rule(items=st.lists(ITEMS))
    def add_all(self, items: list[str]) -> None:
        self.queue.add_all(iter(items))
        for item in items:
            self.model_add(item)

    @precondition(lambda self: self.waiting)
    @rule()
    def get(self) -> None:
        item = self.queue.get()
        assert item == self.waiting.pop(0)
        assert item not in self.in_flight, "with two workers"
        self.in_flight[item] = False

    @precondition(lambda self: self.shutting_down and not self.waiting)
    @rule()
    def get_nothing(self) -> None:
        with pytest.raises(ShutDown):
            self.queue.get()

    @rule(item=ITEMS)
    def done(self, item: str) -> None:
        self.queue.done(item)
        if self.in_flight.pop(item, False):
            self.waiting.append(item)

    @rule()
    def shut_down(self) -> None:
        self.queue.shut_down()
        self.shutting_down = True

    @precondition(lambda self: not self.in_flight)
    @rule()
    def shut_down_with_drain(self) -> None:
        self.queue.shut_down_with_drain()
        self.shutting_down = True

    @invariant()
    def agrees_with_the_model(self) -> None:
        readded = sum(self.in_flight.values())
        expected = QueueStatistics(len(self.waiting), len(self.in_flight), readded, delayed=0)
        assert self.queue.statistics() == expected
        assert len(self.queue) == len(self.waiting)
        assert self.queue.shutting_down() == self.shutting_down


class PriorityQueueMachine(QueueMachine):
    """Among items of one priority the queue of the runtime does the same."""

    new_queue = staticmethod(priority_queue)


SETTINGS = settings(max_examples=150, stateful_step_count=40, deadline=None, derandomize=True, database=None)
QueueMachine.TestCase.settings = PriorityQueueMachine.TestCase.settings = SETTINGS
TestQueueModel = QueueMachine.TestCase
TestPriorityQueueModel = PriorityQueueMachine.TestCase
