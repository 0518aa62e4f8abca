"""
Measures add, get and done with 1 and 4 threads, add of a waiting key, and add_after.

    python benchmarks/queue_cycles.py --items 200000 --rounds 5

Each thread adds its own keys and gets any keys. The standard library's queue is measured, too. It neither
merges equal keys nor limits a key to one worker, so it does less work in its time.
"""

from __future__ import annotations

import argparse
import queue
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tables import Row, Table, emit, parse

from handloop.informers.keys import ObjectName
from handloop.workqueue.priority_queue import PriorityQueue
from handloop.workqueue.queue import Queue
from handloop.workqueue.rate_limiters import default_controller_rate_limiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue

THREADS = (1, 4)

ADDS_AFTER = 10_000

Subject = Queue[ObjectName] | PriorityQueue[ObjectName]
Delaying = RateLimitingQueue[ObjectName] | PriorityQueue[ObjectName]


def keys(thread: int, count: int) -> list[ObjectName]:
    """Return keys for one thread, because a key that two threads add can be delivered once for both."""
    return [ObjectName("default", f"{thread}-{number}") for number in range(count)]


def cycle_ours(subject: Subject, mine: list[ObjectName]) -> None:
    """Run one add, one get and one done for each key."""
    add, get, done = subject.add, subject.get, subject.done
    for key in mine:
        add(key)
        done(get())


def cycle_standard(subject: queue.Queue[ObjectName], mine: list[ObjectName]) -> None:
    """The same with the standard library's words."""
    put, get, done = subject.put, subject.get, subject.task_done
    for key in mine:
        put(key)
        get()
        done()


def ours(make: Callable[[], Subject]) -> Callable[[list[list[ObjectName]]], float]:
    """Measure one of our queues. Returns: the seconds for the keys of all threads."""

    def run(shares: list[list[ObjectName]]) -> float:
        subject = make()
        seconds = timed(lambda share: cycle_ours(subject, share), shares)
        subject.shut_down()
        return seconds

    return run


def standard(shares: list[list[ObjectName]]) -> float:
    """Measures queue.Queue."""
    subject: queue.Queue[ObjectName] = queue.Queue()
    return timed(lambda share: cycle_standard(subject, share), shares)


def timed(work: Callable[[list[ObjectName]], None], shares: list[list[ObjectName]]) -> float:
    """Return the wall-clock seconds until every thread has processed its keys."""
    threads = [threading.Thread(target=work, args=(share,)) for share in shares]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


def add_known_us(subject: Subject, items: int) -> float:
    """Return the microseconds of adding a waiting key, as a handler does when its worker is behind."""
    waiting = keys(0, 100)
    subject.add_all(waiting)
    add, again = subject.add, waiting * (items // len(waiting))
    began = time.thread_time()
    for key in again:
        add(key)
    return (time.thread_time() - began) / len(again) * 1e6


def add_after_us(subject: Delaying, waiting: int) -> float:
    """Return the microseconds of an add_after while this many items wait for their time."""
    chance = random.Random(waiting)
    for key in keys(0, waiting):
        subject.add_after(key, chance.uniform(1000, 2000))
    calls = [(key, chance.uniform(1000, 2000)) for key in keys(1, ADDS_AFTER)]
    began = time.thread_time()
    for key, seconds in calls:
        subject.add_after(key, seconds)
    return (time.thread_time() - began) / ADDS_AFTER * 1e6


def rate_limiting() -> Delaying:
    """The queue of a controller by hand."""
    return RateLimitingQueue(default_controller_rate_limiter())


def prioritised() -> Delaying:
    """The queue of the runtime."""
    return PriorityQueue(default_controller_rate_limiter())


MAKE: dict[str, Callable[[], Subject]] = {
    "handloop Queue": Queue,
    "handloop RateLimitingQueue": rate_limiting,
    "handloop PriorityQueue": prioritised,
}
DELAYING = {"handloop RateLimitingQueue": rate_limiting, "handloop PriorityQueue": prioritised}
SUBJECTS = {"queue.Queue": standard, **{name: ours(make) for name, make in MAKE.items()}}


def measure(options: argparse.Namespace) -> dict[str, Row]:
    """Measure all subjects alternately. Returns: medians, and ratios computed per round."""
    found: dict[str, dict[str, list[float]]] = {name: {} for name in SUBJECTS}
    for _ in range(options.rounds):
        for threads in THREADS:
            shares = [keys(thread, options.items // threads) for thread in range(threads)]
            for name, run in SUBJECTS.items():
                cycle = run(shares) / options.items * 1e6
                found[name].setdefault(f"cycle us, {threads} thread{'s' * (threads > 1)}", []).append(cycle)
        for name, make in MAKE.items():
            found[name].setdefault("add of a known key us", []).append(add_known_us(make(), options.items))
    one = f"cycle us, {THREADS[0]} thread"
    base = found["handloop Queue"][one]
    rows = {
        name: {column: statistics.median(each) for column, each in row.items()} for name, row in found.items()
    }
    for name, row in rows.items():
        pairs = zip(found[name][one], base, strict=True)
        row["of Queue's"] = statistics.median(mine / other for mine, other in pairs)
    for name, delaying in DELAYING.items():
        for waiting in options.waiting:
            subject = delaying()
            rows[name][f"add_after us, {waiting:,} wait"] = add_after_us(subject, waiting)
            subject.shut_down()
    return dict(rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--waiting", type=int, nargs="*", default=[1_000, 1_000_000])
    options = parse(parser, items=2_000, rounds=1, waiting=[100, 1_000])
    setting = (
        f"{options.items} items, medians of {options.rounds} rounds. A cycle (add, get and done) is "
        "measured in wall time, with all threads on one queue; a single call in CPU time. "
        f"add_after is measured once, over {ADDS_AFTER} calls."
    )
    emit([Table("Work queues", setting, measure(options))], options.json)


if __name__ == "__main__":
    main()
