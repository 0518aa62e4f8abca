"""The loop of a runtime controller: the next stay of a name, by how its reconcile ended."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NoReturn

import pytest

from handloop.client.errors import ConnectionBroken
from handloop.controller.runtime.children.owner_references import NameTakenError
from handloop.controller.runtime.life.runnable import WorkersBusyError
from handloop.controller.runtime.reconcile import ReconcileError, Result, TerminalError, WaitError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import (
    UNKNOWN_OUTCOME_SECONDS,
    Controller,
    ControllerOptions,
)
from handloop.controller.runtime.sources.reconcile_queue import Cause
from handloop.informers.keys import ObjectName
from handloop.seams.clock import REAL_CLOCK
from handloop.seams.threads import Joinable, spawn_thread
from handloop.testing.eventually import eventually as until
from handloop.workqueue.priority_queue import LOW_PRIORITY
from support.checks.api_errors import api_error
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background, Gate
from support.checks.told_steps import told_steps
from support.rigs.reconcile_rig import NAME, RESYNCED, UPDATED, ReconcileRig

SECONDS = 20.0
RESULTS = ("success", "error", "requeue", "requeue_after")


def raising(*errors: BaseException | None) -> Any:
    """A reconcile that raises these in turn, then settles."""
    left = list(errors)

    def script(_name: ObjectName, _context: Context) -> Result | None:
        error = left.pop(0) if left else None
        if error is not None:
            raise error
        return None

    return script


def test_causes_of_a_name_are_merged_into_one_reconcile() -> None:
    """Three events before a worker comes are one reconcile, which gets all causes, each once and in order."""
    rig = ReconcileRig()
    for cause in (UPDATED, Cause("Service", "added", "default/b"), UPDATED):
        rig.queue.add(NAME, cause)
    rig.work()
    ((name, context),) = rig.calls
    assert name == NAME
    assert context.causes == ("Deployment default/a updated", "Service default/b added")
    assert rig.metric("handloop_reconcile_causes_total", cause="Deployment updated") == 1


def test_every_reconcile_has_an_id_in_its_log_lines() -> None:
    """What a reconcile logs can be found by its id, and so can the line about how it ended."""

    def script(_name: ObjectName, context: Context) -> None:
        context.log.info("step")

    rig = ReconcileRig(script)
    with captured_logs() as logs:
        rig.change()
        rig.change()
    ids = [entry["reconcileID"] for entry in logs if entry["event"] == "step"]
    ends = [entry["reconcileID"] for entry in logs if entry["event"] == "Reconcile successful"]
    assert ids == ends == ["id-0", "id-1"]


def test_success_is_forgotten_and_counted() -> None:
    """None and an empty Result are the same: settled until something changes."""
    rig = ReconcileRig(raising(ReconcileError("once")))
    rig.change()
    assert rig.queue.num_requeues(NAME) == 1
    rig.pass_time(0.005)
    assert rig.queue.num_requeues(NAME) == 0
    assert {
        result: rig.metric("controller_runtime_reconcile_total", result=result) for result in RESULTS
    } == {
        "success": 1,
        "error": 1,
        "requeue": 0,
        "requeue_after": 0,
    }
    assert rig.metric("controller_runtime_reconcile_time_seconds_count") == 2


def test_a_result_may_set_the_priority_of_the_next_time() -> None:
    """Else it is the one with which the worker got the name."""
    results = [Result(requeue_after=1, priority=-50), Result(requeue_after=1), Result()]
    had: list[int] = []

    def script(name: ObjectName, _context: Context) -> Result:
        had.append(rig.queue._queue._in_flight[name])
        return results.pop(0)

    rig = ReconcileRig(script)
    rig.change()
    rig.pass_time(1)
    rig.pass_time(1)
    assert had == [0, -50, -50]


def test_back_offs_grow_beyond_the_resync_period() -> None:
    """What fails for ever is tried ever more rarely, whatever resyncs; a change is looked at at once."""
    tries: list[float] = []

    def fail(_name: ObjectName, _context: Context) -> NoReturn:
        tries.append(rig.clock.now())
        raise ReconcileError("still")

    rig = ReconcileRig(fail)
    rig.change()
    for second in range(1, 3601):
        rig.pass_time(1)
        if second % 30 == 0:
            rig.queue.add(NAME, RESYNCED)
            rig.work()
    gaps = [later - earlier for earlier, later in pairwise(tries)]
    assert len(tries) < 25
    assert max(gaps) > 600
    rig.change()
    assert tries[-1] == rig.clock.now()


def test_a_failure_is_retried_with_back_off() -> None:
    """5 ms, 10 ms, 20 ms; the retry's cause has its number and the error."""
    rig = ReconcileRig(raising(ReconcileError("a"), ReconcileError("b"), ReconcileError("c")))
    rig.change()
    for delay in (0.005, 0.01, 0.02):
        before = len(rig.calls)
        rig.pass_time(delay * 0.99)
        assert len(rig.calls) == before
        rig.pass_time(delay * 0.02)
        assert len(rig.calls) == before + 1
    assert [context.causes for _, context in rig.calls][1:] == [
        ("retry 1 after ReconcileError",),
        ("retry 2 after ReconcileError",),
        ("retry 3 after ReconcileError",),
    ]
    assert rig.metric("controller_runtime_reconcile_errors_total") == 3
    assert rig.metric("controller_runtime_reconcile_panics_total") == 0


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (api_error(429, "TooManyRequests", retry_after_seconds=7), 7),
        (NameTakenError("taken"), NameTakenError.retry_seconds),
    ],
    ids=["a server that asks for time", "a name that is taken"],
)
def test_an_error_may_put_its_retry_off(error: Exception, seconds: float) -> None:
    """The next try is no sooner, with any back-off, for no event shows when it would succeed."""
    rig = ReconcileRig(raising(error))
    rig.change()
    rig.pass_time(seconds - 0.1)
    assert len(rig.calls) == 1
    rig.pass_time(0.2)
    assert len(rig.calls) == 2


