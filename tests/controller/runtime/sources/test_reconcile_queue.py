"""The queue of a runtime controller; what workers do with it is in test_controller."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from handloop.controller.runtime.sources.reconcile_queue import (
    MAX_CAUSES,
    Cause,
    Causes,
    ReconcileQueue,
    Taken,
)
from handloop.informers.keys import ObjectName
from handloop.seams.seams import Seams
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.priority_queue import LOW_PRIORITY
from handloop.workqueue.queue import QueueOptions
from support.checks.told_steps import NO, told_steps
from support.doubles.recording_metrics import QueueMetricsProvider
from support.rigs.reconcile_rig import NAME, RESYNCED, UPDATED, no_thread


def new_queue() -> ReconcileQueue:
    """A queue without threads."""
    return ReconcileQueue(QueueOptions(name="q", seams=Seams(clock=FakeClock(), spawn=no_thread)))


def pass_time(queue: ReconcileQueue, clock: FakeClock, seconds: float) -> None:
    """Plays the thread of the queue."""
    clock.advance(seconds)
    priority_queue = queue._queue
    with priority_queue._lock:
        priority_queue._schedule._hand_over_due_locked()


def test_a_name_woken_while_its_worker_parks_it_is_not_lost() -> None:
    """The event that ends the wait may come before done(): the name is handed out again."""
    queue = new_queue()
    queue.add(NAME, UPDATED)
    queue.get()
    causes = queue.take(NAME)
    queue.wake(NAME)
    queue.park(NAME, causes, 5)
    queue.done(NAME)
    assert queue.get() == NAME
    assert queue.take(NAME) == (UPDATED,)


def test_a_retry_keeps_the_priority_of_its_name() -> None:
    """A failed object of the initial list does not overtake the others of the list."""
    clock = FakeClock()
    queue = ReconcileQueue(QueueOptions(name="q", seams=Seams(clock=clock, spawn=no_thread)))
    queue.add(NAME, UPDATED, priority=LOW_PRIORITY)
    queue.get()
    queue.take(NAME)
    assert queue.retry(NAME, "Conflict") == 0.005
    queue.done(NAME)
    pass_time(queue, clock, 1)
    assert queue.depths() == {LOW_PRIORITY: 1}
    assert [str(cause) for cause in queue.take(queue.get())] == ["retry 1 after Conflict"]


def requeued(clock: FakeClock) -> ReconcileQueue:
    """A queue whose one name has been reconciled, and is to be so again in 30 s."""
    queue = ReconcileQueue(QueueOptions(name="q", seams=Seams(clock=clock, spawn=no_thread)))
    queue.add(NAME, UPDATED)
    queue.take(queue.get())
    queue.requeue(NAME, 30)
    queue.done(NAME)
    return queue


def test_an_event_takes_the_place_of_a_requeue() -> None:
    """The reconcile that it leads to decides anew; the old plan does not bring the name."""
    clock = FakeClock()
    queue = requeued(clock)
    queue.add(NAME, UPDATED)
    assert queue.take(queue.get()) == (UPDATED,)
    queue.settle(NAME)
    queue.done(NAME)
    pass_time(queue, clock, 30)
    assert queue.statistics() == (0, 0, 0, 0)


def test_a_wake_that_comes_too_late_leaves_the_requeue_as_it_was() -> None:
    """There is nothing to do for it, and the plan keeps its time."""
    clock = FakeClock()
    queue = requeued(clock)
    clock.advance(10)
    queue.wake(NAME)
    assert queue.take(queue.get()) == ()
    queue.done(NAME)
    pass_time(queue, clock, 19)
    assert queue.statistics().queued == 0
    pass_time(queue, clock, 1)
    assert queue.take(queue.get()) == (Cause("requeue", detail="after 30s"),)


@pytest.mark.parametrize("failure", [lambda queue: queue.give_up(NAME), lambda queue: queue.retry(NAME, "x")])
@pytest.mark.parametrize(
    "end",
    [lambda queue: queue.settle(NAME), lambda queue: queue.requeue(NAME, 30)],
    ids=["settle", "requeue"],
)
def test_what_failed_is_left_out_of_resyncs(
    failure: Callable[[ReconcileQueue], object], end: Callable[[ReconcileQueue], object]
) -> None:
    """give_up and retry end the resyncs of a name, a success brings them back."""
    queue = new_queue()
    failure(queue)
    queue.add(NAME, RESYNCED)
    assert queue.statistics().queued == 0
    queue.add(NAME, UPDATED)
    queue.take(queue.get())
    end(queue)
    queue.done(NAME)
    queue.add(NAME, RESYNCED)
    assert queue.statistics().queued == 1


@pytest.mark.parametrize("children", [1, MAX_CAUSES + 5])
@pytest.mark.parametrize("news", [False, True])
def test_resyncs_of_a_reconcile_under_way_do_not_repeat_what_fails(children: int, news: bool) -> None:
    """They come to nothing when it fails, however many children they are of. A change among them counts."""
    clock = FakeClock()
    queue = ReconcileQueue(QueueOptions(name="q", seams=Seams(clock=clock, spawn=no_thread)))
    queue.add(NAME, UPDATED)
    queue.take(queue.get())
    for child in range(children):
        queue.add(NAME, RESYNCED._replace(detail=f"default/{child}"))
    if news:
        queue.add(NAME, UPDATED)
    queue.retry(NAME, "x", at_least_seconds=60)
    queue.done(NAME)
    assert (UPDATED in queue.take(queue.get())) is news
    queue.done(NAME)
    pass_time(queue, clock, 59)
    assert queue.statistics().queued == 0
    pass_time(queue, clock, 1)
    assert queue.statistics().queued == (0 if news else 1)


@pytest.mark.parametrize("ends_with", ["settle", "requeue", "give_up"])
def test_only_a_retry_counts_as_a_failure(ends_with: str) -> None:
    """Whatever else a reconcile ends with, the back-off begins anew."""
    queue = new_queue()
    assert [queue.retry(NAME, "x"), queue.retry(NAME, "x")] == [0.005, 0.01]
    if ends_with == "requeue":
        queue.requeue(NAME, 30)
    else:
        getattr(queue, ends_with)(NAME)
    assert queue.num_requeues(NAME) == 0
    assert queue.retry(NAME, "x") == 0.005


@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (lambda queue: queue.settle(NAME), False),
        (lambda queue: queue.give_up(NAME), False),
        (lambda queue: queue.requeue(NAME, 30), False),
        (lambda queue: queue.requeue(NAME, 30, "wait"), True),
        (lambda queue: queue.retry(NAME, "x"), True),
        (lambda queue: queue.park(NAME, (UPDATED,), 30), True),
    ],
)
def test_which_end_leaves_work(end: Callable[[ReconcileQueue], object], expected: bool) -> None:
    """A name that comes back by the clock alone has none; one that was added has, until it is taken."""
    queue = new_queue()
    queue.add(NAME, UPDATED)
    assert queue.has_work(NAME)
    queue.take(queue.get())
    assert not queue.has_work(NAME)
    end(queue)
    queue.done(NAME)
    assert queue.has_work(NAME) == expected


def test_each_end_of_a_reconcile_is_reported_as_the_last_two_steps() -> None:
    """A retry has its error, its delay and the failures so far; a wait its reason. Only while one looks."""
    queue = new_queue()
    queue.add(NAME, UPDATED)
    queue.get()
    with told_steps() as told:
        try:
            int("no")
        except ValueError:
            queue.retry(NAME, "x", at_least_seconds=7)
            queue.give_up(NAME)
        queue.requeue(NAME, 30)
        queue.park(NAME, (UPDATED,), 5)
        queue.done(NAME)
    queue.retry(NAME, "x")
    assert told == [
        (11, "q", str(NAME), {"seconds": 7, "failures": 1, "error": NO}),
        (11, "q", str(NAME), {"forgotten": 1}),
        (11, "q", str(NAME), {"seconds": None, "failures": 0, "error": NO}),
        (11, "q", str(NAME), {"forgotten": 0}),
        (11, "q", str(NAME), {"seconds": 30, "failures": 0, "waits": ""}),
        (
            11,
            "q",
            str(NAME),
            {"seconds": 5, "failures": 0, "waits": "a cache does not have its last sync's writes yet"},
        ),
        (12, "q", str(NAME), {"again": False}),
    ]


def test_a_name_that_is_not_due_yet_waits_as_a_step() -> None:
    """A worker that gets a name too early puts it back, and the page says why."""
    queue = new_queue()
    queue.add(NAME, UPDATED)
    queue.take(queue.get())
    queue.retry(NAME, "x", at_least_seconds=7)
    queue.wake(NAME)
    queue.done(NAME)
    with told_steps() as told:
        queue.take(queue.get())
    assert told[-1] == (11, "q", str(NAME), {"seconds": 7, "failures": 1, "waits": "it is due later"})


def test_the_queue_is_measured_under_its_name() -> None:
    """The workqueue series of dashboards."""
    provider = QueueMetricsProvider()
    queue = ReconcileQueue(QueueOptions(name="q", metrics_provider=provider, seams=Seams(clock=FakeClock())))
    queue.add(NAME, UPDATED)
    queue.shut_down()
    assert provider.adds.value == 1


@pytest.mark.parametrize(("at_least", "delay"), [(0.0, 0.005), (0.001, 0.005), (7.0, 7.0)])
def test_a_retry_waits_as_long_as_it_was_asked_to(at_least: float, delay: float) -> None:
    """The longer one of the back-off and what the server asked for; the back-off counts on in any case."""
    queue = new_queue()
    queue.add(NAME, UPDATED)
    queue.get()
    queue.take(NAME)
    assert queue.retry(NAME, "TooManyRequests", at_least_seconds=at_least) == delay
    assert queue.num_requeues(NAME) == 1


# -- causes


LATER = Cause("requeue", detail="after 10s")


@pytest.mark.parametrize(
    ("cause", "text", "label"),
    [
        (UPDATED, "Deployment default/a updated", "Deployment updated"),
        (LATER, "requeue after 10s", "requeue"),
        (Cause("webhook"), "webhook", "webhook"),
    ],
)
def test_a_cause_in_words_and_as_a_label(cause: Cause, text: str, label: str) -> None:
    """The text names the object; the label, of which there are few, does not."""
    assert (str(cause), cause.label) == (text, label)


def test_a_flood_of_causes_is_bounded() -> None:
    """Ten are kept, the others are counted: a busy object cannot fill the memory."""
    causes = Causes()
    causes.add(NAME, [Cause(f"c{i}") for i in range(MAX_CAUSES + 5)])
    taken = causes.take(NAME, 0).causes
    assert [str(cause) for cause in taken[-2:]] == ["c9", "and 5 more"]
    assert causes.take(NAME, 0).causes == ()


def test_what_is_scheduled_waits_for_its_time() -> None:
    """Too early there is nothing to do, and the time is returned; when it is due it is the cause."""
    causes = Causes()
    causes.schedule(NAME, 10, LATER)
    assert causes.take(NAME, 9) == Taken((), 10)
    assert causes.take(NAME, 10) == Taken((LATER,))
    assert causes.take(NAME, 10) == Taken(())


def test_another_cause_takes_the_plan_with_it() -> None:
    """A reconcile decides anew when to come back, so the old plan ends; it is no cause before its time."""
    causes = Causes()
    causes.schedule(NAME, 10, LATER)
    causes.add(NAME, (UPDATED,))
    assert causes.take(NAME, 9) == Taken((UPDATED,))
    assert causes.take(NAME, 99) == Taken(())


def test_causes_that_fall_together_are_all_passed_on() -> None:
    """The event and the time that was up."""
    causes = Causes()
    causes.schedule(NAME, 10, LATER)
    causes.add(NAME, (UPDATED,))
    assert causes.take(NAME, 11).causes == (UPDATED, LATER)


def test_names_of_another_replica_are_dropped_with_their_back_off_and_plans() -> None:
    """When they come back they are as new; a name that stays keeps both."""
    clock = FakeClock()
    queue = ReconcileQueue(QueueOptions(name="q", seams=Seams(clock=clock, spawn=no_thread)))
    foreign, ours = ObjectName("left", "a"), ObjectName("stays", "a")
    for name in (foreign, ours):
        queue.add(name, Cause("Foo", "added"))
        assert queue.take(queue.get())
        queue.retry(name, "Boom")
        queue.done(name)
    queue.forget_names(lambda name: name.namespace == "left")
    assert (queue.num_requeues(foreign), queue.num_requeues(ours)) == (0, 1)
    assert (queue.has_work(foreign), queue.has_work(ours)) == (False, True)
    pass_time(queue, clock, 1)
    assert {name: bool(queue.take(name)) for name in (queue.get(), queue.get())} == {
        foreign: False,
        ours: True,
    }


def test_a_name_whose_object_was_made_anew_meanwhile_is_not_lost() -> None:
    """Its event may have come between the look at whose it is and the drop."""
    queue = ReconcileQueue(QueueOptions(name="q", seams=Seams(clock=FakeClock(), spawn=no_thread)))
    name = ObjectName("default", "a")
    queue.add(name, Cause("Foo", "deleted"))
    answers = iter([True, False])

    def gone(_name: ObjectName) -> bool:
        queue.add(name, Cause("Foo", "added"))
        return next(answers)

    queue.forget_names(gone)
    assert queue.has_work(name)
