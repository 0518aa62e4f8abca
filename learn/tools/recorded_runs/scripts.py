"""The scripts that produce the recordings. A script returns the reported entries, in one list per process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from handloop.picture.recording import Entry, gap
from handloop.picture.snapshot import snapshot
from handloop_learn.stage import DEPLOYMENTS, FOOS, Stage
from handloop_learn.waiting import until
from tools.recorded_runs.catalog import FOO
from tools.recorded_runs.child import Child
from tools.recorded_runs.program import Program, late_events

Parts = Sequence[Sequence[Entry]]
_BUSY: Final = "the server is currently unable to handle the request"
_TIMED_OUT: Final = "etcdserver: request timed out"
_CREATES: Final = 3
_FOOS_FIRST_SECONDS: Final = 0.3
_REQUEST_SECONDS: Final = 0.05
_NAME: Final = "example-foo"
_CACHED: Final = f"foos {FOO}"
_SLOW_SECONDS: Final = 1.0


def apply() -> Parts:
    """Start the controller, create a Foo and, when the controller is idle, make its Deployment available."""
    with Program() as program:
        program.stage.apply()
        program.rest()
        _become_available(program.stage)
        program.rest()
        return [program.entries]


def merge() -> Parts:
    """Change a Foo seven times while the only worker waits for the server's answer about another Foo."""
    with Program() as program:
        program.stage.apply()
        program.begin()
        _slow(program, "create", "deployments")
        program.stage.apply("slow-foo")
        until(lambda: program.told(8, "default/slow-foo"), "the worker")
        for replicas in range(2, 9):
            program.scale(replicas)
        program.rest()
        return [program.entries]


def in_flight() -> Parts:
    """Label the Foo, and make its Deployment available while the Foo's status is being written."""
    with Program() as program:
        program.stage.apply()
        program.begin()
        _slow(program, "update", "foos/status")
        _label(program.stage)
        until(lambda: len(program.told(9, FOO, found=True)) > 1, "the worker")
        _become_available(program.stage)
        program.rest()
        return [program.entries]


def missing_done() -> Parts:
    """Leave out one call of done(), show with another Foo that the worker is free, and then call done()."""
    with Program() as program:
        program.stage.apply()
        program.begin()
        program.faults.lose_done("foo", FOO)
        program.scale(2)
        until(lambda: any(queue["stuck"] for queue in program.last_state()["queues"]), "a key without done()")
        program.scale(3)
        program.stage.apply("other-foo")
        until(lambda: len(program.told(12, "default/other-foo")) > 1, "the other Foo")
        program.faults.catch_up_on_done()
        program.rest()
        return [program.entries]


def expired() -> Parts:
    """End the watch of Foos. Before it opens again, delete a Foo, and discard the server's history."""
    with Program() as program:
        faults = program.stage.sandbox.faults
        program.stage.apply()
        program.stage.apply("gone-foo")
        program.begin()
        _label(program.stage, "gone-foo")
        program.rest()
        refusal = faults.error(503, message=_BUSY, verbs=["watch", "list"], resources=["foos"])
        faults.drop_watches("cut", resources=["foos"], only_open=True)
        until(lambda: refusal.hits, "the broken watch")
        program.stage.send("DELETE", f"{FOOS}/gone-foo")
        faults.compact()
        refusal.clear()
        program.rest()
        return [program.entries]


def failures() -> Parts:
    """Answer three creates with 500."""
    with Program() as program:
        program.begin()
        program.stage.sandbox.faults.error(
            500, message=_TIMED_OUT, verbs=["create"], resources=["deployments"], count=3
        )
        program.stage.apply()
        program.rest()
        return [program.entries]


def conflict() -> Parts:
    """Delay the watch of Foos, change the Foo as another writer, and make its Deployment available."""
    with Program() as program:
        stage = program.stage
        stage.apply()
        program.begin()
        late = stage.sandbox.faults.delay_watches(resources=["foos"])
        program.outside(
            "Another client adds a label to the Foo, so the cache is stale now. Then the Deployment becomes "
            "available.",
            stale=[_CACHED],
        )
        _label(stage)
        _become_available(stage)
        until(lambda: len(program.told(11, FOO)) > 1, "two conflicts")
        late.clear()
        program.rest()
        return [program.entries]


def restart() -> Parts:
    """Kill the process before its first status write, which the server never answers."""
    with Stage(users=("first", "second"), lifelike=False) as stage:
        late_events(stage)
        faults = stage.sandbox.faults
        silence = faults.silence(verbs=["update"], resources=["foos/status"], count=1, executed=False)
        with Child(stage.sandbox.url, "first") as first:
            until(lambda: len(first.told(1)) > 1, "the lists")
            stage.apply()
            until(lambda: silence.hits and first.told(7, in_flight=True), "the write of the status")
        killed = gap(
            first.ended_at,
            "kill -9 ends the process. Its caches, its queue and its unfinished sync are lost. "
            "A new process starts with empty caches.",
        )
        # List Foos first. Otherwise a handler would receive a Deployment whose owner is not cached yet.
        faults.latency(_FOOS_FIRST_SECONDS, verbs=["list", "watch"], resources=["deployments"], count=1)
        with Child(stage.sandbox.url, "second") as second:
            until(lambda: second.told(10, "foos", code="200"), "the status")
            until(lambda: _rests(second, stage), "nothing to do")
        return [first.entries, [killed, {"state": snapshot(None, list)}], second.entries]