def test_after_a_write_without_an_answer_the_watch_gets_time() -> None:
    """The cache lacks the write, if the server has it: a watch event ends the wait, else its time does."""
    lost = ConnectionBroken("reset", outcome_unknown=True)
    rig = ReconcileRig(raising(lost, lost, ConnectionBroken("nothing was sent")))
    rig.change()
    rig.pass_time(UNKNOWN_OUTCOME_SECONDS - 0.01)
    assert len(rig.calls) == 1
    rig.change()
    assert len(rig.calls) == 2
    rig.pass_time(UNKNOWN_OUTCOME_SECONDS)
    assert len(rig.calls) == 3
    rig.pass_time(0.1)
    assert len(rig.calls) == 4


@pytest.mark.parametrize(
    ("error", "facts"),
    [
        (
            api_error(429, "TooManyRequests", retry_after_seconds=7),
            {"error": "TooManyRequests: ", "failures": 1, "seconds": 7},
        ),
        (WaitError("not yet"), {"waits": "WaitError: not yet", "failures": 0, "seconds": 30}),
        (TerminalError("never"), {"error": "TerminalError: never", "failures": 0, "seconds": None}),
    ],
)
def test_a_viewer_sees_why_a_reconcile_did_not_settle(error: Exception, facts: dict[str, Any]) -> None:
    """The error, and when the name really comes back; a wait is no failure."""
    rig = ReconcileRig(raising(error))
    with told_steps() as told:
        rig.change()
    (seen,) = [facts for number, *_, facts in told if number == 11 and "seconds" in facts]
    why = "waits" if "waits" in facts else "error"
    assert seen.pop(why).startswith(facts.pop(why))
    assert seen == facts


def test_a_terminal_error_waits_for_a_change() -> None:
    """Neither time nor a resync leads to another reconcile; an event does."""
    rig = ReconcileRig(raising(TerminalError("no such thing"), TerminalError("still not")))
    with captured_logs() as logs:
        rig.change()
        rig.pass_time(10_000)
        rig.queue.add(NAME, RESYNCED, priority=LOW_PRIORITY)
        rig.work()
        assert len(rig.calls) == 1
        rig.change()
    assert len(rig.calls) == 2
    assert rig.metric("controller_runtime_terminal_reconcile_errors_total") == 2
    assert rig.metric("controller_runtime_reconcile_errors_total") == 2
    errors = [entry for entry in logs if entry["log_level"] == "error"]
    assert [entry["err"] for entry in errors] == ["no such thing", "still not"]
    assert errors[0]["event"] == "Reconciler error, waiting for a change"


def test_a_change_during_a_terminal_reconcile_is_not_lost() -> None:
    """The event came while the reconcile ran on the state before it: there is another one."""
    rig = ReconcileRig()

    def script(name: ObjectName, _context: Context) -> None:
        if len(rig.calls) == 1:
            rig.queue.add(name, UPDATED)
            raise TerminalError("seen too early")

    rig.script = script
    rig.change()
    assert len(rig.calls) == 2


