"""Chapter 0: one Foo goes through the twelve steps of a controller, and then its Deployment is deleted."""

from __future__ import annotations

from functools import partial
from typing import Any, Final, NamedTuple

from handloop.controller.foo.runnable import add_plain_foo
from handloop.picture.steps import steps
from handloop_learn.line_trace import LineTrace
from handloop_learn.prediction import YES, Words
from handloop_learn.screen import Screen
from handloop_learn.stage import DEPLOYMENTS, FOOS, SAMPLE, Stage
from handloop_learn.sync_log import SyncLog
from handloop_learn.waiting import until

RECAP: Final = (
    (
        "A controller is a client. It watches objects, compares what exists with what is wanted, and writes "
        "the difference."
    ),
    "The steps form a loop: a controller's own writes come back to it as watch events.",
    "A failed sync is retried: the name returns to the queue, and the next sync reads the current state.",
)


class End(NamedTuple):
    """
    The chapter's results.

    creator = the Deployment's field manager; first_uid, second_uid = the Deployment's UIDs before and after
    its deletion; before, after = the numbers of the steps that ran before and after the deletion;
    errors = the errors of the syncs after the deletion.
    """

    creator: str
    first_uid: str
    second_uid: str
    before: set[int]
    after: set[int]
    errors: list[str]


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    screen.tell(
        "This process runs a small API server, called the sandbox, and the plain controller, which is "
        "sample-controller in Python. Its objects are Foos. A Foo asks for one Deployment with a given name "
        "and number of replicas. You apply a Foo with this spec:"
    )
    screen.show(**SAMPLE["spec"])
    screen.ask("Who creates the Deployment: the server, kubectl, a controller, or something else?")
    watched, add = LineTrace(step.place for step in steps()), partial(add_plain_foo, workers=2)
    with SyncLog() as log, watched as trace, Stage() as stage, stage.running(add):
        screen.show(applied_Foo=stage.apply()["metadata"]["name"])
        first = _available(stage, screen, "")
        owners = [entry for entry in first["metadata"]["managedFields"] if "f:spec" in entry["fieldsV1"]]
        creator = owners[0]["manager"]
        screen.reveal(
            f"{creator}, which is our controller. It is a client like any other. The server only stores "
            "objects.",
            Words(("controller", creator), ("server", "kubectl", "api", "scheduler", "kubelet", "i", "you")),
        )
        screen.tell(
            "A controller works in twelve steps. The table shows the line of code for each step; * means "
            "that the line has run."
        )
        log.settle()
        before = _strip(screen, trace)
        log.take_errors()
        screen.break_it(
            "we delete the Deployment. The first attempt to create a new one fails with a 500.",
            "Does the Deployment come back?",
        )
        stage.sandbox.faults.error(500, verbs=["create"], resources=["deployments"], count=1)
        stage.send("DELETE", f"{DEPLOYMENTS}/example-foo")
        last = _available(stage, screen, first["metadata"]["uid"])
        log.settle()
        after, errors = {step.number for step in steps() if trace.hits[step.place]}, log.take_errors()
    screen.show(steps_that_ran_again=", ".join(map(str, sorted(after))))
    screen.show(uid_before=first["metadata"]["uid"], uid_after=last["metadata"]["uid"])
    screen.show(**{f"failed sync {number}": error for number, error in enumerate(errors, 1)})
    screen.reveal("Yes, as a new object. After the failure, step (11) queued the Foo's name again.", YES)
    screen.tell(
        "You may also see a Conflict. It happens if a worker is faster than the watch: the cached Foo does "
        "not yet include the controller's previous write. The next sync reads the newer Foo."
    )
    return End(creator, first["metadata"]["uid"], last["metadata"]["uid"], before, after, errors)


def _available(stage: Stage, screen: Screen, old_uid: str) -> dict[str, Any]:
    """
    Wait until the Deployment has a UID other than old_uid, and the Foo's status reports its replicas.

    Returns: the Deployment.
    """
    path = f"{DEPLOYMENTS}/example-foo"
    until(lambda: stage.send("GET", path)["metadata"].get("uid", old_uid) != old_uid, "the Deployment")
    seen = -1
    while seen < SAMPLE["spec"]["replicas"] or not stage.send("GET", path)["status"].get("availableReplicas"):
        now = stage.send("GET", f"{FOOS}/example-foo").get("status", {}).get("availableReplicas", 0)
        if now != seen:
            screen.show(available_replicas=now)
        seen = now
    return stage.send("GET", path)


def _strip(screen: Screen, trace: LineTrace) -> set[int]:
    hits = trace.take()
    rows = [
        (
            "*" if hits[step.place] else "",
            f"({step.number}) {step.words}",
            step.place,
            trace.threads.get(step.place, ""),
        )
        for step in steps()
    ]
    screen.table(("", "step", "line", "first thread"), rows)
    return {step.number for step in steps() if hits[step.place]}
