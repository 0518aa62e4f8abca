"""Every crash point: what is found, how it is shrunk and replayed, and what our own controller does."""

from __future__ import annotations

import re
import resource
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handloop import Context, FrozenMap, Kind, Manager, Result, controller_for
from handloop.controller.foo.runnable import add_plain_foo
from handloop.controller.foo.types import Foo
from handloop.kinds.core_v1 import (
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    VolumeResourceRequirements,
)
from handloop_explore import Workload, explorer
from handloop_explore.explorer import run_plans
from handloop_explore.plan import Plan
from handloop_explore.report import Report, UndisturbedError
from handloop_explore.virtual_threads import EPOCH
from handloop_explore.workload import applied, deleted, invariant, settled
from support.builders.workloads import FOO, foo_workload


def spin(_foo: Foo, _context: Context) -> None:
    while True:
        signal.raise_signal(signal.SIGALRM)  # as if the time were over


def come_back(_foo: Foo, context: Context) -> Result:
    if context.now().timestamp() % 60 > EPOCH % 60 + 22:
        signal.raise_signal(signal.SIGALRM)
    return Result(requeue_after=1e-2)


STORM = "1:silent"
MOST_BYTES = 20 * 1024 * 1024
QUICK = (applied(FOO), deleted(FOO))
"""The Foo goes while the watch of Foos still hangs."""


def test_the_storm_of_the_plain_controller_is_found_and_replayed() -> None:
    """A Foo is deleted while its watch hangs: the Deployment is made, and collected, each second."""
    workload = foo_workload(*QUICK, add=add_plain_foo)
    report = run_plans(workload, replay=STORM)
    (failure,) = report.failures
    assert (str(failure.plan), report.plans) == (STORM, 1)
    assert "a storm" in failure.verdicts[0]
    assert f"plan {STORM}" in report.text()
    with pytest.raises(AssertionError, match="a storm"):
        report.check()
    run_plans(foo_workload(*QUICK), replay=STORM).check()


def test_a_failing_plan_is_shrunk() -> None:
    """To the strike that does it, in the plain order."""
    report = run_plans(foo_workload(*QUICK, add=add_plain_foo), replay="1:silent,2:409,40:500/9")
    assert str(report.failures[0].plan) == STORM


def test_the_report_is_the_same_for_any_number_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same failures in the same order; one that is like another is counted with it."""
    lines = ["1:lost", "1:silent,2:409/9", "2:crash-after", "1:silent"]
    monkeypatch.setattr(explorer, "all_plans", lambda *_: map(Plan.parse, lines))
    workload = foo_workload(*QUICK, add=add_plain_foo)
    one, three = (run_plans(workload, processes=number) for number in (1, 3))
    assert (one.plans, one.failed, one.failures) == (three.plans, three.failed, three.failures)
    assert [(failure.plan, [*map(str, failure.others)]) for failure in one.failures] == [
        (Plan.parse(STORM), [STORM])
    ]


def test_an_interrupt_ends_it_with_what_was_found() -> None:
    """Ctrl-C, here during the third plan."""

    def interrupt(report: Report) -> None:
        if report.plans == 2:
            raise KeyboardInterrupt

    report = run_plans(foo_workload(*QUICK), plans=40, progress=interrupt)
    assert (report.plans, report.is_interrupted) == (2, True)


def test_an_authors_invariant_is_judged() -> None:
    """First in the undisturbed run."""
    never = invariant("never", lambda _: False)
    with pytest.raises(AssertionError, match="the undisturbed run already fails:\nnever"):
        run_plans(foo_workload(), plans=1, invariants=(never,))


@pytest.mark.parametrize(
    ("reconcile", "words"),
    [
        (come_back, r"the run is at 22.\d\d s, and has reconciled default/a \d+ times"),
        (spin, r"the run is at 21.00 s, and has reconciled default/a 1 time, and is at test_explorer.py:\d+"),
    ],
)
def test_an_undisturbed_run_without_rest_has_an_end(reconcile: Any, words: str) -> None:
    """It says which object is reconciled, or where; the report has nothing to look at."""

    def set_up(manager: Manager) -> None:
        controller_for(manager, "foos").for_(Foo).complete(reconcile)

    with pytest.raises(UndisturbedError, match="it has not come to rest after 60 s of wall") as raised:
        run_plans(Workload(set_up, [applied(FOO)]))
    assert re.search(words, str(raised.value))
    assert not raised.value.report.has_ended


def test_children_inherit_what_the_undisturbed_run_has_cached() -> None:
    """It is played here, too, after a fork has shown that it comes to rest."""
    quick, set_ups = foo_workload(*QUICK), []

    def set_up(manager: Manager) -> None:
        set_ups.append(manager)
        quick.set_up(manager)

    run_plans(replace(quick, set_up=set_up, outside=(set_ups,)), plans=0)
    dry, played = set_ups
    assert dry is not played


def test_a_line_that_is_no_plan_is_refused() -> None:
    """Before anything is played of it."""
    with pytest.raises(ValueError, match="is not a plan"):
        run_plans(foo_workload(), replay="nonsense")


class Disk(Kind, group="example.org", version="v1"):
    """What owns a claim."""


def test_an_owned_claim_is_gone_in_the_end() -> None:
    """It is protected while it is in use, and nobody uses it."""

    def keep_claim(disk: Disk, context: Context) -> None:
        spec = PersistentVolumeClaimSpec(
            access_modes=("ReadWriteOnce",),
            resources=VolumeResourceRequirements(requests=FrozenMap({"storage": "1Gi"})),
        )
        context.apply(PersistentVolumeClaim.named(disk, spec=spec), owner=disk)

    def set_up(manager: Manager) -> None:
        builder = controller_for(manager, "disks").for_(Disk).owns(PersistentVolumeClaim)
        builder.writes(PersistentVolumeClaim, "create", "patch").complete(keep_claim)

    disk = {"apiVersion": "example.org/v1", "kind": "Disk", "metadata": {"name": "a"}}
    steps = [applied(disk), settled(), deleted(disk)]
    run_plans(Workload(set_up, steps), plans=20).check()


def left() -> tuple[int, int, int]:
    """Threads, open files and children of this process."""
    children = Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text(encoding="utf-8")
    return threading.active_count(), len([*Path("/proc/self/fd").iterdir()]), len(children.split())


def resident_pages() -> int:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text(encoding="utf-8").split()[1])


@pytest.mark.parametrize("plans", [10, pytest.param(1000, marks=pytest.mark.nightly)])
def test_plans_leave_nothing_behind(plans: int) -> None:
    """No thread, file or child, and little memory."""
    workload = foo_workload(*QUICK)
    run_plans(workload, plans=2)
    before = left()
    pages = resident_pages()
    run_plans(workload, plans=plans)
    assert left() == before
    assert (resident_pages() - pages) * resource.getpagesize() < MOST_BYTES


def test_a_replay_has_to_strike() -> None:
    """Else who replays the plan of an older operator takes its mistake for mended."""
    words = "99:lost strikes nothing: in the undisturbed run, the operator makes 6 writes"
    with pytest.raises(ValueError, match=words):
        run_plans(foo_workload(), replay="99:lost")
