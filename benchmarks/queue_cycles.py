"""
add, get, done: cycles per second with 1 and 4 threads, beside the standard library's queue, in turn.

    python benchmarks/queue_cycles.py --items 200000 --rounds 5

Each thread adds keys of its own and takes any others; the standard library's queue neither joins equal
keys nor keeps a key to one worker, so it does less for its time.
"""

from __future__ import annotations

import argparse
import queue
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from handloop.informers.keys import ObjectName
from handloop.workqueue.priority_queue import PriorityQueue
from handloop.workqueue.queue import Queue
from handloop.workqueue.rate_limiters import default_controller_rate_limiter
from handloop.workqueue.rate_limiting_queue import RateLimitingQueue

THREADS = (1, 4)

Subject = Queue[ObjectName] | PriorityQueue[ObjectName]


def keys(thread: int, count: int) -> list[ObjectName]:
    """Keys that no other thread adds: a key that two threads add may be delivered once for both."""
    return [ObjectName("default", f"{thread}-{number}") for number in range(count)]


def cycle_ours(subject: Subject, mine: list[ObjectName]) -> None:
    """One add, one get, one done for each key."""
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
    """Measures one of our queues: seconds for all threads' keys."""

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
    """Wall seconds until every thread is through its share."""
    threads = [threading.Thread(target=work, args=(share,)) for share in shares]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - began


SUBJECTS: dict[str, Callable[[list[list[ObjectName]]], float]] = {
    "queue.Queue": standard,
    "handloop Queue": ours(Queue),
    "handloop RateLimitingQueue": ours(lambda: RateLimitingQueue(default_controller_rate_limiter())),
    "handloop PriorityQueue": ours(lambda: PriorityQueue(default_controller_rate_limiter())),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    rates: dict[tuple[str, int], list[float]] = {(name, n): [] for name in SUBJECTS for n in THREADS}
    for _ in range(options.rounds):
        for threads in THREADS:
            shares = [keys(thread, options.items // threads) for thread in range(threads)]
            for name, run in SUBJECTS.items():
                rates[name, threads].append(options.items / run(shares))
    print(f"cycles of add, get, done per second; {options.items} items, medians of {options.rounds} rounds\n")
    print(f"{'':28}" + "".join(f"{f'{threads} thread(s)':>22}" for threads in THREADS))
    for name in SUBJECTS:
        cells = []
        for threads in THREADS:
            pairs = zip(rates[name, threads], rates["queue.Queue", threads], strict=True)
            ratio = statistics.median(rate / base for rate, base in pairs)
            cells.append(f"{statistics.median(rates[name, threads]):14,.0f} {ratio:6.2f}x")
        print(f"{name:28}" + "".join(f"{cell:>22}" for cell in cells))


if __name__ == "__main__":
    main()
