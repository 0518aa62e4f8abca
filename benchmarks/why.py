"""
Measures the cost of the record of decisions, which `why` reads: CPU time of reconciles without writes, and
memory.

    python benchmarks/why.py --names 2000 --turns 10 --rounds 9

Idle MyApps are reconciled repeatedly on a sandbox in this process, alternately with and without the record.
Memory is that of 10,000 names with the maximum number of lines. Half of the names fail, with errors of 120
letters.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tables import Row, Table, emit, parse

from handloop.apis.meta import ObjectMeta
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp, MyAppSpec
from handloop.controller.runtime.sources.decisions import FAILED, LINES, NAMES, SETTLED, Decisions
from handloop.informers.keys import ObjectName
from handloop.seams.clock import REAL_CLOCK
from handloop.testing.eventually import eventually
from handloop.testing.managed_sandbox import ManagedSandbox


def reconciling_seconds(names: int, turns: int, *, records: bool) -> float:
    """CPU seconds of a reconcile at rest."""
    cluster = ManagedSandbox(MyApp)
    manager = cluster.manager()
    controller: Any = add_myapp(manager)
    if not records:
        controller.decisions.reconciled = controller.decisions.note = lambda *_, **__: None
    apps = cluster.client.resource(MyApp)
    for number in range(names):
        metadata = ObjectMeta(name=f"app-{number}", namespace="default")
        apps.create(MyApp(metadata=metadata, spec=MyAppSpec(image="nginx")))
    keys = [ObjectName("default", f"app-{number}") for number in range(names)]
    with contextlib.redirect_stderr(None), cluster.running(manager):
        eventually(lambda: _is_at_rest(controller, names), "at rest", seconds=300)
        before, began = controller.statistics().succeeded, time.process_time()
        for _ in range(turns):
            for key in keys:
                controller.enqueue(key, "again")
            goal, pause = before + names, threading.Event()
            while controller.statistics().succeeded < goal:
                pause.wait(0.005)
            before = goal
        return (time.process_time() - began) / (turns * names)


def _is_at_rest(controller: Any, names: int) -> bool:
    return controller.statistics().succeeded >= 2 * names and not controller.queue.statistics().queued


def bytes_a_name(names: int) -> float:
    """Return the bytes per name, if each name has the maximum number of lines."""
    keys = [ObjectName("default", f"app-{number}") for number in range(names)]
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    decisions = Decisions(REAL_CLOCK)
    for turn in range(LINES):
        for number, key in enumerate(keys):
            causes = (f"Deployment default/app-{number} updated {turn}"[:-2],)
            text = f"{turn}{number:>119}" if turn % 2 and number % 2 else "" if turn % 2 else str(turn)
            what = FAILED if text else SETTLED
            decisions.reconciled(key, what, text, causes=causes, began_at=time.monotonic(), changes="")
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return (after - before) / names


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--names", type=int, default=2000)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=9)
    options = parse(parser, names=20, turns=2, rounds=1)
    with_it, without, ratios = [], [], []
    for _ in range(options.rounds):
        one = reconciling_seconds(options.names, options.turns, records=True)
        other = reconciling_seconds(options.names, options.turns, records=False)
        with_it.append(one)
        without.append(other)
        ratios.append(one / other)
    rows: dict[str, Row] = {
        "with the record": {
            "reconcile us": statistics.median(with_it) * 1e6,
            "ratio": statistics.median(ratios),
            "bytes a name": bytes_a_name(min(NAMES, options.names * 5)),
        },
        "without": {"reconcile us": statistics.median(without) * 1e6, "ratio": 1.0},
    }
    setting = f"{options.names} MyApps at rest, reconciled {options.turns} times; {options.rounds} rounds."
    emit([Table("What `why` costs", setting, rows)], options.json)


if __name__ == "__main__":
    main()
