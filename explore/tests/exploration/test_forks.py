"""Plans played by forks. Most tests play a run of three calls that has neither cluster nor operator."""

from __future__ import annotations

import math
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from handloop_explore import forks
from handloop_explore.forks import Lost, PlayTrunk, called_in_fork, played_by_forks
from handloop_explore.plan import Plan
from handloop_explore.play import Forking, play
from handloop_explore.played import Played
from handloop_explore.workload import Workload
from support.builders.workloads import MYAPP_LIFE, foo_workload

NOTHING = Played(Plan(), [], [], [], 0, {}, [], "", [], 0)
FOUR = ["", "3:lost", "1:409", "2:500"]


def of_three_calls(act: Callable[[Plan], object] = lambda _: None) -> PlayTrunk:
    """The play of a run in which a child does something."""

    def play_it(forking: Forking) -> None:
        for call in range(4):
            if plan := forking.branch(partial(begins_at, call)):
                act(plan)
                forking.done(NOTHING._replace(plan=plan))
        forking.done(NOTHING)

    return play_it


def begins_at(call: int, plan: Plan) -> object:
    """Whether a plan begins at a call, 0 = at the beginning."""
    return plan.at(call) if call else not plan.strikes


def outcomes(play_it: PlayTrunk, *plans: str, processes: int = 2, **options: Any) -> dict[str, Any]:
    """By plan. A child tells its plan and its pid."""
    wanted = [Plan.parse(plan) for plan in plans]
    found = played_by_forks(
        play_it,
        wanted,
        lambda played: (str(played.plan), os.getpid()),
        processes=processes,
        until=math.inf,
        **options,
    )
    return {str(wanted[index]): outcome for index, outcome in found}


@pytest.mark.parametrize(
    ("workload", "plans"),
    [
        (foo_workload(), ["", "/7", "1:crash-after", "1:lost,3:crash-before/5", "4:silent", "99:lost/3"]),
        (MYAPP_LIFE, ["/7", "2:crash-after/9", "5:rival-recreate"]),
    ],
    ids=["foo", "myapp"],
)
def test_a_fork_plays_the_same_run(workload: Workload, plans: list[str]) -> None:
    """As this process does from the beginning: writes, story, states, and switches of threads."""
    wanted = [Plan.parse(plan) for plan in plans]

    def trunk(forking: Forking) -> None:
        play(workload, Plan(), forking=forking)

    found = dict(played_by_forks(trunk, wanted, lambda played: played, processes=2, until=math.inf))
    assert [found[index] for index in range(len(wanted))] == [play(workload, plan) for plan in wanted]


def test_each_plan_has_its_process_which_is_gone_afterwards() -> None:
    """A plan that never strikes is the undisturbed run, which the trunk has played."""
    found = outcomes(of_three_calls(), *FOUR, "9:lost")
    assert {plan: told for plan, (told, _) in found.items()} == {plan: plan for plan in (*FOUR, "9:lost")}
    pids = {pid for _, pid in found.values()}
    assert len(pids) == len(found)
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_so_many_children_play_at_once(tmp_path: Path) -> None:
    """With one, each ends before the next begins."""
    log = tmp_path / "log"

    def act(plan: Plan) -> None:
        for _ in range(2):
            with log.open("a", encoding="utf-8") as file:
                file.write(f"{plan}\n")

    outcomes(of_three_calls(act), *FOUR, processes=1)
    assert log.read_text(encoding="utf-8").split("\n") == [
        "",
        "",
        *["1:409"] * 2,
        *["2:500"] * 2,
        *["3:lost"] * 2,
        "",
    ]


def fail(plan: Plan) -> None:
    raise ZeroDivisionError(f"of {plan}")


