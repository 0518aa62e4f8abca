"""Chapter 8: the sync handler gets a name, looks at the present state, and writes the difference."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from handloop.controller.foo.controller import FooController
from handloop.controller.myapp.reconciler import reconcile
from handloop.walkthrough.child_program import killed_in_mid_sync
from handloop.walkthrough.hand_synced_foo import DECISIONS, HandSyncedFoo, Sync
from handloop.walkthrough.program import run_alone
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.source import cut
from handloop.walkthrough.stage import DEPLOYMENTS, FOOS, Stage


class End(NamedTuple):
    """Each sync; the sync after many events, and the replicas it left; the UIDs before and after a kill."""

    syncs: list[Sync]
    after_many: Sync
    replicas: int
    uids: tuple[str, str]


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    screen.tell("A worker calls one function, with a name. Both controllers here, of Foo and MyApp, have it:")
    screen.code(cut(FooController.sync_handler, "def sync_handler"))
    screen.code(cut(reconcile, "def reconcile"))
    screen.tell("We call Foo's in five cases. POST and PATCH write the Deployment, PUT the Foo's status.")
    with Stage(lifelike=False) as stage, HandSyncedFoo(stage) as foo:
        change, child, five = stage.send, f"{DEPLOYMENTS}/foo", {"spec": {"replicas": 5}}
        situations: tuple[tuple[str, str, Callable[[], object]], ...] = (
            ("a Foo is new", "foo", lambda: stage.apply("foo")),
            ("nothing has changed", "foo", lambda: None),
            ("somebody scaled its Deployment", "foo", lambda: change("PATCH", child, five)),
            ("another Foo names that Deployment", "other", lambda: stage.apply("other", deployment="foo")),
            ("that other Foo is deleted", "other", lambda: change("DELETE", f"{FOOS}/other")),
        )
        syncs = []
        for number, (what, name, happens) in enumerate(situations, 1):
            happens()
            syncs.append(foo.sync(name, DECISIONS))
            screen.line(f"{number} = {what}: {syncs[-1].error or syncs[-1].asked}")
        rows = [
            (place, code, *("*" * (place in sync.lines) for sync in syncs))
            for place, code in DECISIONS.items()
        ]
        screen.table(("the sync executed, in case", "", *range(1, len(syncs) + 1)), rows)
        screen.ask("The Foo is scaled to 2, 3, 4, and its Deployment deleted. What does one sync send?")
        for replicas in (2, 3, 4):
            change("PATCH", f"{FOOS}/foo", {"spec": {"replicas": replicas}})
        change("DELETE", child)
        after_many = foo.sync("foo")
        replicas = change("GET", child)["spec"]["replicas"]
    screen.show(requests=after_many.asked, replicas_of_the_new_deployment=replicas)
    screen.reveal(
        f"{after_many.requests['POST']} create, of {replicas} replicas. A sync acts on the present "
        "state (the level), not on each change (the edges)."
    )
    screen.tell(
        "The GET asks whether the Foo still exists, because its Deployment has disappeared. No PUT: the "
        "status is as before."
    )
    screen.break_it("kill -9 ends the process after the create, before the write of the status.")
    uids = killed_in_mid_sync(screen)
    screen.tell("The second process knew nothing of the first. It looked, and wrote what was missing.")
    return End(syncs, after_many, replicas, uids)


if __name__ == "__main__":
    run_alone(__file__)
