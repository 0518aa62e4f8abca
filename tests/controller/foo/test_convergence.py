"""
Crashes and rivals at every write: Foo and Deployment still end up in step, and what others wrote lives.

A world is one API, one controller, and the other clients. A story has what users do; a plan has the fault
at write number k. After the story all act in rounds until nothing changes any more.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from handloop.apis.apps_v1 import Deployment
from handloop.apis.meta import is_controlled_by
from handloop.client.errors import ClientError, ConnectionBroken
from handloop.controller.foo.types import Foo
from handloop.controller.runtime.reconcile import ReconcileError
from handloop.informers.keys import ObjectName
from support.builders.foo_builders import disowned, new_deployment, new_foo
from support.checks.captured_logs import captured_logs
from support.doubles.fake_api import FooCRD, Write
from support.rigs.foo_rig import FooRig

_MAX_ROUNDS = 30
_QUIET_ROUNDS = 5
_ROUNDS_BETWEEN_STEPS = 4
_WEB = "web"


class Crash(BaseException):
    """The process dies here."""


@dataclass
class World:
    """See the head of this file. plan maps the number of a write to what happens there."""

    plan: dict[int, str] = field(default_factory=dict)
    rival: Callable[[World], None] = lambda _world: None
    foo_crd: FooCRD = FooCRD.SUBRESOURCE
    stale_every: int = 0
    foreign: dict[str, Any] = field(default_factory=dict)
    labelled: set[str] = field(default_factory=set)
    applied: int = 0
    failures: int = 0
    restarts: int = 0
    syncs: int = 0

    def __post_init__(self) -> None:
        self.rig = FooRig(foo_crd=self.foo_crd)
        self.api = self.rig.api
        self.api.before_write = self._before
        self.api.after_write = self._after

    def _before(self, number: int, _write: Write) -> None:
        match self.plan.get(number):
            case "crash before":
                raise Crash
            case "refused":
                raise ConnectionBroken("never arrived")
            case "rival":
                self.rival(self)

    def _after(self, number: int, _write: Write) -> None:
        match self.plan.get(number):
            case "crash after":
                raise Crash
            case "answer lost":
                raise ConnectionBroken("reset by peer", outcome_unknown=True)

    def play(self, story: Story) -> None:
        """Let users act, with a little time in between, and then let things settle."""
        for step in story:
            step(self)
            for _ in range(_ROUNDS_BETWEEN_STEPS):
                self.round()
        self.settle()

    def settle(self) -> None:
        """Act in rounds until some rounds in a row change nothing."""
        quiet = 0
        for _ in range(_MAX_ROUNDS):
            before = (len(self.api.writes), dict(self.api.objects))
            self.round()
            quiet = quiet + 1 if before == (len(self.api.writes), self.api.objects) else 0
            if quiet == _QUIET_ROUNDS:
                return
        raise AssertionError(f"no end in {_MAX_ROUNDS} rounds; last writes {self.rig.writes[-6:]}")

    def round(self) -> None:
        """Caches catch up, every Foo is synced, pods start, garbage is collected."""
        self.rig.sync_caches()
        for foo in self.rig.foos.indexer.list():
            self._sync(ObjectName(foo.metadata.namespace, foo.metadata.name))
        self.api.run_pods()
        self.api.collect_garbage()

    def _sync(self, name: ObjectName) -> None:
        self.syncs += 1
        if not self.stale_every or self.syncs % self.stale_every:
            self.rig.sync_caches()
        try:
            self.rig.sync(name)
        except (ClientError, ReconcileError):
            self.failures += 1
        except Crash:
            self.restarts += 1
            self.rig.restart()

    def take_name(self) -> None:
        """Somebody else makes a Deployment of that name, unless there is one."""
        if ("deployments", "default", _WEB) not in self.api.objects:
            self.api.put(_foreign())
            self.foreign = self.api.objects["deployments", "default", _WEB]

    def check(self) -> None:
        """Everything in step, and no foreign object touched."""
        for foo in self.api.list(Foo):
            if self.foreign and foo.spec.deployment_name == _WEB:
                continue
            deployment = self.rig.deployment(foo.spec.deployment_name)
            assert is_controlled_by(deployment, foo)
            if foo.spec.replicas is not None:
                assert deployment.spec.replicas == foo.spec.replicas
            if self.foo_crd is FooCRD.SUBRESOURCE:
                assert foo.status.available_replicas == deployment.status.available_replicas
        if self.foreign:
            now = self.api.objects["deployments", "default", _WEB]
            assert _without_status(now) == _without_status(self.foreign)
        for deployment in self.api.list(Deployment):
            if deployment.metadata.uid in self.labelled:
                assert deployment.metadata.labels["team"] == "blue"

    def end_state(self) -> dict[str, Any]:
        """What there is, without versions and UIDs."""
        return {
            "/".join(key): {
                "spec": {name: value for name, value in obj["spec"].items() if name != "template"},
                "status": obj.get("status"),
                "owners": [owner["name"] for owner in obj["metadata"].get("ownerReferences", ())],
            }
            for key, obj in sorted(self.api.objects.items())
        }


Step = Callable[[World], None]
Story = tuple[Step, ...]


def _foreign() -> Deployment:
    return disowned(new_deployment(new_foo(deployment_name=_WEB), replicas=4))


def _without_status(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return {"metadata": metadata, "spec": obj["spec"]}


def _apply(world: World) -> None:
    world.applied += 1
    world.api.put(new_foo(deployment_name=_WEB, replicas=2, uid=f"foo-{world.applied}"))


def _scale(world: World) -> None:
    world.api.edit("foos", "example-foo", {"spec": {"replicas": 3}})


def _rename(world: World) -> None:
    world.api.edit("foos", "example-foo", {"spec": {"deploymentName": "renamed"}})


def _delete_deployment(world: World) -> None:
    world.api.delete("deployments", _WEB)


def _delete_foo(world: World) -> None:
    world.api.delete("foos", "example-foo")


def _replace_foo(world: World) -> None:
    _delete_foo(world)
    _apply(world)


def _free_name(world: World) -> None:
    if world.foreign:
        world.api.delete("deployments", _WEB)
        world.foreign = {}


def _apply_second(world: World) -> None:
    world.api.put(new_foo("second", deployment_name=_WEB, replicas=5))


_STORIES: dict[str, Story] = {
    "create": (_apply,),
    "scale": (_apply, _scale),
    "rename": (_apply, _rename),
    "deployment deleted": (_apply, _delete_deployment),
    "foo deleted": (_apply, _delete_foo),
    "foo re-created": (_apply, _delete_foo, _apply),
    "foo re-created at once": (_apply, _replace_foo),
    "name taken, then freed": (World.take_name, _apply, _free_name),
}
_FAULTS = ("crash before", "crash after", "refused", "answer lost")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with captured_logs():
        yield


def _run(
    story: Story, plan: dict[int, str] | None = None, *, rival: Step | None = None, **options: Any
) -> World:
    world = World(plan or {}, rival or (lambda _world: None), **options)
    with world.rig:
        world.play(story)
        world.check()
    return world


def _count_writes(story: Story, **options: Any) -> int:
    return len(_run(story, **options).api.writes)


@pytest.mark.parametrize("name", _STORIES)
@pytest.mark.parametrize("crd", list(FooCRD))
def test_stories_without_faults_end_in_silence(name: str, crd: FooCRD) -> None:
    """The reference: each story settles without a restart, under every CRD."""
    world = _run(_STORIES[name], foo_crd=crd)
    assert world.restarts == 0
    assert world.api.writes


@pytest.mark.parametrize("fault", _FAULTS)
@pytest.mark.parametrize("name", _STORIES)
def test_a_fault_at_any_write_changes_nothing_in_the_end(name: str, fault: str) -> None:
    """The process dies, or the connection breaks, before or after write k took effect: same end state."""
    story = _STORIES[name]
    reference = _run(story)
    for number in range(len(reference.api.writes)):
        world = _run(story, {number: fault})
        assert world.end_state() == reference.end_state(), (number, fault)
        assert world.restarts + world.failures > 0


@pytest.mark.nightly
@pytest.mark.parametrize("name", _STORIES)
def test_two_faults_change_nothing_in_the_end(name: str) -> None:
    """Every pair of faults at every pair of writes, the second one in what follows from the first."""
    story = _STORIES[name]
    reference = _run(story)
    numbers = range(len(reference.api.writes) + 1)
    for (first, second), faults in itertools.product(
        itertools.combinations(numbers, 2), itertools.product(_FAULTS, repeat=2)
    ):
        plan = dict(zip((first, second), faults, strict=True))
        assert _run(story, plan).end_state() == reference.end_state(), plan


@pytest.mark.parametrize("stale_every", [2, pytest.param(3, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("fault", ["", *_FAULTS])
@pytest.mark.parametrize("name", _STORIES)
def test_caches_that_lag_change_nothing_in_the_end(name: str, fault: str, stale_every: int) -> None:
    """Some syncs work on what the caches had a sync earlier, besides the fault."""
    story = _STORIES[name]
    end_state = _run(story).end_state()
    for number in range(_count_writes(story, stale_every=stale_every)):
        plan = {number: fault} if fault else {}
        assert _run(story, plan, stale_every=stale_every).end_state() == end_state, plan


def _label(world: World) -> None:
    for name in (_WEB, "renamed"):
        if ("deployments", "default", name) in world.api.objects:
            world.api.edit("deployments", name, {"metadata": {"labels": {"team": "blue"}}})
            world.labelled.add(world.rig.deployment(name).metadata.uid)


def _scale_by_hand(world: World) -> None:
    world.api.edit("deployments", _WEB, {"spec": {"replicas": 7}})


def _replace_by_foreign(world: World) -> None:
    world.api.delete("deployments", _WEB)
    world.take_name()


def _annotate_foo(world: World) -> None:
    world.api.edit("foos", "example-foo", {"metadata": {"annotations": {"note": "mine"}}})


_RIVALS: dict[str, Step] = {
    "labels the deployment": _label,
    "scales the deployment": _scale_by_hand,
    "deletes the deployment": _delete_deployment,
    "edits the foo": _annotate_foo,
}


@pytest.mark.parametrize("rival", _RIVALS)
@pytest.mark.parametrize("name", ["create", "scale", "rename", "deployment deleted"])
def test_a_rival_before_any_write_changes_nothing_in_the_end(name: str, rival: str) -> None:
    """Somebody else writes just before write k: ours ends as without them, theirs survives."""
    story = _STORIES[name]
    reference = _run(story)
    for number in range(len(reference.api.writes)):
        world = _run(story, {number: "rival"}, rival=_RIVALS[rival])
        if name == "rename" and rival in ("scales the deployment", "deletes the deployment"):
            continue  # the old Deployment is not checked any more; check() saw the new one
        assert world.end_state() == reference.end_state(), number


@pytest.mark.parametrize("name", ["create", "scale"])
def test_a_deployment_replaced_before_any_write_is_left_alone_until_it_goes(name: str) -> None:
    """Just before write k another client takes the name: theirs is untouched; once it goes all is well."""
    story = _STORIES[name]
    reference = _run(story)
    for number in range(len(reference.api.writes)):
        world = _run(story, {number: "rival"}, rival=_replace_by_foreign)
        with world.rig:
            assert world.foreign
            assert world.failures > 0
            _free_name(world)
            world.settle()
            world.check()
            assert world.end_state() == reference.end_state(), number


@pytest.mark.nightly
def test_a_rival_and_a_crash_together_change_nothing_in_the_end() -> None:
    """A rival at one write and a crash at another, for every pair."""
    story = _STORIES["scale"]
    reference = _run(story)
    numbers = range(len(reference.api.writes) + 1)
    for rival in _RIVALS.values():
        for first, second in itertools.permutations(numbers, 2):
            plan = {first: "rival", second: "crash after"}
            assert _run(story, plan, rival=rival).end_state() == reference.end_state(), plan


def test_the_foo_deleted_before_any_write_leaves_nothing_behind() -> None:
    """A user deletes the Foo just before write k: its Deployment goes with it, for any write."""
    for number in range(_count_writes(_STORIES["scale"])):
        world = _run(_STORIES["scale"], {number: "rival"}, rival=_delete_foo)
        assert world.api.objects == {}, number


def test_two_foos_that_name_one_deployment_do_not_fight() -> None:
    """The first owner keeps it, the second gets errors; nothing is written any more; it inherits the name."""
    world = World()
    with world.rig:
        for step in (_apply, _apply_second):
            step(world)
            world.settle()
        settled = len(world.api.writes)
        for _ in range(100):
            world.round()
        assert len(world.api.writes) == settled
        assert is_controlled_by(world.rig.deployment(_WEB), world.rig.foo())
        _delete_foo(world)
        world.settle()
        assert is_controlled_by(world.rig.deployment(_WEB), world.rig.foo("second"))
        assert world.rig.deployment(_WEB).spec.replicas == 5
