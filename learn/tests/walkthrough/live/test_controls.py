"""The experiments of the live page, on a running controller."""

from __future__ import annotations

from typing import Any

import pytest

from handloop.testing.eventually import eventually
from handloop_learn.live.control_error import ControlError
from handloop_learn.live.controls import CONTROLS, TOUCHES, Controls

KEY = {"key": "default/a"}


def on(controls: Controls, name: str) -> Any:
    return next(offer for offer in controls.offers() if offer["name"] == name)["on"]


def test_changes_while_the_workers_pause_are_one_sync(program: Any) -> None:
    """The queue holds the key once; the second pause lets the workers go on."""
    program.synced_foo()
    assert program.controls.act("pause", {}) == "no worker gets a key"
    assert on(program.controls, "pause") is True
    before, told = len(program.told(8)), len(program.told(6))
    program.controls.act("touch", KEY)
    queue = program.parts.queues()["foo"]
    eventually(lambda: len(program.told(6)) >= told + TOUCHES, "the changes")
    eventually(lambda: queue.statistics().queued == 1, "the key")
    assert len(program.told(8)) == before
    program.controls.act("pause", {})
    eventually(lambda: len(program.told(8)) > before, "a sync")
    program.wait_idle()
    assert len(program.told(8)) < before + TOUCHES


def test_three_failures_back_off_twice_as_long_each(program: Any) -> None:
    """5, 10, 20 ms; then the sync succeeds, and forgets three failures."""
    program.synced_foo()
    # on a busy machine the first sync may meet a conflict of its own
    before = len(program.retries())
    program.controls.act("fail", KEY)
    eventually(lambda: any(step.facts.get("forgotten") == 3 for step in program.told(11)), "a success")
    assert program.retries()[before:] == [0.005, 0.01, 0.02]


def test_a_killed_watch_goes_on_without_a_relist(program: Any) -> None:
    """One watch more, and a Foo that is made after it arrives."""
    foos = program.foos()
    before = foos.statistics().reflector.watches
    program.controls.act("kill-watch", {})
    program.synced_foo()
    reflector = foos.statistics().reflector
    assert (reflector.watches, reflector.relists) == (before + 1, {})


def test_410_is_a_relist_and_a_tombstone(program: Any) -> None:
    """The deletion of a Foo is missed; the new list lacks it."""
    program.controls.act("expire", {})
    eventually(
        lambda: any(s.facts["tombstone"] for s in program.told(2, "default/live-ghost")), "a tombstone"
    )
    foos = program.foos()
    eventually(lambda: sum(foos.statistics().reflector.relists.values()) == 1, "the count")
    assert program.cluster.sandbox.faults.list() == []


def test_a_change_of_replicas_reaches_the_deployment(program: Any) -> None:
    """A patch by the controller."""
    program.synced_foo()
    program.controls.act("scale", {**KEY, "replicas": 3})
    path = "/apis/apps/v1/namespaces/default/deployments/a"
    eventually(lambda: program.get(path)["spec"]["replicas"] == 3, "three replicas")


def test_a_deleted_deployment_comes_back(program: Any) -> None:
    """With another UID."""
    program.synced_foo()
    path = "/apis/apps/v1/namespaces/default/deployments/a"
    before = program.get(path)["metadata"]["uid"]
    program.controls.act("delete-deployment", KEY)
    eventually(lambda: program.get(path).get("metadata", {}).get("uid", before) != before, "another one")


def test_a_slow_handler_keeps_its_own_buffer_waiting_and_nothing_else(program: Any) -> None:
    """The store has every Foo, the listener has handled less; the end of the experiment wakes it."""
    program.controls.act("slow-handler", {})
    foos = program.foos()
    for name in "abc":
        program.foo(name)
    eventually(lambda: len(foos.indexer) == 3, "the store")
    assert foos.statistics().listeners[0].pending > 0
    program.controls.act("slow-handler", {})
    for name in "abc":
        program.wait_idle(f"default/{name}")
    assert on(program.controls, "slow-handler") is False


def test_a_missing_done_keeps_the_key_from_every_worker(program: Any) -> None:
    """Changes stay in dirty; the done() that follows at last lets them go."""
    program.synced_foo()
    program.controls.act("lose-done", KEY)
    queue = program.parts.queues()["foo"]
    eventually(lambda: queue.statistics().in_flight == 1, "a key that stays")
    program.controls.act("touch", KEY)
    eventually(lambda: queue.statistics().readded == 1, "a change in dirty")
    assert program.controls.act("lose-done", {}) == "the missing done() was called"
    eventually(lambda: queue.statistics() == (0, 0, 0, 0), "nothing to do")


def test_a_thousand_foos_come_and_go(program: Any) -> None:
    """All are in the cache, and clean deletes them again."""
    program.controls.act("many", {})
    foos = program.foos()
    eventually(lambda: len(foos.indexer) == 1000, "a thousand")
    assert program.controls.act("clean", {}) == "1000 Foos were deleted"
    eventually(lambda: len(foos.indexer) == 0, "none")


def test_an_impossible_experiment_gives_the_reason(program: Any) -> None:
    """An invalid name, a Foo that is not there, no lease, no sandbox."""
    outside = Controls(program.parts, None, in_sandbox=False)
    blocked = {offer["name"] for offer in outside.offers() if offer["blocked"]}
    assert blocked == {control.name for control in CONTROLS if control.in_sandbox}
    with pytest.raises(ControlError, match="only on the sandbox"):
        outside.act("expire", {})
    with pytest.raises(ControlError, match="there is no experiment nothing"):
        outside.act("nothing", {})
    with pytest.raises(ControlError, match='no Foo "default/missing" in the cache'):
        outside.act("fail", {"key": "default/missing"})
    with pytest.raises(ControlError, match="--leader-elect"):
        program.controls.act("steal-lease", {})
    program.synced_foo()
    with pytest.raises(ControlError, match="no requests"):
        outside.act("scale", KEY)


def test_a_refusal_of_the_server_is_reported(program: Any) -> None:
    """With its status."""
    program.synced_foo()
    with pytest.raises(ControlError, match="422"):
        program.controls.act("scale", {**KEY, "replicas": 99})


def test_a_foo_is_made_and_deleted(program: Any) -> None:
    """By its key, once; one that exists already is refused."""
    assert program.controls.act("make", KEY) == "default/a was created"
    program.wait_idle()
    with pytest.raises(ControlError, match="409"):
        program.controls.act("make", KEY)
    assert program.controls.act("delete", KEY) == "default/a was deleted"
    eventually(lambda: len(program.foos().indexer) == 0, "its end")
