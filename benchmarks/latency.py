"""
Measures how long watch events take from the server to the handler, in handloop and client-go alternately.

    python benchmarks/latency.py --client-go BINARY --rate 200 --workers 4 --events 2000 --rounds 3

Each event is sent alone. The handler adds a key to a workqueue, whose workers compute for half a millisecond
and then wait for as long. BINARY is the program of peers/client_go.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

import tables

HERE = Path(__file__).parent
OBJECTS = 1000


def delays(command: list[str], rate: float, events: int, workers: int) -> list[float]:
    """Return each event's delay in milliseconds. A new server stamps the events as it sends them."""
    serve = [sys.executable, str(HERE / "load_server.py"), f"--objects={OBJECTS}", f"--events={events}"]
    serve += [f"--pause-us={1e6 / rate}", "--stamp"]
    server = subprocess.Popen(serve, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    assert server.stdin is not None
    try:
        arguments = [server.stdout.readline().strip(), *map(str, (OBJECTS, events, workers))]
        run = subprocess.run([*command, *arguments], check=True, capture_output=True, text=True, timeout=300)
    finally:
        server.stdin.close()
        server.wait()
    return [nanoseconds / 1e6 for nanoseconds in json.loads(run.stdout)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--client-go", type=Path, help="the program of peers/client_go")
    parser.add_argument("--rate", type=float, default=200, help="events per second")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=3)
    options = tables.parse(parser, events=100, rounds=1)
    subjects = {"handloop": [sys.executable, str(HERE / "subjects" / "handler_latency.py")]}
    if options.client_go:
        subjects["client-go"] = [str(options.client_go)]
    rounds: dict[str, list[dict[str, float]]] = {subject: [] for subject in subjects}
    for _ in range(options.rounds):
        for subject, command in subjects.items():
            hundredths = statistics.quantiles(
                delays(command, options.rate, options.events, options.workers), n=100
            )
            rounds[subject].append({"p50 ms": hundredths[49], "p99 ms": hundredths[98]})
    title = f"Latency at {options.rate:g} events a second, {options.workers} busy workers"
    setting = (
        f"{options.events} events, medians of {options.rounds} rounds. "
        "Each value is the time from sending an event to calling its handler."
    )
    rows = {subject: tables.medians(found) for subject, found in rounds.items()}
    tables.emit([tables.Table(title, setting, rows)], options.json)


if __name__ == "__main__":
    main()
