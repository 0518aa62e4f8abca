"""
What the live page costs a watch event: tests compiled away, nobody looking, one viewer; in turn, in one run.

    python benchmarks/live_page.py --events 30000 --rounds 15
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import sys
from pathlib import Path

from sync_and_events import measure

SUBJECT = Path(__file__).parent / "subjects" / "traced_informer.py"
MODES = {"tests compiled away": "without", "nobody looks": "unseen", "one viewer": "seen"}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=1_000)
    parser.add_argument("--events", type=int, default=30_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    subjects = {name: [sys.executable, str(SUBJECT), mode] for name, mode in MODES.items()}
    results = measure(options.objects, options.events, options.rounds, subjects)
    print(
        f"{options.events} events over {options.objects} Deployments of 4 kB, {options.rounds} rounds; "
        f"Python {platform.python_version()}, {os.cpu_count()} cores\n"
        "CPU microseconds of the whole process per event, median; ratio round by round: median, quartiles\n"
    )
    base, *_ = results.values()
    for name, rounds in results.items():
        ratios = [one["event us"] / other["event us"] for one, other in zip(rounds, base, strict=True)]
        low, middle, high = statistics.quantiles(ratios, n=4)
        median = statistics.median(one["event us"] for one in rounds)
        print(f"{name:22}{median:10.1f}{middle:10.3f}x   {low:.3f} to {high:.3f}")


if __name__ == "__main__":
    main()