@pytest.mark.parametrize("error", [ZeroDivisionError("bug"), SystemExit(3), KeyboardInterrupt()])
def test_an_unexpected_exception_is_caught_counted_and_retried(error: BaseException) -> None:
    """Whatever a reconcile raises, the worker lives on, the bug is counted, and the name comes back."""
    rig = ReconcileRig(raising(error))
    with captured_logs() as logs:
        rig.change()
    assert rig.metric("controller_runtime_reconcile_panics_total") == 1
    assert rig.metric("controller_runtime_reconcile_errors_total") == 1
    assert [entry["exc_info"] for entry in logs if "exc_info" in entry] == [error]
    rig.pass_time(0.01)
    assert len(rig.calls) == 2
    assert rig.controller.statistics().unexpected == 1


def test_what_is_no_result_is_a_bug() -> None:
    """`return True` does not pass for a success."""
    rig = ReconcileRig(lambda _name, _context: True)
    rig.change()
    assert rig.metric("controller_runtime_reconcile_panics_total") == 1


def test_the_initial_list_is_not_starved() -> None:
    """Under a steady stream of fresh events every tenth reconcile is one of the list."""
    rig = ReconcileRig()
    listed = ObjectName("default", "listed")
    for i in range(9):
        rig.queue.add(ObjectName("default", f"fresh-{i}"), UPDATED)
    rig.queue.add(listed, Cause("Deployment", "listed", "default/listed"), priority=LOW_PRIORITY)

    def script(name: ObjectName, _context: Context) -> None:
        if name != listed and len(rig.calls) < 60:
            rig.queue.add(name, UPDATED)

    rig.script = script
    rig.work()
    assert listed in [name for name, _ in rig.calls[:31]]


def test_so_many_retries_and_no_more() -> None:
    """After the last of them the name waits for a change, as after a TerminalError, and begins anew then."""
    rig = ReconcileRig(raising(*[ReconcileError(f"{i}") for i in range(7)]), max_retries=2)
    with captured_logs() as logs:
        rig.change()
        rig.pass_time(1)
        rig.pass_time(10_000)
        rig.queue.add(NAME, RESYNCED)
        rig.work()
        assert len(rig.calls) == 3
        rig.change()
        rig.pass_time(1)
        rig.pass_time(10_000)
    assert len(rig.calls) == 6
    assert rig.metric("controller_runtime_terminal_reconcile_errors_total") == 2
    events = [entry["event"] for entry in logs if entry["log_level"] == "error"]
    assert events == [*["Reconciler error"] * 2, "Reconciler error, waiting for a change"] * 2


def test_no_retry_is_a_limit_too() -> None:
    """0: once and no more."""
    rig = ReconcileRig(raising(ReconcileError("a")), max_retries=0)
    rig.change()
    rig.pass_time(10_000)
    assert len(rig.calls) == 1


def test_news_from_outside_can_be_enqueued() -> None:
    """enqueue() takes a name and the caller's own words."""
    rig = ReconcileRig()
    rig.controller.enqueue(NAME, "webhook")
    rig.work()
    assert rig.calls[0][1].causes == ("webhook",)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reconcile_timeout_seconds": -1}, "reconcile_timeout_seconds must be positive"),
        ({"reconcile_timeout_seconds": 0}, "reconcile_timeout_seconds must be positive"),
        ({"reconcile_timeout_seconds": math.nan}, "reconcile_timeout_seconds must be positive"),
        ({"blocked_after_seconds": 0}, "blocked_after_seconds must be positive"),
        ({"own_write_timeout_seconds": -1}, "own_write_timeout_seconds must not be negative"),
        ({"cache_sync_timeout_seconds": -1}, "cache_sync_timeout_seconds must not be negative"),
        ({"shutdown_timeout_seconds": -1}, "shutdown_timeout_seconds must not be negative"),
        ({"max_retries": -1}, "must not be negative"),
        ({"max_concurrent_reconciles": 0}, "at least 1"),
    ],
)
def test_an_option_that_makes_no_sense_is_a_mistake(options: dict[str, Any], message: str) -> None:
    """It would warn of every reconcile, wait for none, or look like a controller without doing anything."""
    with pytest.raises(ValueError, match=message):
        ControllerOptions(**options)


