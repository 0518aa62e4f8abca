"""Faults by wrapping the running instances."""

from __future__ import annotations

from typing import Any

from handloop.informers.keys import ObjectName
from handloop.testing.eventually import eventually
from handloop_learn.live.instance_faults import InstanceFaults
from support.checks.captured_logs import captured_logs


def test_restore_leaves_the_instances_as_they_were(program: Any) -> None:
    """No wrapped method stays, no handler is slow, no queue is held, and nothing is in flight."""
    program.synced_foo()
    queue = program.parts.queues()["foo"]
    controller = program.parts.syncs()["foo"].owner
    listener = program.parts.listeners("foos")[0]
    before = (dict(vars(controller)).keys(), dict(vars(queue)).keys(), listener._handler)
    faults = InstanceFaults(program.parts)
    faults.slow("foos", 30)
    faults.fail("foo", "default/other", 5)
    faults.lose_done("foo", "default/a")
    queue.add(ObjectName("default", "a"))
    eventually(lambda: queue.statistics().in_flight == 1, "a key without done")
    faults.pause()
    assert (faults.paused, faults.slowed, faults.lost) == (True, True, True)
    faults.restore()
    assert (faults.paused, faults.slowed, faults.lost) == (False, False, False)
    assert (dict(vars(controller)).keys(), dict(vars(queue)).keys(), listener._handler) == before
    eventually(lambda: queue.statistics() == (0, 0, 0, 0), "nothing in flight")


def test_only_the_key_that_was_named_fails(program: Any) -> None:
    """As often as was asked for; another key is synced meanwhile."""
    for name in "ab":
        program.foo(name)
        program.wait_idle(f"default/{name}")
    before = len(program.told(12, "default/b"))
    InstanceFaults(program.parts).fail("foo", "default/a", 2)
    with captured_logs() as lines:
        for name in "ba":
            program.parts.queues()["foo"].add(ObjectName("default", name))
        eventually(lambda: any(step.facts.get("forgotten", 0) >= 2 for step in program.told(11)), "a success")
        eventually(lambda: len(program.told(12, "default/b")) > before, "the other key synced")
    # a lost race is a failure, too, of whichever key
    failed = [line["objectReference"].name for line in lines if "was requested" in line.get("err", "")]
    assert failed == ["a", "a"]


FREE = (["", ""], [False, False])


def test_after_a_missing_done_the_worker_is_free_and_nobody_gets_the_key(program: Any) -> None:
    """Also while that worker syncs another key, and for a viewer that comes later; until the done()."""
    program.synced_foo()
    program.controls.act("lose-done", {"key": "default/a"})
    eventually(lambda: program.workers() == (*FREE, ["default/a"]), "a free worker")
    for _ in range(2):
        program.parts.queues()["foo"].add(ObjectName("default", "b"))
    program.wait_for_steps(12, "default/b")
    eventually(lambda: program.workers() == (*FREE, ["default/a"]), "as before")
    program.recorder.leave()
    program.recorder.join()
    assert program.workers() == (*FREE, ["default/a"])
    program.controls.act("lose-done", {"key": "default/a"})
    eventually(lambda: program.workers() == (*FREE, []), "the done() that was left out")
