"""
Compares first sync and watch events in handloop, its peers and bare decoding, alternately in one run.

    make bench        or        python benchmarks/sync_and_events.py --objects 10000 --events 50000 --rounds 5

With --pause-us, the server sends each event alone, and each event wakes the subject; use fewer events then.
client-go takes part if the program of peers/client_go was built: --client-go BINARY.
"""

from __future__ import annotations

import argparse
import json
import mmap
import statistics
import subprocess
import sys
from pathlib import Path

from tables import Row, Table, emit, medians, parse

HERE = Path(__file__).parent
SUBJECTS = {
    "floor: msgspec": "floor.py",
    "plain urllib3": "plain_urllib3.py",
    "handloop": "handloop_informer.py",
    "handloop, all fields": "handloop_all_fields.py",
    "official client": "official.py",
    "lightkube": "lightkube_listwatch.py",
}
CLIENT_GO = "client-go"
SLOW = {"official client": 5, "lightkube": 5}
"""The factor by which these subjects receive fewer events, to keep rounds short; figures are per event."""
WARM_BYTES = 3 * 2**29

Laps = dict[str, dict[str, float]]


def touch_memory() -> None:
    """
    Touch more memory than a subject needs, because on a virtual machine a first touch can cost more than
    work.
    """
    with mmap.mmap(-1, WARM_BYTES) as area:
        for offset in range(0, WARM_BYTES, mmap.PAGESIZE):
            area[offset] = 1


def run(program: list[str], port: int, objects: int, events: int) -> Laps:
    """Run one subject in its own process."""
    command = [*program, str(port), str(objects), str(events)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    laps: Laps = json.loads(done.stdout.splitlines()[-1])
    return laps


def start_server(objects: int, events: int, pause_us: float) -> tuple[subprocess.Popen[str], int]:
    """The load generator and its port."""
    command = [
        sys.executable,
        str(HERE / "load_server.py"),
        "--objects",
        str(objects),
        "--events",
        str(events),
        "--pause-us",
        str(pause_us),
    ]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    return server, int(server.stdout.readline())


def measure(
    objects: int,
    events: int,
    rounds: int,
    subjects: dict[str, list[str]],
    *,
    pause_us: float = 0,
    touch: bool = True,
) -> dict[str, list[dict[str, float]]]:
    """Measure all subjects alternately. Returns: one dict of per-object figures for each round."""
    divisors = {SLOW.get(subject, 1) for subject in subjects}
    servers = {divisor: start_server(objects, events // divisor, pause_us) for divisor in divisors}
    results: dict[str, list[dict[str, float]]] = {subject: [] for subject in subjects}
    try:
        for number in range(rounds):
            for subject, program in subjects.items():
                if touch:
                    subprocess.run([sys.executable, __file__, "--touch"], check=True)
                count = events // SLOW.get(subject, 1)
                laps = run(program, servers[SLOW.get(subject, 1)][1], objects, count)
                results[subject].append(
                    {
                        "sync us": laps["sync"]["cpu"] / objects * 1e6,
                        "sync wall us": laps["sync"]["wall"] / objects * 1e6,
                        "bytes": laps["sync"]["memory"] / objects,
                        "event us": laps["events"]["cpu"] / count * 1e6,
                        "event wall us": laps["events"]["wall"] / count * 1e6,
                    }
                )
            print(f"round {number + 1} of {rounds} done", file=sys.stderr)
    finally:
        for server, _ in servers.values():
            assert server.stdin is not None
            server.stdin.close()
            server.wait()
    return results


def table(results: dict[str, list[dict[str, float]]]) -> dict[str, Row]:
    """Return the medians, and the ratios to the floor, computed per round."""
    floor = results.get("floor: msgspec") or next(iter(results.values()))
    return {
        subject: {
            **medians(rounds),
            "sync/floor": statistics.median(
                entry["sync us"] / base["sync us"] for entry, base in zip(rounds, floor, strict=True)
            ),
            "events/floor": statistics.median(
                base["event us"] / entry["event us"] for entry, base in zip(rounds, floor, strict=True)
            ),
        }
        for subject, rounds in results.items()
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--events", type=int, default=50_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pause-us", type=float, default=0, help="the pause between events, 0 = bursts")
    parser.add_argument("--only", nargs="*", choices=list(SUBJECTS), default=list(SUBJECTS))
    parser.add_argument("--client-go", type=Path, help="the program of peers/client_go")
    parser.add_argument("--touch", action="store_true", help=argparse.SUPPRESS)
    options = parse(parser, objects=500, events=1000, rounds=1)
    if options.touch:
        touch_memory()
        return
    subjects = {name: [sys.executable, str(HERE / "subjects" / SUBJECTS[name])] for name in options.only}
    if options.client_go is not None:
        subjects[CLIENT_GO] = [str(options.client_go)]
    results = measure(
        options.objects,
        options.events,
        options.rounds,
        subjects,
        pause_us=options.pause_us,
        touch=not options.smoke,
    )
    sent = f"one event every {options.pause_us:g} us" if options.pause_us else "events in bursts of 64"
    setting = (
        f"{options.objects} Deployments of 4 kB and {options.events} events, medians of {options.rounds} "
        f"rounds. The server sends {sent}, each as a separate chunk. sync us is the process's CPU time "
        "per object, event us per event; bytes is the memory per cached object. sync/floor is sync us "
        "divided by the floor row's; events/floor is the floor row's event us divided by this row's."
    )
    emit([Table(f"First sync, {sent}", setting, table(results))], options.json)


if __name__ == "__main__":
    main()