class HandWatch:
    """A source whose cache the test fills."""

    def __init__(self, *troubles: str) -> None:
        self.started = threading.Event()
        self._troubles = list(troubles)

    def start(self) -> None:
        self.started.set()

    def troubles(self) -> Sequence[str]:
        return list(self._troubles)

    def heal(self) -> None:
        self._troubles.clear()


def threaded(rig: ReconcileRig, **options: Any) -> Controller:
    """The rig's controller with real workers."""
    rig.controller._options = ControllerOptions(**options)
    rig.controller._clock = REAL_CLOCK
    rig.controller._spawn = spawn_thread
    return rig.controller


@contextmanager
def running(rig: ReconcileRig, **options: Any) -> Iterator[Controller]:
    """The rig's controller with real workers, for as long as the block lasts."""
    controller, stop = threaded(rig, **options), threading.Event()
    background = Background(lambda: controller.run(stop))
    try:
        yield controller
    finally:
        stop.set()
        background.result()


def test_workers_start_when_every_cache_is_filled() -> None:
    """Sources start at once, workers later; a stop ends all of it."""
    rig = ReconcileRig()
    watch = HandWatch("foos: no complete list yet")
    rig.controller.watch(watch)  # type: ignore[arg-type] # a Sequence will do
    with running(rig, max_concurrent_reconciles=3) as controller:
        assert watch.started.wait(20)
        assert controller.statistics().workers == 0
        assert controller.workers_check() is None
        watch.heal()
        until(lambda: controller.statistics().workers_alive == 3, "working", seconds=20)
        rig.queue.add(NAME, UPDATED)
        until(lambda: controller.statistics().succeeded, "reconciled", seconds=20)
    assert controller.statistics().workers_alive == 0
    assert controller.workers_check() is None


def test_a_controller_starts_once() -> None:
    """The second start is a mistake, as after two adds; the first goes on."""
    rig, over = ReconcileRig(), threading.Event()
    over.set()
    with running(rig) as controller:
        until(lambda: controller.statistics().workers_alive, "working", seconds=SECONDS)
        with pytest.raises(RuntimeError, match="controller rig has already been started"):
            controller.run(over)
        rig.queue.add(NAME, UPDATED)
        until(lambda: controller.statistics().succeeded, "reconciled", seconds=SECONDS)


def test_as_many_reconciles_at_once_as_were_asked_for_but_one_per_name() -> None:
    """Three workers are all in a reconcile at the same time; an event of a busy name comes after it."""
    rig = ReconcileRig()
    lock, all_in = threading.Lock(), threading.Barrier(3)
    busy: set[ObjectName] = set()
    twice: list[ObjectName] = []

    def script(name: ObjectName, _context: Context) -> None:
        with lock:
            if name in busy:
                twice.append(name)
            busy.add(name)
            first = len(rig.calls) <= 3
        if first:
            rig.queue.add(name, UPDATED)
            all_in.wait(20)
        with lock:
            busy.discard(name)

    rig.script = script
    for number in range(3):
        rig.queue.add(ObjectName("default", f"{number}"), UPDATED)
    with running(rig, max_concurrent_reconciles=3) as controller:
        until(lambda: controller.statistics().succeeded >= 6, "each twice", seconds=20)
    assert twice == []
    assert not all_in.broken
    assert len(rig.calls) == 6


def test_a_watch_that_comes_late_starts_at_once() -> None:
    """Each starts once, whether it came before the start, while caches are waited for, or later."""
    starts: list[str] = []

    class Noted(HandWatch):
        def __init__(self, name: str, *troubles: str) -> None:
            super().__init__(*troubles)
            self._name = name

        def start(self) -> None:
            starts.append(self._name)
            super().start()

    rig = ReconcileRig()
    early = Noted("early", "foos: not yet")
    rig.controller.watch(early)  # type: ignore[arg-type] # a Sequence will do
    assert starts == []
    with running(rig) as controller:
        assert early.started.wait(20)
        controller.watch(Noted("while it waits"))  # type: ignore[arg-type]
        assert starts == ["early", "while it waits"]
        early.heal()
        until(lambda: controller.statistics().workers, "working", seconds=20)
        controller.watch(Noted("late"))  # type: ignore[arg-type]
    assert starts == ["early", "while it waits", "late"]


