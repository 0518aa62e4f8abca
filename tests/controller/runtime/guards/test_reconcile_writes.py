"""A reconcile that wrote something is one line of the log."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.client.http.response import Response
from handloop.client.resource_client import Client
from handloop.client.rest_client import Call
from handloop.controller.foo.types import Foo, FooStatus
from handloop.controller.runtime.guards.hot_loops import HOT_WRITES
from handloop.controller.runtime.guards.reconcile_writes import NameWrites
from handloop.controller.runtime.reconcile import ReconcileError
from handloop.controller.runtime.reconciling.context import Context
from handloop.controller.runtime.sources.reconcile_queue import Cause
from handloop.informers.keys import ObjectName
from support.builders.deployments import deployment
from support.builders.foo_builders import new_deployment, new_foo
from support.checks.captured_logs import captured_logs
from support.rigs.reconcile_rig import NAME, UPDATED, ReconcileRig

FOO = new_foo()


def rig_that_writes(*, names: int = 1, error: bool = False) -> ReconcileRig:
    """Its reconcile creates so many Deployments, scales the first, and writes a status."""

    def script(name: ObjectName, _context: Context) -> None:
        client = Client(rig.transport).telling(NameWrites(rig.controller._writes, name).accepted)
        deployments, foos = client.resource(Deployment), client.resource(Foo)
        for number in range(names):
            child = new_deployment(FOO)
            deployments.create(replace(child, metadata=replace(child.metadata, name=f"d{number}")))
        deployments.patch("d0", {"spec": {"replicas": 2}}, namespace="default")
        live = foos.get("example-foo", namespace="default")
        foos.update_status(replace(live, status=FooStatus(available_replicas=1)))
        if error:
            raise ReconcileError("later")

    rig = ReconcileRig(script, own_write_timeout_seconds=0)
    rig.transport.put(FOO)
    return rig


def lines(rig: ReconcileRig) -> list[str]:
    """The log's text of the writes of one reconcile."""
    with captured_logs() as logs:
        rig.change()
    return [entry["changes"] for entry in logs if (entry["event"], entry["log_level"]) == ("Wrote", "info")]


@pytest.mark.parametrize("error", [False, True])
def test_a_reconcile_that_wrote_is_one_line(error: bool) -> None:
    """However it ended: the writes, in order, and how; reads are not listed."""
    (line,) = lines(rig_that_writes(error=error))
    assert line.split(", ") == [
        "deployments.apps default/d0 created",
        "deployments.apps default/d0 patched",
        "foos.samplecontroller.k8s.io default/example-foo status updated",
    ]


def test_many_writes_are_counted() -> None:
    """Five are named."""
    (line,) = lines(rig_that_writes(names=7))
    assert line.startswith("deployments.apps default/d0 created, ")
    assert line.endswith("deployments.apps default/d4 created, and 4 more")


def test_a_reconcile_that_wrote_nothing_is_silent() -> None:
    """An idle program is silent."""
    assert lines(ReconcileRig()) == []


@pytest.mark.parametrize(("cause", "slowed"), [(UPDATED, 0), (Cause("Foo", "updated", "default/a"), 1)])
def test_a_status_that_follows_a_rollout_is_no_hot_loop(cause: Cause, slowed: int) -> None:
    """Another object's change led to each write; one that only its own echo leads to goes on for ever."""

    def script(name: ObjectName, _context: Context) -> None:
        foos = Client(rig.transport).telling(NameWrites(rig.controller._writes, name).accepted).resource(Foo)
        live = foos.get("example-foo", namespace="default")
        foos.update_status(replace(live, status=FooStatus(available_replicas=len(rig.calls))))

    rig = ReconcileRig(script, own_write_timeout_seconds=0)
    rig.transport.put(FOO)
    for _ in range(HOT_WRITES):
        rig.queue.add(NAME, cause)
        rig.work()
    assert len(rig.calls) == HOT_WRITES
    assert rig.metric("handloop_hot_loops_total") == slowed


@pytest.mark.parametrize(("answered", "slowed"), [(10, 0), (11, 1)])
def test_writes_that_change_nothing_are_no_hot_loop(answered: int, slowed: int) -> None:
    """
    Many controllers apply all children in each reconcile; one change behind them counts.

    The watch may deliver it before its response has been read.
    """

    def script(name: ObjectName, _context: Context) -> None:
        rig.mirror.put(deployment("child", 10))
        for version in [10] * 6 + [answered]:
            body = f'{{"metadata": {{"name": "child", "resourceVersion": "{version}"}}}}'
            writes = NameWrites(rig.controller._writes, name)
            writes.sending(call)
            rig.mirror.put(deployment("child", version))
            writes.accepted(call, Response(200, {}, body.encode()))

    call = Call("patch", "PATCH", "/", resource="deployments.apps", namespace="default", name="child")
    rig = ReconcileRig(script, own_write_timeout_seconds=0)
    for _ in range(HOT_WRITES):
        rig.change()
    assert rig.metric("handloop_hot_loops_total") == slowed
