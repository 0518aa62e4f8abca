"""The plain controller: what upstream's does, on caches that are filled by hand."""

from __future__ import annotations

import inspect
from pathlib import Path

from msgspec.structs import replace

from handloop import ObjectName
from handloop.controller.foo.controller import FooController
from support.builders.foo_builders import disowned, new_deployment, new_foo
from support.checks.captured_logs import captured_logs
from support.rigs.foo_rig import EXAMPLE, FooRig

CREATE = ("POST", "deployments")
SCALE = ("PATCH", "deployments/example-foo-deployment")
STATUS = ("PUT", "foos/example-foo/status")


class PlainRig(FooRig):
    """FooRig with the plain controller."""

    controller_class = FooController  # type: ignore[assignment]


def test_a_sync_writes_what_differs_and_always_the_status() -> None:
    """Create, scale, nothing: each ends with the status and the Event."""
    with PlainRig(new_foo()) as rig:
        rig.work()
        rig.api.edit("foos", "example-foo", {"spec": {"replicas": 3}})
        for _ in range(2):
            rig.sync_caches()
            rig.work()
        assert rig.writes == [CREATE, STATUS, SCALE, STATUS, STATUS]
        assert rig.deployment().spec.replicas == 3
        assert rig.recorder.events == ["Normal Synced Foo synced successfully"] * 3
        assert rig.queue.num_requeues(EXAMPLE) == 0


def test_a_foreign_deployment_is_reported_and_tried_again() -> None:
    """It is left alone."""
    foo = new_foo()
    with PlainRig(foo, disowned(new_deployment(foo))) as rig, captured_logs():
        rig.work()
        assert rig.writes == []
        assert rig.queue.num_requeues(EXAMPLE) == 1
        (event,) = rig.recorder.events
        assert event.startswith("Warning ErrResourceExists")


def test_nothing_is_done_without_a_foo_or_a_name() -> None:
    """Neither is a failure."""
    with PlainRig(new_foo("no-name", deployment_name="")) as rig, captured_logs() as logs:
        rig.work()
        rig.work(ObjectName("default", "no-name"))
        assert rig.writes == []
        assert rig.queue.num_requeues(EXAMPLE) == 0
    assert [entry["event"] for entry in logs if entry["log_level"] == "error"] == [
        "Foo referenced by item in work queue no longer exists",
        "Deployment name missing from object reference",
    ]


def test_a_stale_foo_is_a_conflict_and_comes_back() -> None:
    """The status carries the version of the cache; the retry reads a newer one."""
    with PlainRig(new_foo()) as rig, captured_logs():
        rig.api.edit("foos", "example-foo", {"metadata": {"labels": {"new": "yes"}}})
        rig.work()
        assert rig.queue.num_requeues(EXAMPLE) == 1
        rig.sync_caches()
        rig.work()
        assert rig.queue.num_requeues(EXAMPLE) == 0


def test_a_deployment_leads_to_its_foo() -> None:
    """Its addition, change and end do; a resync, a foreign one, and what is no object do not."""
    foo = new_foo()
    old = new_deployment(foo)
    new = replace(old, metadata=replace(old.metadata, resource_version="2"))
    with PlainRig(foo) as rig, captured_logs():
        (handler,) = rig.deployments.handlers
        handler.on_add(old, False)
        assert rig.queued() == [EXAMPLE]
        handler.on_update(old, new)
        assert rig.queued() == [EXAMPLE]
        handler.on_delete(new)
        assert rig.queued() == [EXAMPLE]
        handler.on_update(old, old)
        handler.on_add(disowned(old), False)
        handler.on_add("no object", False)  # type: ignore[arg-type]
        handler.on_add(new_deployment(new_foo("another")), False)
        assert rig.queued() == []


def test_it_can_be_laid_beside_upstreams() -> None:
    """A file of at most 250 lines, whose functions come in upstream's order, and a sync of one page."""
    names = "__init__ run _run_worker _process_next_work_item sync_handler update_foo_status _enqueue_foo"
    lines = Path(inspect.getfile(FooController)).read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 250
    assert len(inspect.getsource(FooController.sync_handler).splitlines()) <= 60
    assert [name for name in vars(FooController) if name in names.split()] == names.split()
