"""When a runtime controller works on a name: later, as it asked; before a deadline; after its own writes."""

from __future__ import annotations

from typing import Any

from handloop.apis.apps_v1 import Deployment
from handloop.controller.runtime.reconcile import ReconcileError, Result, TerminalError, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.sources.reconcile_queue import Cause
from handloop.informers.keys import ObjectName
from support.builders.deployments import deployment
from support.checks.captured_logs import captured_logs
from support.rigs.reconcile_rig import NAME, UPDATED, ReconcileRig


def test_requeue_after_is_no_failure() -> None:
    """The name is forgotten and comes back at its time, with the reason."""
    rig = ReconcileRig(lambda _name, _context: Result(requeue_after=30))
    rig.change()
    assert rig.queue.num_requeues(NAME) == 0
    rig.pass_time(29.9)
    assert len(rig.calls) == 1
    rig.pass_time(0.2)
    assert rig.calls[1][1].causes == ("requeue after 30s",)
    assert rig.metric("controller_runtime_reconcile_total", result="requeue_after") == 2
    assert rig.metric("controller_runtime_reconcile_errors_total") == 0


def test_a_later_reconcile_decides_anew_when_to_come_back() -> None:
    """A change before the time is up replaces the plan, also by a later one: no reconcile in between."""
    plans = [Result(requeue_after=10), Result(requeue_after=60), None]
    rig = ReconcileRig(lambda _name, _context: plans.pop(0))
    rig.change()
    rig.pass_time(5)
    rig.change()
    rig.pass_time(55)
    assert len(rig.calls) == 2
    rig.pass_time(5.1)
    assert rig.calls[2][1].causes == ("requeue after 60s",)


def test_a_deadline_is_reported_and_counted() -> None:
    """A reconcile that takes longer than it may can see it; it is counted however it ends, and retried."""
    rig = ReconcileRig(reconcile_timeout_seconds=10)
    seen: list[float] = []

    def script(_name: ObjectName, context: Context) -> None:
        seen.append(context.deadline.remaining())
        rig.clock.advance(11)
        seen.append(context.deadline.remaining())
        context.deadline.check()

    rig.script = script
    rig.change()
    assert seen == [10, 0]
    assert rig.metric("controller_runtime_reconcile_timeouts_total") == 1
    assert rig.metric("controller_runtime_reconcile_panics_total") == 0
    assert rig.queue.num_requeues(NAME) == 1


def test_a_write_that_outlasts_the_deadline_is_still_waited_for() -> None:
    """The time is up in the middle of a write: it counts, and the retry does not come before its event."""
    rig = ReconcileRig(reconcile_timeout_seconds=10)

    def script(_name: ObjectName, context: Context) -> None:
        if len(rig.calls) > 1:
            return
        rig.clock.advance(11)
        context.wrote(deployment("child", 20))
        context.deadline.check()

    rig.script = script
    rig.mirror.put(deployment("child", 10))
    rig.change()
    rig.pass_time(1)
    assert len(rig.calls) == 1
    rig.mirror.put(deployment("child", 20))
    rig.own_writes.observed(Deployment.resource.group_resource, ObjectName("default", "child"))
    rig.work()
    assert [context.causes for _, context in rig.calls[1:]] == [("retry 1 after DeadlineExceededError",)]
    assert rig.metric("controller_runtime_reconcile_timeouts_total") == 1


def test_a_plan_that_comes_due_while_the_name_is_parked_is_kept() -> None:
    """Waiting for our own write takes nothing away: both causes are passed on when it is over."""
    rig = ReconcileRig()

    def script(_name: ObjectName, context: Context) -> Result | None:
        if len(rig.calls) > 1:
            return None
        context.wrote(deployment("child", 20))
        return Result(requeue_after=1)

    rig.script = script
    rig.mirror.put(deployment("child", 10))
    rig.change()
    rig.pass_time(2)
    rig.change()
    assert len(rig.calls) == 1
    rig.mirror.put(deployment("child", 20))
    rig.own_writes.observed(Deployment.resource.group_resource, ObjectName("default", "child"))
    rig.work()
    assert rig.calls[1][1].causes == ("requeue after 1s", "Deployment default/a updated")
    rig.pass_time(100)
    assert len(rig.calls) == 2


def test_a_requeue_after_zero_is_no_requeue() -> None:
    """As in controller-runtime: a 0 would reconcile thousands of times a second."""
    rig = ReconcileRig(lambda _name, _context: Result(requeue_after=0))
    rig.queue.add(NAME, UPDATED)
    assert rig.controller._process_next()
    waiting = rig.queue.statistics()
    assert (waiting.queued, waiting.delayed) == (0, 0)
    assert rig.metric("controller_runtime_reconcile_total", result="success") == 1


