"""
Measures the live page's cost for a watch event, without a viewer and with one, alternately in one run.

Without a viewer, each step costs one test. That is less than a run can measure, so the test is timed
separately: twelve tests are an upper bound of the cost for an event.

    python benchmarks/live_page.py --events 30000 --rounds 15
"""

from __future__ import annotations

import argparse
import statistics
import sys
import timeit
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from sync_and_events import measure
from tables import Row, Table, emit, parse

from handloop.seams.step_trace import TRACE

SUBJECTS = Path(__file__).parent / "subjects"
LOOPS = 1_000_000
STEPS = 12
PROGRAMS = {"nobody looks": "handloop_informer.py", "one viewer": "viewed_informer.py"}


def test_microseconds() -> float:
    """Return the duration of one `if TRACE.on`, without that of the loop around it."""
    names = {"TRACE": TRACE}
    tests, nothing = (
        min(timeit.repeat(code, globals=names, number=LOOPS, repeat=9))
        for code in ("if TRACE.on: pass", "pass")
    )
    return (tests - nothing) / LOOPS * 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parse(parser, objects=200, events=500, rounds=2)
    subjects = {name: [sys.executable, str(SUBJECTS / file)] for name, file in PROGRAMS.items()}
    results = measure(options.objects, options.events, options.rounds, subjects, touch=not options.smoke)
    base, *_ = results.values()
    rows: dict[str, Row] = {}
    for name, rounds in results.items():
        ratios = [one["event us"] / other["event us"] for one, other in zip(rounds, base, strict=True)]
        # quartiles need at least two values
        low, middle, high = statistics.quantiles(ratios if ratios[1:] else ratios * 2, n=4)
        event = statistics.median(one["event us"] for one in rounds)
        rows[name] = {"event us": event, "ratio": middle, "quartile 1": low, "quartile 3": high}
    twelve = STEPS * test_microseconds()
    rows["twelve tests alone"] = {
        "event us": twelve,
        "ratio": twelve / statistics.median(one["event us"] for one in base),
    }
    setting = (
        f"{options.events} events for {options.objects} Deployments of 4 kB, {options.rounds} rounds. "
        "event us is the process's median CPU time per event. ratio is the median ratio to the first row in "
        "the same round."
    )
    emit([Table("The live page", setting, rows)], options.json)


if __name__ == "__main__":
    main()