@pytest.mark.parametrize(
    ("act", "seconds", "why"),
    [
        (lambda _: time.sleep(60), 3.0, "the plan did not end within 3 s of wall time"),
        (
            lambda _: os.kill(os.getpid(), signal.SIGKILL),
            60.0,
            "SIGKILL ended the process that played the plan",
        ),
        (lambda _: os._exit(3), 60.0, "the process that played the plan ended with exit code 3"),
        (fail, 60.0, "ZeroDivisionError: of 1:409"),
    ],
)
def test_a_child_that_fails_is_told_of(act: Callable[[Plan], object], seconds: float, why: str) -> None:
    """And the others play on."""
    trunk = of_three_calls(lambda plan: plan.at(1) and act(plan))
    found = outcomes(trunk, *FOUR, plan_seconds=seconds)
    lost = found.pop("1:409")
    assert isinstance(lost, Lost)
    assert why in lost.why
    assert {told for told, _ in found.values()} == {*FOUR} - {"1:409"}


def test_the_trunks_own_failure_is_told_of_each_plan() -> None:
    """That has not begun."""

    def trunk(forking: Forking) -> None:
        if plan := forking.branch(partial(begins_at, 1)):
            forking.done(NOTHING._replace(plan=plan))
        raise ZeroDivisionError("here")

    found = outcomes(trunk, *FOUR)
    assert found.pop("1:409")[0] == "1:409"
    assert ["ZeroDivisionError: here" in lost.why for lost in found.values()] == [True] * 3


@pytest.mark.parametrize("at_once", [True, False])
def test_whoever_stops_asking_ends_all_children(
    at_once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that play, too: by closing the iterator, and when the time is over."""
    pid = tmp_path / "pid"
    now = [0.0]
    monkeypatch.setattr(forks, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def act(plan: Plan) -> None:
        if plan.at(2):
            begun = pid.with_suffix(".begun")
            begun.write_text(str(os.getpid()), encoding="utf-8")
            begun.rename(pid)
            time.sleep(60)
        while not pid.exists():
            time.sleep(0.01)

    plans = [Plan.parse("2:500"), Plan.parse("3:lost")]
    until = math.inf if at_once else 60.0
    found = played_by_forks(of_three_calls(act), plans, str, processes=2, until=until, plan_seconds=60)
    assert next(found)[0] == 1
    if at_once:
        found.close()  # type: ignore[attr-defined] # a generator
    else:
        now[0] = until
        assert list(found) == []
    assert not Path(f"/proc/{pid.read_text(encoding='utf-8')}").exists()


def test_a_call_in_a_fork() -> None:
    """What it returns; what it does, if it takes too long; nothing, if it raises or ends its process."""
    calls: dict[str, Callable[[], object]] = {
        "returns": os.getpid,
        "hangs": lambda: time.sleep(60),
        "raises": lambda: 1 / 0,
        "ends": lambda: os._exit(0),
    }
    found = {
        name: called_in_fork(call, seconds=0.2 if name == "hangs" else 60.0, where=lambda _: "in bed")
        for name, call in calls.items()
    }
    assert found.pop("returns") not in (None, os.getpid())
    assert found == {"hangs": Lost("in bed"), "raises": None, "ends": None}


def test_an_interrupt_while_it_forks_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes afterwards, and the child goes; in the hooks of a fork nobody would hear of it."""
    pids: list[int] = []
    fork = os.fork

    def interrupted_fork() -> int:
        os.kill(os.getpid(), signal.SIGINT)
        pids.append(fork())
        if not pids[0]:
            while signal.SIGTERM not in signal.sigpending():  # as in the hooks of a fork, which take a while
                time.sleep(0.01)
        return pids[0]

    monkeypatch.setattr(os, "fork", interrupted_fork)
    with pytest.raises(KeyboardInterrupt):
        called_in_fork(signal.pause, seconds=3600, where=str)
    assert not Path(f"/proc/{pids[0]}").exists()


def test_a_fork_that_fails_leaves_ctrl_c_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system may have no process left."""

    def refuse() -> int:
        raise BlockingIOError

    monkeypatch.setattr(os, "fork", refuse)
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(BlockingIOError):
        called_in_fork(int, seconds=1, where=str)
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
