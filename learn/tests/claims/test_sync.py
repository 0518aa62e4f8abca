"""learn/docs/walkthrough.md, steps (9) and (10): the failures when a part of a sync is missing."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from msgspec.structs import replace

import handloop
from handloop.apis.apps_v1 import Deployment
from handloop.client.errors import Conflict
from handloop.controller.foo import controller as foo_controller
from handloop.controller.foo import production
from handloop.controller.foo.production import ProductionFooController, ResourceExistsError
from handloop.controller.foo.types import Foo, FooStatus
from handloop.testing.eventually import eventually as until
from support.builders.foo_builders import disowned, new_deployment, new_foo
from support.checks.threads import Background
from support.rigs.foo_rig import EXAMPLE, FooRig

SYNCS = 100


def settled() -> FooRig:
    """A Foo that has what it wants."""
    foo = new_foo(available=1)
    return FooRig(foo, new_deployment(foo, available=1))


def test_without_the_cache_each_sync_is_a_request(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    """A hundred syncs that find nothing to do ask the server nothing, or a hundred times."""
    with settled() as rig:
        if not whole:
            foos = rig.controller._foos
            monkeypatch.setattr(
                rig.controller._foos_lister,
                "get",
                lambda name: foos.get(name.name, namespace=name.namespace),
            )
        for _ in range(SYNCS):
            rig.sync()
        assert len(rig.api.reads) == (0 if whole else SYNCS)


def test_without_waiting_for_the_caches_a_worker_takes_them_for_the_world(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """The Deployment is there, but its cache is still empty: the controller makes it once more."""
    if not whole:
        monkeypatch.setattr(handloop, "wait_for_cache_sync", lambda *_args, **_options: True)
    stop = threading.Event()
    with settled() as rig:
        rig.deployments.indexer.replace([])
        rig.queue.add(EXAMPLE)
        running = Background(lambda: rig.controller.run(1, stop))
        try:
            if whole:
                rig.clock.wait_for_waiters(1)
            else:
                until(
                    lambda: rig.controller.outcomes.statistics().failed == 1, "a refused create", seconds=20
                )
        finally:
            stop.set()
        if whole:
            with pytest.raises(foo_controller.CachesNotSyncedError):
                running.result()
        else:
            running.result()
        assert rig.writes == ([] if whole else [("POST", "deployments")])


def writes_always(
    self: ProductionFooController, foo: Foo, deployment: Deployment, *, wrote_deployment: bool
) -> bool:
    """_sync_status without its comparison."""
    status = FooStatus(available_replicas=deployment.status.available_replicas)
    self._foos.update_status(replace(foo, status=status))
    return True


def test_without_comparing_first_each_sync_is_a_write(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    """A hundred syncs of a settled Foo write nothing, or a hundred statuses and as many Events."""
    if not whole:
        monkeypatch.setattr(ProductionFooController, "_sync_status", writes_always)
    with settled() as rig:
        for _ in range(SYNCS):
            rig.sync()
        assert len(rig.writes) == (0 if whole else SYNCS)
        assert len(rig.recorder.events) == (0 if whole else SYNCS)


def only_the_replicas(_deployment: Deployment, replicas: int) -> dict[str, Any]:
    """scale_patch without the version and the UID."""
    return {"spec": {"replicas": replicas}}


def test_without_a_version_in_the_patch_a_stale_cache_undoes_a_change(
    monkeypatch: pytest.MonkeyPatch, whole: bool
) -> None:
    """The caches are behind: the Foo wants 5 by now, and has them. A sync of the past scales it to 3."""
    if not whole:
        monkeypatch.setattr(production, "scale_patch", only_the_replicas)
    foo = new_foo(replicas=3)
    with FooRig(foo, new_deployment(foo, replicas=1)) as rig:
        rig.api.edit("foos", foo.metadata.name, {"spec": {"replicas": 5}})
        rig.api.edit("deployments", foo.spec.deployment_name, {"spec": {"replicas": 5}})
        # of the patch; without its version, of the status that follows, which is too late
        with pytest.raises(Conflict):
            rig.sync()
        assert rig.deployment().spec.replicas == (5 if whole else 3)


def test_without_an_owner_a_deployment_outlives_its_foo(monkeypatch: pytest.MonkeyPatch, whole: bool) -> None:
    """The garbage collector deletes what names its owner. The controller, too, takes the rest for foreign."""
    if not whole:
        made = foo_controller.new_deployment
        monkeypatch.setattr(production, "new_deployment", lambda foo: disowned(made(foo)))
    with FooRig(new_foo()) as rig:
        rig.sync()
        rig.sync_caches()
        if whole:
            rig.sync()
        else:
            with pytest.raises(ResourceExistsError):
                rig.sync()
        rig.api.delete("foos", "example-foo")
        rig.api.collect_garbage()
        assert len(rig.api.list(Deployment)) == (0 if whole else 1)


def test_five_changes_and_one_sync_end_in_the_last_state() -> None:
    """Five changes are one key, and the sync reads the last state: what happened before does not matter."""
    with FooRig(new_foo(replicas=1)) as rig:
        for replicas in (2, 3, 4, 5, 6):
            rig.api.edit("foos", "example-foo", {"spec": {"replicas": replicas}})
            rig.queue.add(EXAMPLE)
        rig.sync_caches()
        assert rig.controller._process_next_work_item()
        assert len(rig.queue) == 0
        assert rig.deployment().spec.replicas == 6