def test_a_stop_waits_for_a_reconcile_in_flight_but_not_for_ever() -> None:
    """A worker that does not come back is left behind and named: the holder of a lease must know."""
    hang = Gate()
    rig = ReconcileRig(hang)
    late = pytest.raises(WorkersBusyError, match=r"rig: 1 workers did not end in 0.05s")
    with late, running(rig, shutdown_timeout_seconds=0.05) as controller:
        rig.queue.add(NAME, UPDATED)
        hang.wait_entered()
    hang.open()
    until(lambda: controller.statistics().workers_alive == 0, "ended", seconds=20)


def test_a_controller_that_cannot_start_all_workers_waits_for_the_others() -> None:
    """One of them may be in a reconcile: the lease must not be given up before it ends."""
    hang, ended = Gate(), list[bool]()
    rig = ReconcileRig(hang)
    controller = threaded(rig, max_concurrent_reconciles=2)

    def spawn(name: str, target: Callable[[], None]) -> Joinable:
        if name.endswith("-1"):
            hang.wait_entered()
            raise RuntimeError("can't start new thread")
        return spawn_thread(name, target)

    def run() -> None:
        with pytest.raises(RuntimeError, match="new thread"):
            controller.run(threading.Event())
        ended.append(bool(controller.statistics().succeeded))

    controller._spawn = spawn
    rig.queue.add(NAME, UPDATED)
    background = Background(run)
    until(lambda: rig.queue._queue._shutting_down or ended, "shut down", seconds=SECONDS)
    hang.open()
    background.result()
    assert ended == [True]


def test_what_is_queued_at_a_stop_is_left_alone() -> None:
    """The reconcile in flight ends, the next does not begin: the next process sees to it."""
    rig = ReconcileRig()
    stop = threading.Event()
    rig.script = lambda _name, _context: stop.set()
    for i in range(5):
        rig.queue.add(ObjectName("default", f"{i}"), UPDATED)
    threaded(rig).run(stop)
    assert len(rig.calls) == 1


def test_a_dead_worker_fails_the_health_check() -> None:
    """A process that answers and does nothing is the worst kind."""
    rig = ReconcileRig()
    rig.controller._count(workers=2, workers_alive=1)
    assert rig.controller.workers_check() == "rig: 1 of 2 are alive"


def test_a_look_at_own_writes_that_fails_is_reported_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a line the name would be stuck in silence."""
    rig = ReconcileRig()
    rig.queue.add(NAME, UPDATED)
    with monkeypatch.context() as patch, captured_logs() as entries:
        patch.setattr(rig.own_writes, "seconds_to_wait", lambda _name: 1 / 0)
        rig.work()
    assert [entry["object"] for entry in entries] == [NAME]
    rig.pass_time(0.005)
    assert len(rig.calls) == 1


def test_a_worker_survives_the_failure_of_its_own_reporting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even when counting fails, the next name is worked on."""
    rig = ReconcileRig()
    stop = threading.Event()
    rig.controller._clock = REAL_CLOCK
    monkeypatch.setattr("handloop.controller.runtime.reconciling.controller._WORKER_PERIOD_SECONDS", 0.01)
    monkeypatch.setattr(rig.controller._reports, "settled", lambda *_: 1 / 0)
    rig.script = lambda _name, _context: stop.set() if len(rig.calls) == 2 else None
    rig.queue.add(NAME, UPDATED)
    rig.queue.add(ObjectName("default", "b"), UPDATED)
    rig.controller._count(workers=1, workers_alive=1)
    with captured_logs() as lines:
        rig.controller._run_worker(stop)
    assert len(rig.calls) == 2
    assert rig.controller.statistics().workers_alive == 0
    failed = [line["err"] for line in lines if line["event"] == "Worker failed"]
    assert failed == ["ZeroDivisionError('division by zero')"] * 2


def test_a_context_that_cannot_be_made_loses_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name comes back with a back-off, and the log names it."""
    rig = ReconcileRig()
    rig.queue.add(NAME, UPDATED)
    with monkeypatch.context() as patch, captured_logs() as entries:
        patch.setattr(rig.controller, "_new_id", lambda: 1 / 0)
        rig.work()
    assert [entry["object"] for entry in entries] == [NAME]
    rig.pass_time(0.005)
    assert len(rig.calls) == 1


def test_its_repr_shows_its_state() -> None:
    """For a notebook, or a debugger."""
    rig = ReconcileRig()
    rig.queue.add(NAME, UPDATED)
    assert repr(rig.controller) == "<Controller rig: 0 workers, 1 queued, 0 in flight>"
    assert "RateLimitingQueue" in repr(rig.queue) or "PriorityQueue" in repr(rig.queue)
