"""Workers, listeners and a watch that lags, all at once: nothing is lost, and no worker acts on the past."""

from __future__ import annotations

import queue
import random
import threading

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.controller.runtime.reconcile import ReconcileError, Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import ControllerOptions
from handloop.controller.runtime.sources.reconcile_queue import Cause, ReconcileQueue
from handloop.informers.keys import ObjectName
from handloop.seams.clock import REAL_CLOCK
from handloop.seams.seams import REAL_SEAMS
from handloop.testing.eventually import eventually as until
from handloop.workqueue.queue import QueueOptions
from support.builders.deployments import deployment
from support.checks.threads import Background
from support.rigs.reconcile_rig import ReconcileRig

NAMES = [ObjectName("default", f"n{i}") for i in range(3)]
CHANGES = 60
LAG_SECONDS = 0.004


class LaggingCluster:
    """
    Wanted numbers, and children that hold numbers; a write reaches the cache some time later.

    State, under lock: wanted, children = name -> (number, resource version), version. seen_late collects
    reconciles that saw a cache older than what the same name had written.
    """

    def __init__(self, seed: int) -> None:
        self.lock = threading.Lock()
        self.random = random.Random(seed)
        self.wanted = dict.fromkeys(NAMES, 0)
        self.written = dict.fromkeys(NAMES, 0)
        self.version = 1
        self.seen_late: list[str] = []
        self.events: queue.Queue[Deployment | None] = queue.Queue()
        self.rig = ReconcileRig(self.reconcile)

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        cached = self.rig.mirror.get_by_key(str(name))
        has = int(cached.metadata.resource_version) if cached else 0
        with self.lock:
            if has < self.written[name]:
                self.seen_late.append(f"{name}: cache {has}, written {self.written[name]}")
            number = int(dict(cached.metadata.labels)["number"]) if cached else 0
            if number == self.wanted[name]:
                return Result(requeue_after=0.01) if self.random.random() < 0.2 else None
            if self.random.random() < 0.2:
                raise ReconcileError("by chance")
            self.version += 1
            labels = {"number": str(self.wanted[name])}
            child = deployment(name.name, self.version, labels=labels)
            self.written[name] = self.version
        context.wrote(child)
        self.events.put(child)
        return None

    def deliver(self) -> None:
        """The informer and its listener: the cache first, then the handlers."""
        pause = threading.Event()
        while (child := self.events.get()) is not None:
            pause.wait(LAG_SECONDS)
            self.rig.mirror.put(child)
            name = ObjectName("default", child.metadata.name)
            self.rig.own_writes.observed(Deployment.resource.group_resource, name)
            self.rig.queue.add(name, Cause("Deployment", "updated", str(name)))

    def change(self) -> None:
        """Somebody wants something else, again and again while writes are under way."""
        pause = threading.Event()
        for number in range(1, CHANGES + 1):
            pause.wait(LAG_SECONDS / 4)
            with self.lock:
                name = self.random.choice(NAMES)
                self.wanted[name] = number
            self.rig.queue.add(name, Cause("wish"))

    def has_converged(self) -> bool:
        """Whether every child in the cache has its wanted content."""
        with self.lock:
            wanted = dict(self.wanted)
        cached = {name: self.rig.mirror.get_by_key(str(name)) for name in NAMES}
        numbers = {
            name: int(dict(child.metadata.labels)["number"]) if child else 0 for name, child in cached.items()
        }
        return numbers == wanted


@pytest.mark.parametrize("seed", range(8))
def test_everything_converges_and_no_worker_acts_on_the_past(seed: int) -> None:
    """Four workers, failures by chance, wishes meanwhile: all ends as wanted, no worker decides too early."""
    cluster = LaggingCluster(seed)
    rig = cluster.rig
    rig.queue = rig.controller.queue = ReconcileQueue(QueueOptions(name="rig"))
    rig.own_writes._wake = rig.queue.wake
    rig.own_writes._clock = rig.controller._clock = REAL_CLOCK
    rig.controller._options = ControllerOptions(max_concurrent_reconciles=4)
    rig.controller._spawn = REAL_SEAMS.spawn
    stop = threading.Event()
    delivering = Background(cluster.deliver)
    running = Background(lambda: rig.controller.run(stop))
    changing = Background(cluster.change)
    try:
        changing.result()
        until(cluster.has_converged, f"converged (seed {seed})", seconds=20)
    finally:
        stop.set()
        running.result()
        cluster.events.put(None)
        delivering.result()
    assert cluster.seen_late == []
    assert rig.controller.statistics().unexpected == 0
    assert rig.metric("handloop_own_write_timeouts_total") == 0
