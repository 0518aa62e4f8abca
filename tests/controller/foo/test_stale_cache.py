"""A cache of the Foo controller is behind by a minute: it asks before it acts, and fights no other client."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.controller.runtime.reconciling.reporting import Outcomes
from support.builders.foo_builders import new_deployment, new_foo
from support.checks.captured_logs import captured_logs
from support.rigs.foo_rig import EXAMPLE, FooRig
from support.rigs.reconcile_rig import no_thread

SECONDS = 75.0
"""The longest that a watch which is half-open is believed."""
STEP = 0.05
CREATE = ("POST", "deployments")
SINCE = "2023-11-14T22:13:20Z"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with captured_logs():
        yield


class SilentFoos:
    """A controller whose watch of Foos is silent while that of Deployments lives, and a garbage collector."""

    def __init__(self) -> None:
        foo = new_foo(uid="old", available=0)
        self.rig = FooRig(foo, new_deployment(foo), spawn=no_thread)
        self.api = self.rig.api

    def see_deployments(self) -> None:
        """The watch of Deployments brings those that are gone."""
        before = self.rig.deployments.indexer.list()
        now = self.api.list(Deployment)
        self.rig.deployments.see(self.api)
        for gone in {one.metadata.uid: one for one in before if one not in now}.values():
            self.rig.deployments.handlers[0].on_delete(gone)

    def see_foos(self) -> None:
        """The watch of Foos speaks again: of those that have come."""
        before = {foo.metadata.uid for foo in self.rig.foos.indexer.list()}
        self.rig.foos.see(self.api)
        for foo in self.rig.foos.indexer.list():
            if foo.metadata.uid not in before:
                self.rig.foos.handlers[0].on_add(foo, False)

    def creates(self, seconds: float = SECONDS) -> int:
        """Let time pass; returns how many Deployments were created meanwhile."""
        before = self.rig.writes.count(CREATE)
        for _ in range(int(seconds / STEP)):
            self.see_deployments()
            self.rig.work_off(STEP)
            self.see_deployments()
            self.api.collect_garbage()
        return self.rig.writes.count(CREATE) - before


def delete(silent: SilentFoos) -> None:
    """A user deletes the Foo."""
    silent.api.delete("foos", "example-foo")


def recreate(silent: SilentFoos) -> None:
    """A user deletes the Foo and makes it again: another UID."""
    silent.api.put(new_foo(uid="new"))


def delete_in_the_foreground(silent: SilentFoos) -> None:
    """The Foo stays until its Deployment is gone: who makes that again would keep it for ever."""
    silent.api.edit("foos", "example-foo", {"metadata": {"deletionTimestamp": SINCE}})
    silent.api.delete("deployments", "example-foo-deployment")


@pytest.mark.parametrize("go", [delete, recreate, delete_in_the_foreground], ids=lambda go: go.__name__)
def test_nothing_is_made_for_a_foo_that_is_gone(go: Callable[[SilentFoos], None]) -> None:
    """While the cache has it the server is asked, ever more rarely; its successor is served at once."""
    silent = SilentFoos()
    with silent.rig as rig:
        go(silent)
        assert silent.creates() == 0
        assert 0 < len(silent.api.reads) <= 16
        silent.see_foos()
        assert silent.creates(2 * STEP) == (1 if go is recreate else 0)
        silent.see_foos()
        asked = len(silent.api.reads)
        silent.creates(2 * SECONDS)
        assert len(silent.api.reads) == asked
        assert rig.controller._owners._suspects.get(EXAMPLE) is None


def test_a_deployment_that_a_user_deletes_costs_one_read() -> None:
    """And is made again at once."""
    silent = SilentFoos()
    with silent.rig:
        silent.api.delete("deployments", "example-foo-deployment")
        assert silent.creates(STEP) == 1
        assert silent.api.reads == ["foos/example-foo"]


def test_a_role_without_get_slows_down() -> None:
    """A controller that may not ask makes it again, but ever more rarely; the missing rule is logged once."""
    silent = SilentFoos()
    silent.api.refuse_read = lambda _target: (403, "Forbidden")
    with silent.rig, captured_logs() as logs:
        delete(silent)
        assert 1 <= silent.creates() <= 5
        assert silent.rig.controller.outcomes.statistics().failed == 0
    (warning,) = [entry for entry in logs if entry["log_level"] == "warning"]
    rule = 'verb "get", resource "foos", API group "samplecontroller.k8s.io"'
    assert warning["fix"] == f"add to the role: {rule}"


def test_a_deployment_that_is_being_deleted_is_not_scaled() -> None:
    """It will be gone, and made again with the right number."""
    foo = new_foo(replicas=3, available=0)
    deployment = new_deployment(foo, replicas=1)
    going = replace(deployment, metadata=replace(deployment.metadata, deletion_timestamp=SINCE))
    with FooRig(foo, going, spawn=no_thread) as rig:
        rig.work()
        assert rig.writes == []


def see_foos(rig: FooRig) -> None:
    """The watch of Foos brings the changes."""
    before = {foo.metadata.name: foo for foo in rig.foos.indexer.list()}
    rig.foos.see(rig.api)
    for foo in rig.foos.indexer.list():
        rig.foos.handlers[0].on_update(before[foo.metadata.name], foo)


def test_two_controllers_do_not_fight_over_a_status() -> None:
    """
    One sees a replica, the other does not yet, and each sees what the other wrote: they slow down.

    Once both see the same, the status is right at once.
    """
    foo = new_foo(available=1)
    late = new_deployment(foo)
    with (
        FooRig(foo, new_deployment(foo, available=1), spawn=no_thread) as ahead,
        FooRig(spawn=no_thread) as behind,
    ):
        behind.api = ahead.api
        behind.restart()
        behind.deployments.indexer.replace([late], "1")
        for _ in range(int(SECONDS / STEP)):
            for rig in (ahead, behind):
                see_foos(rig)
                rig.work_off(STEP)
        assert 4 <= len(ahead.writes) <= 12
        for rig in (ahead, behind):
            rig.sync_caches()
            rig.deployments.handlers[0].on_update(late, rig.deployment())
            rig.work_off()
        assert ahead.foo().status.available_replicas == 1
        settled = len(ahead.writes)
        for rig in (ahead, behind):
            see_foos(rig)
            rig.work_off(SECONDS)
        assert len(ahead.writes) == settled


def test_a_cache_that_lags_behind_our_own_writes_is_no_rival() -> None:
    """The Foo waits for it, without a worker and without a failure, and is synced once it has them."""
    with FooRig(new_foo(), spawn=no_thread) as rig:
        rig.work()
        writes = [CREATE, ("PATCH", "foos/example-foo/status")]
        assert rig.writes == writes
        rig.work()
        for cache in (rig.deployments, rig.foos):
            cache.see(rig.api)
            rig.work()
        assert rig.writes == writes
        assert rig.controller.outcomes.statistics() == Outcomes(synced=2)


def test_a_status_that_a_user_spoils_is_right_again_within_the_back_offs_own_wait() -> None:
    """It is spoilt each second for 40 s, without resync: held back is no failure, which would wait longer."""
    foo = new_foo(available=1)
    with FooRig(foo, new_deployment(foo, available=1), spawn=no_thread) as rig, captured_logs() as logs:
        for number in range(40):
            rig.api.edit("foos", "example-foo", {"status": {"availableReplicas": 5 + number}})
            see_foos(rig)
            rig.work_off(1.0)
            see_foos(rig)
        seconds = 40.0
        while rig.foo().status.available_replicas != 1:
            rig.work_off(1.0)
            seconds += 1
        assert seconds <= 10 + 20 + 40 + 1
        assert rig.queue.num_requeues(EXAMPLE) == rig.controller.outcomes.statistics().failed == 0
    assert not [entry for entry in logs if entry["log_level"] in ("warning", "error")]
