"""Chapter 9: a controller's writes come back to it as events. That ends, as it writes only differences."""

from __future__ import annotations

from typing import NamedTuple

from handloop.controller.foo.controller import FooController
from handloop.controller.foo.runnable import FooRunnable, add_foo
from handloop.controller.myapp.reconciler import add_myapp
from handloop.walkthrough.program import run_alone
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.source import cut
from handloop.walkthrough.stage import Stage
from handloop.walkthrough.status_writes import Loop, available, careless, event_count, scale, touch, versions
from handloop.walkthrough.waiting import until


class End(NamedTuple):
    """Syncs and writes by a touch; refused writes; the count of an Event; loops; versions of a MyApp."""

    touched: tuple[int, int]
    refused: int
    event_count: int
    same: Loop
    other: Loop
    versions: list[tuple[int, int, int]]


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    with Stage() as stage:
        screen.tell("A MyApp is created, then scaled; its controller writes the status. A watch shows:")
        with stage.running(add_myapp):
            rows = versions(stage)
        screen.table(("resourceVersion", "generation", "status.observedGeneration"), rows)
        screen.tell(
            "Each write raises the version, only a new spec raises the generation. The status says which "
            "generation its writer had seen: if the numbers differ, it speaks of an older spec."
        )
        runnables: list[FooRunnable] = []
        with stage.running(lambda manager: runnables.append(add_foo(manager, workers=1))):
            return _foo(screen, stage, runnables[0], rows)


def _foo(screen: Screen, stage: Stage, runnable: FooRunnable, rows: list[tuple[int, int, int]]) -> End:
    stage.apply()
    until(lambda: available(stage) == 1, "the status")
    controller = runnable.controller
    assert controller is not None
    screen.ask("A Foo's controller has written its status. The write wakes it again. Why does that ever end?")
    syncs, writes = controller.outcomes.statistics().synced, stage.counts["PUT"]
    touch(stage)
    until(lambda: controller.outcomes.statistics().synced > syncs, "a sync")
    touched = controller.outcomes.statistics().synced - syncs, stage.counts["PUT"] - writes
    screen.show(syncs_after_an_event=touched[0], status_writes=touched[1])
    screen.reveal("A sync that finds no difference writes nothing. Without a write, no event comes:")
    screen.code(cut(FooController.update_foo_status, "status == foo.status", "return False"))
    failed = controller.outcomes.statistics().failed
    stage.sandbox.faults.conflict(verbs=["update"], resources=["foos/status"], count=1)
    scale(stage, 2)
    scale(stage, 3)
    refused, count = controller.outcomes.statistics().failed - failed, event_count(stage, at_least=2)
    screen.show(syncs_that_failed=refused, available=available(stage), Events=f"1 object, count {count}")
    screen.tell("409 Conflict: the write was based on an old Foo. A retry repaired it. Equal Events are one.")
    screen.break_it("leave the comparison out. Each sync writes the status, which is the same each time.")
    same = careless(stage, controller, count=False)
    screen.show(status_writes=same.writes)
    screen.tell("No loop: the server saw that nothing was new, kept the version, and sent no event.")
    screen.break_it("each sync writes a status that is new, such as a counter, or the time.")
    other = careless(stage, controller, count=True)
    screen.show(status_writes=other.writes, per_second=round(other.writes / other.seconds))
    screen.tell("Now each write wakes the next sync. One Foo keeps a worker and the server busy for ever.")
    return End(touched, refused, count, same, other, rows)


if __name__ == "__main__":
    run_alone(__file__)
