"""The ring of steps, and its viewers."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from handloop.picture.recorder import Batch, Recorder
from handloop.seams.step_trace import StepTrace


@pytest.fixture
def trace() -> StepTrace:
    return StepTrace()


def tell(trace: StepTrace, count: int) -> None:
    """So many steps, as the parts report them: only while there is a sink."""
    for number in range(count):
        if trace.on:
            trace.tell(8, "queue", f"key-{number}", waiting=number)


def numbers(batch: Batch) -> list[int]:
    return [step.seq for step in batch.steps]


def test_it_records_only_with_a_viewer(trace: StepTrace) -> None:
    """The first viewer starts it, the last one ends it; a second viewer changes nothing."""
    recorder = Recorder(trace=trace)
    on = [trace.on]
    for change in (recorder.join, recorder.join, recorder.leave, recorder.leave):
        change()
        on.append(trace.on)
        tell(trace, 1)
    assert on == [False, True, True, True, False]
    assert recorder.steps() == []


def test_a_step_has_number_time_and_thread(trace: StepTrace) -> None:
    """All reported steps, with their thread and time."""
    recorder = Recorder(trace=trace, now=lambda: 12.5)
    recorder.join()
    thread = threading.Thread(target=tell, args=(trace, 1), name="worker-7")
    thread.start()
    thread.join()
    assert recorder.steps() == [(1, 12.5, "worker-7", 8, "queue", "key-0", {"waiting": 0})]


def test_each_viewer_reads_at_its_own_pace(trace: StepTrace) -> None:
    """A cursor gets every step after it once, in order, and not more at a time than it asks for."""
    recorder = Recorder(trace=trace)
    fast = slow = recorder.join()
    tell(trace, 3)
    batch = recorder.after(fast, 10)
    assert (numbers(batch), batch.cursor, batch.missed) == ([1, 2, 3], 3, 0)
    assert numbers(recorder.after(batch.cursor, 10)) == []
    tell(trace, 1)
    assert numbers(recorder.after(batch.cursor, 10)) == [4]
    assert numbers(recorder.after(slow, 2)) == [1, 2]
    assert numbers(recorder.after(2, 10)) == [3, 4]


def test_a_viewer_that_is_too_slow_knows_how_many_steps_it_missed(trace: StepTrace) -> None:
    """The ring holds 4. With the cursor at the oldest but one nothing is missed; one step later all are."""
    recorder = Recorder(trace=trace, size=4)
    cursor = recorder.join()
    tell(trace, 4)
    assert numbers(recorder.after(cursor, 10)) == [1, 2, 3, 4]
    tell(trace, 1)
    assert recorder.after(cursor, 10) == Batch((), 5, 5)
    assert numbers(recorder.after(1, 10)) == [2, 3, 4, 5]


def test_a_pause_of_the_recording_is_no_silent_gap(trace: StepTrace) -> None:
    """A cursor from before the pause, or from another process, learns that it missed something."""
    recorder = Recorder(trace=trace)
    cursor = recorder.join()
    recorder.leave()
    tell(trace, 5)
    began = recorder.join()
    tell(trace, 1)
    assert recorder.after(cursor, 10).missed is None
    assert recorder.after(99, 10).missed is None
    assert len(recorder.after(began, 10).steps) == 1


def test_close_ends_it_with_any_viewers(trace: StepTrace) -> None:
    """The end of the server is not up to its viewers."""
    recorder = Recorder(trace=trace)
    recorder.join()
    recorder.close()
    assert not trace.on


def test_steps_of_many_threads_have_numbers_without_gaps(trace: StepTrace) -> None:
    """Four threads report 500 steps each: 2000 numbers, each once, in the order of the ring."""
    recorder = Recorder(trace=trace)
    recorder.join()
    threads: list[Any] = [threading.Thread(target=tell, args=(trace, 500)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [step.seq for step in recorder.steps()] == list(range(1, 2001))