def lease() -> Parts:
    """Answer the leader only with errors, and change the Foo while no process leads."""
    with Stage(users=("ada", "bob"), lifelike=False) as stage, Child(stage.sandbox.url, "ada", "ada") as ada:
        late_events(stage)
        until(lambda: ada.told(10, "leases"), "a leader")
        with Child(stage.sandbox.url, "bob", "bob") as bob:
            stage.apply()
            until(lambda: ada.told(12) and _rests(ada, stage), "the sync")
            until(lambda: _rests(bob, stage), "full caches of the standby")
            stage.sandbox.faults.error(500, message=_TIMED_OUT, user="ada")
            until(lambda: ada.has_ended, "the end of the leader")
            stage.send("PATCH", f"{FOOS}/{_NAME}", {"spec": {"replicas": 2}})
            until(lambda: bob.told(10, "deployments", code="200"), "the new leader's write")
            until(lambda: _rests(bob, stage), "nothing to do")
        later = next(at for at, entry in enumerate(bob.entries) if entry.get("t", 0) > ada.ended_at)
        lost = gap(
            ada.ended_at,
            "ada could not renew the lease before its deadline, so it stopped its workers and then ended. "
            "From here on you see bob, the second replica. Its caches are full, and it waits for the lease.",
        )
        state = [entry for entry in bob.entries[:later] if "state" in entry][-1]
        return [ada.entries, [lost, state], bob.entries[later:]]


def storm() -> Parts:
    """Delete a Foo while its watch is delayed, first with the plain controller, then the production one."""
    plain, hardened = _deleted_foo(hardened=False), _deleted_foo(hardened=True)
    again = gap(
        max(entry["t"] for entry in plain if "t" in entry),
        "The same happens again, this time with the production controller. "
        "Before it creates a Deployment again, it asks the server whether the Foo still exists.",
    )
    return [plain, [again], hardened]


def _deleted_foo(*, hardened: bool) -> Sequence[Entry]:
    with Program(lifelike=True, hardened=hardened) as program:
        faults = program.stage.sandbox.faults
        program.stage.apply()
        until(lambda: program.status().get("availableReplicas"), "the pod")
        program.begin()
        late = faults.delay_watches(resources=["foos"])
        faults.latency(_REQUEST_SECONDS, verbs=["create"], resources=["deployments"])
        program.outside(
            "A client deletes the Foo, but the cache still has it. The garbage collector deletes the "
            "Deployment at once.",
            stale=[_CACHED],
        )
        program.stage.send("DELETE", f"{FOOS}/{_NAME}")
        if hardened:
            until(lambda: program.told(12, FOO), "the sync")
        else:
            until(lambda: len(program.told(10, "default/", code="201")) == _CREATES, "a storm")
        late.clear()
        program.rest(but_retries=hardened)
        return program.entries


def _rests(child: Child, stage: Stage) -> bool:
    """Return whether a child's last state is idle, and contains the server's newest versions."""
    state = child.entries[-1].get("state") if child.entries else None
    if not state or any(any(queue["counts"].values()) for queue in state["queues"]):
        return False
    cached = {version for informer in state["informers"] for _, version in informer["cached"]}
    stored = [obj for path in (FOOS, DEPLOYMENTS) for obj in stage.send("GET", path)["items"]]
    return cached == {obj["metadata"]["resourceVersion"] for obj in stored}


def _become_available(stage: Stage) -> None:
    """Write the Deployment's status, as the cluster's own controllers, which do not run here, would."""
    one = {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1}
    stage.send("PATCH", f"{DEPLOYMENTS}/{_NAME}/status", {"status": one})


def _slow(program: Program, verb: str, resource: str) -> None:
    """Delay the answer to the next request with a verb for a resource."""
    program.stage.sandbox.faults.latency(_SLOW_SECONDS, verbs=[verb], resources=[resource], count=1)


def _label(stage: Stage, name: str = _NAME) -> None:
    """Label a Foo, which does not require any action from the controller."""
    stage.send("PATCH", f"{FOOS}/{name}", {"metadata": {"labels": {"team": "blue"}}})


SCRIPTS: Final[Mapping[str, Callable[[], Parts]]] = {
    "apply": apply,
    "merge": merge,
    "in-flight": in_flight,
    "missing-done": missing_done,
    "expired": expired,
    "failures": failures,
    "conflict": conflict,
    "restart": restart,
    "lease": lease,
    "storm": storm,
}
