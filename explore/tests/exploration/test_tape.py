"""A run in virtual time, recorded for the live page."""

from __future__ import annotations

import pytest

from handloop.seams.step_trace import TRACE
from handloop_explore.plan import Plan
from handloop_explore.play import play
from handloop_explore.tape import Tape
from handloop_explore.workload import applied
from support.builders.whole_states import whole_states
from support.builders.workloads import FOO, foo_workload

CRASH = Plan.parse("1:crash-after")


def test_a_recorded_run_is_the_same_run() -> None:
    """Down to the last switch of threads; then nothing listens to the steps."""
    tape = Tape()
    workload = foo_workload(applied(FOO))
    assert play(workload, CRASH, recording=tape.recording) == play(workload, CRASH)
    assert not TRACE.on


def test_a_recording_has_the_story_between_the_steps_and_the_state_after_them() -> None:
    """A mark leads to the step of a line of the story; another process begins without a state."""
    tape = Tape()
    played = play(foo_workload(applied(FOO)), CRASH, recording=tape.recording)
    words = [told.words for told in played.story]
    marks = {"crash": 2, "write": 4, "end": 99}
    run = tape.document({"name": "plan-1"}, marks, "It begins.")
    steps, states = run["steps"], whole_states(run)
    at = {name: steps[seq - 1] for name, seq in run["marks"].items()}
    assert at["crash"]["why"] == f"At 21.00 s {words[2]}."
    assert (at["write"]["step"], at["write"]["facts"]["code"]) == (10, "200")
    assert at["end"] is steps[-1]
    told = [step["why"].partition(" s ")[2].removesuffix(".") for step in steps if step["step"] == 0]
    assert told[1:] == [line for line in words if not line.startswith("write")]
    begin = next(step["seq"] for step in steps if words[3] in step["why"])
    assert "goes_on" not in steps[begin - 1]["facts"]
    assert not states[begin]["ready"]
    assert states[len(steps)]["queues"][0]["counts"]["processing"] == 0
    assert any(row["key"] for state in states.values() for row in state["workers"])


def test_only_a_worker_reads_for_a_key() -> None:
    """Virtual threads of one real thread are told apart."""
    tape = Tape()
    play(foo_workload(applied(FOO)), Plan(), recording=tape.recording)
    reads = [step for step in tape.document({}, {}, "")["steps"] if step["step"] == 9]
    assert {step["thread"] for step in reads if step["facts"]["worker"]} <= {"worker-0", "worker-1"}
    assert {step["facts"]["worker"] for step in reads} == {True, False}


def test_a_long_recording_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says so."""
    monkeypatch.setattr("handloop_explore.tape.MOST_STEPS", 20)
    tape = Tape()
    play(foo_workload(applied(FOO)), Plan(), recording=tape.recording)
    steps = tape.document({}, {}, "")["steps"]
    assert 0 < sum(step["step"] > 0 for step in steps) <= 20
    assert "The recording ends here, after 20 steps." in [step["why"] for step in steps]