def writing() -> ReconcileRig:
    """One whose first reconcile writes a child."""
    rig = ReconcileRig()

    def script(_name: ObjectName, context: Context) -> None:
        if len(rig.calls) == 1:
            context.wrote(deployment("child", 20))

    rig.script = script
    return rig


def test_a_write_of_our_own_is_waited_for() -> None:
    """The next reconcile comes once the cache has the write, woken by its event, and gets all causes."""
    rig = writing()
    rig.mirror.put(deployment("child", 10))
    rig.change()
    rig.queue.add(NAME, Cause("Service", "updated", "default/s"))
    rig.work()
    assert len(rig.calls) == 1
    rig.clock.advance(0.5)
    rig.mirror.put(deployment("child", 20))
    rig.own_writes.observed(Deployment.resource.group_resource, ObjectName("default", "child"))
    rig.change()
    assert rig.calls[1][1].causes == ("Service default/s updated", "Deployment default/a updated")
    assert rig.metric("handloop_own_write_waits_total") == 1
    assert rig.metric("handloop_own_write_wait_seconds_sum") == 0.5
    assert rig.metric("handloop_own_write_timeouts_total") == 0
    rig.pass_time(100)
    assert len(rig.calls) == 2


def test_a_write_that_the_server_no_longer_has_is_given_up() -> None:
    """After five seconds the server is asked: it has the object no more than the cache has."""
    rig = writing()
    rig.change()
    rig.change()
    rig.pass_time(4.9)
    assert len(rig.calls) == 1
    rig.pass_time(0.2)
    assert len(rig.calls) == 2
    assert rig.metric("handloop_own_write_timeouts_total") == 0


def test_a_write_that_never_shows_up_is_given_up() -> None:
    """While the server has it the cache is behind: the reconcile waits for five minutes, not for ever."""
    rig = writing()
    rig.newest = "20"
    rig.change()
    rig.change()
    for _ in range(59):
        rig.pass_time(5)
    assert len(rig.calls) == 1
    rig.pass_time(5)
    assert len(rig.calls) == 2
    assert rig.metric("handloop_own_write_timeouts_total") == 1


def test_a_name_has_work_while_it_is_in_work() -> None:
    """And after an error or a wait, but not once it is done, whatever it asked for later."""
    ends: list[Any] = [ReconcileError(), WaitError(), Result(requeue_after=30), TerminalError()]
    seen: list[bool] = []

    def script(name: ObjectName, _context: Context) -> Any:
        seen.append(rig.controller.has_work(name))
        end = ends[len(seen) - 1]
        if isinstance(end, Exception):
            raise end
        return end

    rig = ReconcileRig(script)
    after = []
    for _ in ends:
        rig.change()
        after.append(rig.controller.has_work(NAME))
    assert (seen, after) == ([True] * 4, [True, True, False, False])


def test_a_wait_whose_text_fails_is_a_wait() -> None:
    """The name is planned before anything is reported, and the log says what failed."""

    class OddError(WaitError):
        def __str__(self) -> str:
            raise SystemExit

    rig = ReconcileRig()

    def script(_name: ObjectName, _context: Context) -> None:
        raise OddError

    rig.script = script
    with captured_logs() as lines:
        rig.change()
        rig.pass_time(30)
    assert len(rig.calls) == 2
    assert "raised SystemExit" in next(line["why"] for line in lines if line["event"] == "Reconcile waits")


def test_a_wait_for_something_else_is_no_failure() -> None:
    """Nothing counts up and nothing is alarming; an event, or half a minute, brings the next reconcile."""
    rig = ReconcileRig(max_retries=0)

    def script(_name: ObjectName, _context: Context) -> None:
        raise WaitError("the child is not gone yet")

    rig.script = script
    with captured_logs() as lines:
        rig.change()
        rig.pass_time(29)
        assert len(rig.calls) == 1
        rig.change()
        rig.pass_time(30)
    assert [context.causes for _, context in rig.calls[1:]] == [
        ("Deployment default/a updated",),
        ("wait after 30s",),
    ]
    told = [(line["log_level"], line["why"]) for line in lines if line["log_level"] != "debug"]
    assert told == [("info", "the child is not gone yet")] * 3
    assert rig.controller.statistics().failed == 0


def test_a_parked_name_keeps_no_worker_busy() -> None:
    """Another name is reconciled meanwhile by the same worker."""
    rig = writing()
    rig.change()
    rig.queue.add(NAME, UPDATED)
    other = ObjectName("default", "other")
    rig.queue.add(other, UPDATED)
    rig.work()
    assert [name for name, _ in rig.calls] == [NAME, other]
