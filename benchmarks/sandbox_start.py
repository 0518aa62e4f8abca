"""Measures how long a sandbox takes until it answers, in new processes and repeatedly in the same one."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from tables import Row, Table, emit, parse

ROOT = Path(__file__).parents[1]
NAMES = ("import, once a process", "first start", "later starts", "a test's fixture, start and stop")
PROGRAM = """
import json, tempfile, time, urllib.request
from pathlib import Path

def now():
    return [time.perf_counter(), time.process_time()]

def since(before):
    return [after - start for start, after in zip(before, now())]

def once():
    began_at = now()
    server = Sandbox()
    url = server.start()
    urllib.request.urlopen(f"{url}/{server.token}/api/v1/namespaces").read()
    seconds = since(began_at)
    server.stop()
    return seconds

def fixture():
    began_at = now()
    with running_sandbox(folder):
        pass
    return since(began_at)

def later(call):
    return sorted(call() for _ in range(9))[4]

began_at = now()
from handloop_sandbox.server import Sandbox
imported = since(began_at)
measured = [imported, once(), later(once)]
from handloop.testing.running_sandbox import running_sandbox
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    fixture()
    print(json.dumps([*measured, later(fixture)]))
"""


def main() -> None:
    """Measure, and print medians in milliseconds of wall-clock time and of CPU time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    options = parse(parser, rounds=1)
    rounds: list[list[list[float]]] = []
    for _ in range(options.rounds):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
        )
        rounds.append(json.loads(done.stdout))
    rows: dict[str, Row] = {}
    for name, values in zip(NAMES, zip(*rounds, strict=True), strict=True):
        wall, cpu = (1000 * statistics.median(column) for column in zip(*values, strict=True))
        rows[name] = {"wall ms": wall, "CPU ms": cpu}
    setting = (
        "The time until the first request is answered (for the fixture: until it finishes), "
        f"medians of {options.rounds} rounds."
    )
    emit([Table("Start of the sandbox", setting, rows)], options.json)


if __name__ == "__main__":
    main()
