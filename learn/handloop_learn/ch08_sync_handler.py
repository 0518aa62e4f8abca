"""Chapter 8: the sync handler receives a name, reads the current state, and writes the difference."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from handloop.controller.foo.controller import FooController
from handloop.informers.keys import ObjectName
from handloop.picture.steps import PACKAGE, Place
from handloop_learn.by_hand import ByHand
from handloop_learn.line_trace import LineTrace
from handloop_learn.prediction import NO
from handloop_learn.screen import Screen
from handloop_learn.source import cut
from handloop_learn.stage import DEPLOYMENTS, FOOS, Stage
from handloop_learn.waiting import until
from handloop_sandbox.server import Sandbox

CHILD: Final = f"{DEPLOYMENTS}/foo"
BODY: Final = cut(FooController.sync_handler, "foo = self._foos_lister.get", "SUCCESS_SYNCED")
"""The source lines of a sync."""
RECAP: Final = (
    "A sync receives a name, never an event. It reads the current state, and writes the difference.",
    "So it does not matter which events arrived, how many, or whether the process was running at the time.",
    "A sync never changes another owner's Deployment.",
)


class End(NamedTuple):
    """
    The chapter's results.

    syncs = one sync for each of five cases; after_many = the sync after several changes; replicas = the
    number of replicas of its new Deployment; uids = the Deployment's UID before and after a process was
    killed.
    """

    syncs: list[Sync]
    after_many: Sync
    replicas: int
    uids: tuple[str, str]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    screen.tell(
        "A worker calls one function with an object's name. In the plain Foo controller this is "
        "sync_handler; in this repository's other controller, for MyApps, it is reconcile. We call "
        "sync_handler in five cases. POST and PATCH write the Deployment, and PUT writes the status."
    )
    with Stage(lifelike=False) as stage, ByHand(stage, FooController) as hand:
        syncs, change = _five_cases(screen, stage, hand), stage.send
        screen.ask(
            "Before the next sync, the Foo is scaled to 2, 3 and 4, and its Deployment is deleted. "
            "How many POSTs and PATCHes does that sync send?"
        )
        for replicas in (2, 3, 4):
            change("PATCH", f"{FOOS}/foo", {"spec": {"replicas": replicas}})
        change("DELETE", CHILD)
        after_many = sync_of(hand, "foo")
        replicas = change("GET", CHILD)["spec"]["replicas"]
    screen.show(requests=after_many.asked, replicas_of_the_new_deployment=replicas)
    writes = sum(after_many.requests.get(method, 0) for method in ("POST", "PATCH"))
    screen.reveal(
        f"{writes}: one POST, with {replicas} replicas. A sync acts on the current state (the level), not "
        "on each change (the edges).",
        writes,
    )
    screen.tell(
        "Every sync writes the status, even if it has not changed. Chapter 9 shows why the syncs stop "
        "anyway. The production controller writes only a changed status. Before it creates a Deployment "
        "again, it also asks the server whether the Foo still exists (chapter 11)."
    )
    uids = killed_in_mid_sync(screen)
    return End(syncs, after_many, replicas, uids)


def _five_cases(screen: Screen, stage: Stage, hand: ByHand) -> list[Sync]:
    """Sync in five situations, and show which lines of the source each sync executed."""
    change, five = stage.send, {"spec": {"replicas": 5}}
    situations: tuple[tuple[str, str, Callable[[], object]], ...] = (
        ("a Foo is new", "foo", lambda: stage.apply("foo")),
        ("nothing has changed", "foo", lambda: None),
        ("somebody scaled its Deployment", "foo", lambda: change("PATCH", CHILD, five)),
        ("another Foo names the same Deployment", "other", lambda: stage.apply("other", deployment="foo")),
        ("the other Foo is deleted", "other", lambda: change("DELETE", f"{FOOS}/other")),
    )
    syncs = []
    for number, (what, name, happens) in enumerate(situations, 1):
        happens()
        syncs.append(sync_of(hand, name))
        screen.line(f"{number} = {what}: {syncs[-1].error or syncs[-1].asked}")
    screen.tell("This is the whole sync. Each line is marked with the cases in which it ran.")
    marks = {
        line: "".join(str(number) for number, sync in enumerate(syncs, 1) if line in sync.lines)
        for line in range(BODY.line, BODY.line + len(BODY.lines))
    }
    screen.code(BODY, marks)
    return syncs


def killed_in_mid_sync(screen: Screen) -> tuple[str, str]:
    """
    Kill a process in the middle of a sync, and start another one. Returns: the Deployment's UIDs before and
    after.
    """
    screen.break_it(
        "`python -m controller` creates a Deployment, but kill -9 stops it before it writes the status. Then "
        "another process starts.",
        "Does the second process create a second Deployment?",
    )
    uids = _two_processes(screen)
    screen.reveal(
        "No. The second process found the Deployment in its cache, and wrote only the missing status.",
        NO,
    )
    return uids


class Sync(NamedTuple):
    """
    The effects of one call of sync_handler.

    lines = the lines of BODY that ran; requests = the number of requests by method; events = the Events that
    it recorded; error = the error that it raised, or "".
    """

    lines: set[int]
    requests: dict[str, int]
    events: list[str]
    error: str

    @property
    def asked(self) -> str:
        """Return the requests in words."""
        asked = ", ".join(f"{count} {method}" for method, count in sorted(self.requests.items()))
        return asked or "no request"


def sync_of(hand: ByHand, name: str) -> Sync:
    """Wait until the caches have caught up with the server, then call sync_handler once."""
    hand.see()
    before, error = Counter(hand.stage.counts), ""
    with LineTrace(Place(BODY.file, BODY.line + at) for at in range(len(BODY.lines))) as trace:
        try:
            hand.controller.sync_handler(ObjectName("default", name))
        except Exception as raised:  # noqa: BLE001 - whatever it raises, the worker would retry
            error = f"{type(raised).__name__}: {raised}"
    lines = {place.line for place in trace.hits}
    return Sync(lines, dict(hand.stage.counts - before), hand.recorder.take(), error)


@contextmanager
def child_program(sandbox: Sandbox) -> Iterator[subprocess.Popen[bytes]]:
    """Run the Foo controller on a sandbox until the context ends, and then kill it."""
    arguments = ["--controllers=foo", "--metrics-bind-address=0", "--health-probe-bind-address=0"]
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = sandbox.write_kubeconfig(Path(folder) / "kubeconfig")
        program = subprocess.Popen(  # noqa: S603 - this interpreter, with words of our own
            [sys.executable, "-m", "handloop", f"--kubeconfig={kubeconfig}", "--preflight=off", *arguments],
            env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield program
        finally:
            program.kill()
            program.wait()


def _two_processes(screen: Screen) -> tuple[str, str]:
    """
    Kill the program after it has created a Deployment but before it writes the status. Then run another one.

    Returns: the Deployment's UIDs before and after. Blocks: until the status is written.
    """
    uids = []
    with Stage() as stage:
        stage.sandbox.faults.silence(verbs=["patch"], resources=["foos/status"], count=1, executed=False)
        stage.apply()
        for wanted in (None, {"availableReplicas": 1}):
            with child_program(stage.sandbox) as program:
                until(lambda: stage.send("GET", DEPLOYMENTS)["items"], "the Deployment")
                until(lambda wanted=wanted: _status(stage) == wanted, "the status")  # type: ignore[misc]
                (deployment,) = stage.send("GET", DEPLOYMENTS)["items"]
                uids.append(deployment["metadata"]["uid"])
                screen.show(process=program.pid, status=_status(stage), deployment_uid=uids[-1])
            # if the program is killed before its first status write, the next one inherits the fault
            stage.sandbox.faults.clear()
    return uids[0], uids[1]


def _status(stage: Stage) -> dict[str, int] | None:
    status: dict[str, int] | None = stage.send("GET", f"{FOOS}/example-foo").get("status")
    return status
