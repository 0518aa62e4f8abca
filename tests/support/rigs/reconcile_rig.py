"""One runtime controller with a scripted reconciler, a fake clock and hand-filled caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import Kind
from handloop.client.resource_client import Client
from handloop.controller.runtime.guards.hot_loops import HotLoops
from handloop.controller.runtime.guards.own_writes import OwnWrites
from handloop.controller.runtime.guards.quiet_faults import QuietFaults
from handloop.controller.runtime.guards.reconcile_writes import ReconcileWrites
from handloop.controller.runtime.metrics.controller_metrics import OwnWriteMetrics, ReconcileMetrics
from handloop.controller.runtime.reconcile import Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.reconciling.controller import Controller, ControllerOptions
from handloop.controller.runtime.sources.reconcile_queue import Cause, ReconcileQueue
from handloop.informers.keys import ObjectName
from handloop.seams.seams import Seams
from handloop.seams.threads import Joinable
from handloop.testing.fake_clock import FakeClock
from handloop.workqueue.queue import QueueOptions
from support.doubles.fake_api import FakeAPI

NAME = ObjectName("default", "a")
UPDATED = Cause("Deployment", "updated", "default/a")
RESYNCED = Cause("Deployment", "resynced", "default/a", is_resync=True)

Script = Callable[[ObjectName, Context], Any]


class _NoThread:
    def join(self, timeout: float | None = None) -> None:
        pass

    def is_alive(self) -> bool:
        return False


def no_thread(_name: str, _target: Callable[[], None]) -> Joinable:
    """Starts nothing: the test does what the thread would."""
    return _NoThread()


class FakeMirror:
    """The caches of one kind, filled by hand. selected = the names that belong there, None = all."""

    def __init__(self, kind: type[Kind] = Deployment) -> None:
        self.kind = kind
        self.selected: set[str] | None = None
        self.objects: dict[str, Kind] = {}
        self.seen = 0

    def put(self, obj: Kind) -> None:
        metadata = obj.metadata
        self.objects[str(ObjectName(metadata.namespace, metadata.name))] = obj

    def get_by_key(self, key: str) -> Kind | None:
        return self.objects.get(key)

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        return self.seen >= int(resource_version)

    def would_hold(self, body: bytes) -> bool:
        return self.selected is None or msgspec.json.decode(body)["metadata"]["name"] in self.selected


class ReconcileRig:
    """
    There is no thread: a test plays workers and time.

    calls holds what each reconcile was given; script decides how it ends; newest is the version on the server
    of any write.
    """

    def __init__(self, script: Script = lambda _name, _context: None, **options: Any) -> None:
        self.script = script
        self.calls: list[tuple[ObjectName, Context]] = []
        self.clock = FakeClock()
        self.registry = CollectorRegistry()
        self.transport = FakeAPI()
        self.mirror = FakeMirror()
        self.newest = ""
        self.queue = ReconcileQueue(
            QueueOptions(name="rig", seams=Seams(clock=self.clock, spawn=no_thread)),
            rate_limiter=options.pop("rate_limiter", None),
        )
        own = OwnWriteMetrics(self.registry).for_controller("rig")
        self.options = ControllerOptions(**options)
        self.own_writes = OwnWrites(
            lambda resource: self.mirror if resource == Deployment.resource.group_resource else None,
            newest=lambda _resource, _name: self.newest,
            wake=self.queue.wake,
            metrics=own,
            timeout_seconds=self.options.own_write_timeout_seconds,
            clock=self.clock,
        )
        self.controller = Controller(
            "rig",
            self,
            kind="Foo",
            queue=self.queue,
            writes=ReconcileWrites(
                self.own_writes,
                HotLoops(Client(self.transport), slowed=own.hot_loops.inc, clock=self.clock),
            ),
            faults=QuietFaults("rig", self.clock),
            metrics=ReconcileMetrics(self.registry).for_controller(
                "rig", self.options.max_concurrent_reconciles
            ),
            own_metrics=own,
            options=self.options,
            new_id=lambda: f"id-{len(self.calls)}",
            seams=Seams(clock=self.clock, spawn=no_thread),
        )

    def reconcile(self, name: ObjectName, context: Context) -> Result | None:
        self.calls.append((name, context))
        result: Result | None = self.script(name, context)
        return result

    def work(self) -> None:
        """Let a worker process what waits, if anything does."""
        while self.queue.statistics().queued:
            assert self.controller._process_next()

    def change(self) -> None:
        """An event of the name `a` comes, and then a worker."""
        self.queue.add(NAME, UPDATED)
        self.work()

    def pass_time(self, seconds: float) -> None:
        """Move the clock, and process the items that are due by then. Plays the thread of the queue."""
        self.clock.advance(seconds)
        queue = self.queue._queue
        with queue._lock:
            queue._schedule._hand_over_due_locked()
        self.work()

    def metric(self, name: str, **labels: str) -> float:
        """A value of the registry."""
        value = self.registry.get_sample_value(name, {"controller": "rig", **labels})
        assert value is not None, name
        return value
