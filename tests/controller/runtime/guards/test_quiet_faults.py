"""Mistakes that fail nothing: each is a warning, and what looks alike is none."""

from __future__ import annotations

import threading
from collections.abc import Callable, MutableMapping
from typing import Any

import pytest

from handloop.apis.evolve import evolve
from handloop.apis.grammar.times import format_time
from handloop.apis.meta import Kind, ObjectMeta
from handloop.controller.runtime.builder import controller_for
from handloop.controller.runtime.children.finalizers import is_being_deleted, remove_finalizer
from handloop.controller.runtime.guards.quiet_faults import (
    BUSY_RECONCILES,
    BUSY_SECONDS,
    HELD_SECONDS,
    QuietFaults,
)
from handloop.controller.runtime.reconcile import Result
from handloop.controller.runtime.reconciling.context import Context
from handloop.informers.keys import ObjectName
from handloop.kinds.core_v1 import ConfigMap
from handloop.testing.eventually import SECONDS, eventually
from handloop.testing.fake_clock import FakeClock
from support.checks.captured_logs import captured_logs
from support.rigs.managed_sandbox import ManagedSandbox
from support.rigs.reconcile_rig import NAME, ReconcileRig


class Site(Kind, group="example.org", version="v1"):
    """A kind of ours."""


def warnings(lines: list[MutableMapping[str, Any]]) -> list[str]:
    """What was warned of."""
    return [line["event"] for line in lines if line["log_level"] == "warning"]


def test_ten_reconciles_a_second_without_a_write_are_a_loop() -> None:
    """The line names the object, what led to it, and the way out; one that writes, or is slower, is none."""
    clock = FakeClock()
    faults = QuietFaults("sites", clock)

    def run(seconds: float, *, wrote: bool = False, times: int = BUSY_RECONCILES) -> list[str]:
        with captured_logs() as lines:
            for _ in range(times):
                faults.reconciled(NAME, ["requeue after 0.001s"], wrote=wrote)
                clock.advance(seconds)
        told = [line for line in lines if line["log_level"] == "warning"]
        assert all((each["object"], each["causes"]) == (NAME, "requeue after 0.001s") for each in told)
        return warnings(lines)

    assert run(BUSY_SECONDS / BUSY_RECONCILES / 2) == ["Reconciled again and again without a write"]
    assert run(BUSY_SECONDS / BUSY_RECONCILES / 2, wrote=True) == []
    assert run(2 * BUSY_SECONDS / BUSY_RECONCILES, times=3 * BUSY_RECONCILES) == []


def returns_it(_name: ObjectName, _context: Context) -> Result:
    return Result(requeue_after=30)


def returns_another(_name: ObjectName, _context: Context) -> Result:
    Result(requeue_after=30)
    return Result(requeue_after=60)


def makes_none(_name: ObjectName, _context: Context) -> None:
    Result()


def loses_it(_name: ObjectName, _context: Context) -> None:
    Result(requeue_after=30)


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (returns_it, []),
        (returns_another, []),
        (makes_none, []),
        (loses_it, ["A Result was created but not returned, so it has no effect"]),
    ],
)
def test_a_result_that_is_not_returned_is_told(script: Any, expected: list[str]) -> None:
    """With what it says; a reconcile that returns one knows what it does."""
    rig = ReconcileRig(script)
    with captured_logs() as lines:
        rig.change()
    assert warnings(lines) == expected
    assert [line["result"] for line in lines if "result" in line] == ["Result(requeue_after=30)"] * len(
        expected
    )


@pytest.mark.parametrize(
    ("kind", "finalizers", "seconds", "expected"),
    [
        (Site, ("example.org/cleanup",), HELD_SECONDS, True),
        (Site, ("sites.example.org/cleanup",), HELD_SECONDS, True),
        (Site, ("example.org/cleanup",), HELD_SECONDS - 1, False),
        (Site, ("foregroundDeletion", "other.io/x"), HELD_SECONDS, False),
        (Site, (), HELD_SECONDS, False),
        (ConfigMap, ("example.org/cleanup",), HELD_SECONDS, False),
    ],
)
def test_a_finalizer_that_stays_is_told(
    kind: type[Kind], finalizers: tuple[str, ...], seconds: float, expected: bool
) -> None:
    """Ten minutes after the deletion, if it is one of ours; foreign ones are others' work."""
    clock = FakeClock()
    deleted_at = format_time(clock.time())
    clock.advance(seconds)
    metadata = ObjectMeta(name="a", namespace="b", deletion_timestamp=deleted_at, finalizers=finalizers)
    with captured_logs() as lines:
        QuietFaults("sites", clock).kept(kind(metadata=metadata))
        QuietFaults("sites", clock).kept(kind(metadata=ObjectMeta(name="a", finalizers=finalizers)))
        QuietFaults("sites", clock).kept(None)
    assert warnings(lines) == ["Object deleted long ago still has a finalizer of this program"] * expected
    assert all(line["object"] == ObjectName("b", "a") for line in lines)


FINALIZER = "example.org/cleanup"


def _removed(site: Site, context: Context) -> Site:
    return remove_finalizer(context.client.resource(Site), site, FINALIZER)


def goes_on(site: Site, context: Context) -> None:
    _removed(site, context)
    context.client.resource(Site).patch("a", {}, namespace="default")


def reads_it(site: Site, context: Context) -> None:
    _removed(site, context)
    context.client.resource(Site).get("a", namespace="default")


def asks_for_another(site: Site, context: Context) -> None:
    _removed(site, context)
    context.client.resource(ConfigMap).get("a", namespace="default")


def writes_what_is_gone(_site: Site, context: Context) -> None:
    context.client.resource(Site).patch("b", {}, namespace="default")


@pytest.mark.parametrize(
    ("script", "finalizers", "expected"),
    [
        (goes_on, (FINALIZER,), True),
        (reads_it, (FINALIZER,), True),
        (_removed, (FINALIZER,), False),
        (goes_on, (FINALIZER, "other.io/x"), False),
        (asks_for_another, (FINALIZER,), False),
        (writes_what_is_gone, (FINALIZER,), False),
    ],
)
def test_a_reconcile_that_goes_on_without_its_object_is_told(
    script: Callable[[Site, Context], Any], finalizers: tuple[str, ...], expected: bool
) -> None:
    """It let the last finalizer go itself. An object that something else holds is there; so may others be."""
    cluster = ManagedSandbox(Site)
    sites, manager, ends = cluster.client.resource(Site), cluster.manager(), threading.Event()

    def reconcile(site: Site, context: Context) -> None:
        if not is_being_deleted(site) or ends.is_set():
            return
        ends.set()
        script(site, context)

    controller = controller_for(manager, "sites").for_(Site).writes(Site, "patch").complete(reconcile)
    with captured_logs() as lines, cluster.running(manager):
        sites.create(evolve(Site.named("a", namespace="default"), "metadata.finalizers", finalizers))
        sites.delete("a", namespace="default")
        assert ends.wait(SECONDS)
        eventually(lambda: not controller.has_work(ObjectName("default", "a")), "at rest")
    told = [line for line in lines if "the last finalizer" in line["event"]]
    assert [line["fix"] for line in told] == ["return after remove_finalizer(...)"] * expected
