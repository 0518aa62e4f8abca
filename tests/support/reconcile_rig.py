"""One runtime controller with a scripted reconciler, a fake clock and hand-filled caches."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from prometheus_client import CollectorRegistry

from apis.apps_v1 import Deployment
from apis.meta import Kind
from controller.runtime.causes import Cause
from controller.runtime.controller import Controller, ControllerOptions
from controller.runtime.own_writes import OwnWrites
from controller.runtime.reconcile import ReconcileContext, Result
from controller.runtime.reconcile_metrics import OwnWriteMetrics, ReconcileMetrics
from controller.runtime.reconcile_queue import ReconcileQueue
from informers.keys import ObjectName
from support.deadline import until
from support.fake_clock import FakeClock

NAME = ObjectName("default", "a")
UPDATED = Cause("Deployment", "updated", "default/a")
RESYNCED = Cause("Deployment", "resynced", "default/a", is_resync=True)

Script = Callable[[ObjectName, ReconcileContext], Any]


class FakeMirror:
    """The caches of one kind, filled by hand."""

    def __init__(self) -> None:
        self.objects: dict[str, Kind] = {}
        self.seen = 0

    def put(self, obj: Kind) -> None:
        metadata = obj.metadata
        self.objects[str(ObjectName(metadata.namespace, metadata.name))] = obj

    def get_by_key(self, key: str) -> Kind | None:
        return self.objects.get(key)

    def has_seen(self, namespace: str, resource_version: str) -> bool:
        return self.seen >= int(resource_version)


class ReconcileRig:
    """
    Use with `with`: the queue's threads end with it.

    calls holds what each reconcile was given; script decides how it ends.
    """

    def __init__(self, script: Script = lambda _name, _context: None, **options: Any) -> None:
        self.script = script
        self.calls: list[tuple[ObjectName, ReconcileContext]] = []
        self.clock = FakeClock()
        self.registry = CollectorRegistry()
        self.mirror = FakeMirror()
        self.queue = ReconcileQueue(
            "rig", rate_limiter=options.pop("rate_limiter", None), clock=self.clock
        )
        own = OwnWriteMetrics(self.registry).for_controller("rig")
        self.options = ControllerOptions(**options)
        self.own_writes = OwnWrites(
            {Deployment: self.mirror}.get,
            wake=self.queue.wake,
            metrics=own,
            timeout_seconds=self.options.own_write_timeout_seconds,
            clock=self.clock,
        )
        self.controller = Controller(
            "rig",
            self,
            queue=self.queue,
            own_writes=self.own_writes,
            metrics=ReconcileMetrics(self.registry).for_controller(
                "rig", self.options.max_concurrent_reconciles
            ),
            own_metrics=own,
            options=self.options,
            new_id=lambda: f"id-{len(self.calls)}",
            clock=self.clock,
        )

    def reconcile(self, name: ObjectName, context: ReconcileContext) -> Result | None:
        self.calls.append((name, context))
        result: Result | None = self.script(name, context)
        return result

    def work(self) -> None:
        """Let a worker process what waits, if anything does."""
        while self.queue.statistics().queued:
            assert self.controller._process_next()

    def pass_time(self, seconds: float) -> None:
        """Move the clock, and process what has become due by then."""
        self.clock.advance(seconds)
        until(self._nothing_is_due, "handed over", seconds=20)
        self.work()

    def _nothing_is_due(self) -> bool:
        """The thread of the queue takes what is due and queues it in two steps: look at what is expected."""
        delaying = self.queue._queue
        with delaying._schedule:
            late = any(at <= self.clock.now() for at in delaying._ready_at.values())
        return not late and not delaying._due

    def metric(self, name: str, **labels: str) -> float:
        """A value of the registry."""
        value = self.registry.get_sample_value(name, {"controller": "rig", **labels})
        assert value is not None, name
        return value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.queue.shut_down()
