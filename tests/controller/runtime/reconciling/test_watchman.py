"""A reconcile that blocks is reported while it does, by a thread that an idle controller does not have."""

from __future__ import annotations

from typing import Any, NoReturn
from unittest.mock import ANY

import pytest

from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import STUCK_SECONDS
from handloop.controller.runtime.reconciling.watchman import Running
from handloop.seams.threads import spawn_thread
from handloop.testing.eventually import eventually as until
from support.checks.captured_logs import captured_logs
from support.checks.threads import Background, Gate
from support.rigs.reconcile_rig import NAME, UPDATED, ReconcileRig

SECONDS = 20.0


def test_a_process_without_room_for_a_watchman_loses_no_name() -> None:
    """The reconcile is tried again, as after any error, and counts as none that runs."""
    rig = ReconcileRig()

    def no_room(_name: str, _target: object) -> NoReturn:
        raise RuntimeError("can't start new thread")

    spawn, rig.controller._watchman._spawn = rig.controller._watchman._spawn, no_room
    rig.queue.add(NAME, UPDATED)
    with captured_logs():
        rig.work()
    assert (rig.calls, rig.controller.statistics().failed) == ([], 1)
    rig.clock.advance(10 * STUCK_SECONDS)
    assert rig.controller.workers_check() is None
    rig.controller._watchman._spawn = spawn
    rig.pass_time(1)
    assert [name for name, _ in rig.calls] == [NAME]


@pytest.mark.parametrize(
    ("options", "after", "stuck"),
    [
        ({"reconcile_timeout_seconds": 10}, 10, "rig: stuck in the reconcile of default/a for 311s"),
        ({"reconcile_timeout_seconds": 10, "blocked_after_seconds": None}, 10, ANY),
        ({}, 60, None),
        ({"blocked_after_seconds": 5}, 5, None),
    ],
)
def test_a_reconcile_that_blocks_is_reported_while_it_blocks(
    options: dict[str, Any], after: float, stuck: str | None
) -> None:
    """Once, and where it is. With a deadline, liveness fails when it is five minutes late, and heals."""
    hang = Gate()
    rig = ReconcileRig(hang, **options)
    rig.controller._watchman._spawn = spawn_thread
    rig.queue.add(NAME, UPDATED)
    with captured_logs() as logs:
        worker = Background(rig.work)
        hang.wait_entered()
        rig.clock.wait_for_deadline(after)
        rig.clock.advance(after + 1)
        until(lambda: rig.controller._watchman._thread is None, "told", seconds=SECONDS)
        assert rig.controller.workers_check() is None
        rig.clock.advance(STUCK_SECONDS)
        assert rig.controller.workers_check() == stuck
        hang.open()
        worker.result()
    (warning,) = [entry for entry in logs if entry["event"] == "Reconcile blocks"]
    assert "threading.py" in warning["at"]
    assert warning["seconds"] == after + 1
    assert warning["once"]
    assert rig.controller.workers_check() is None
    assert rig.controller._watchman._told == set()


def test_an_idle_controller_has_no_watchman() -> None:
    """The thread that looks for reconciles that block ends when it finds none, and with a stop."""
    rig = ReconcileRig()
    rig.controller._watchman._spawn = spawn_thread
    rig.change()
    rig.clock.wait_for_deadline(60)
    rig.clock.advance(60)
    until(lambda: rig.controller._watchman._thread is None, "ended", seconds=SECONDS)
    rig.change()
    watchman = rig.controller._watchman._thread
    assert watchman is not None
    rig.controller._watchman.stop.set()
    watchman.join(SECONDS)
    assert not watchman.is_alive()


def test_a_warning_that_is_switched_off_costs_no_thread() -> None:
    """None = no warning, without a deadline."""
    rig = ReconcileRig(blocked_after_seconds=None)
    rig.controller._watchman._spawn = lambda *_: pytest.fail("a thread")
    rig.change()
    assert len(rig.calls) == 1


def test_a_reconcile_that_ends_while_the_watchman_looks_is_not_reported() -> None:
    """Its thread may be in another reconcile by then; and nothing is remembered of it."""
    rig = ReconcileRig()
    watchman, reports, late = rig.controller._watchman, list[Any](), rig.controller._watchman.late
    watchman._blocks = lambda running, _seconds: reports.append(running)

    def ends_now(limit_seconds: float) -> Any:
        found = late(limit_seconds)
        watchman.ended(NAME)
        return found

    watchman.late = ends_now  # type: ignore[method-assign]
    watchman.limit_seconds = None  # so that no thread starts
    watchman.begins(Running(NAME, Context(id="1"), rig.clock.now() - 1, 0))
    watchman.limit_seconds = 0.0
    watchman._watch()
    assert (reports, watchman._told) == ([], set())
