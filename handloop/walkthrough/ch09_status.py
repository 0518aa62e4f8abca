"""Chapter 9: a controller's writes come back to it as events. That ends, as it writes only differences."""

from __future__ import annotations

from typing import NamedTuple

from handloop.controller.foo.controller import FooController
from handloop.controller.foo.runnable import FooRunnable, add_foo
from handloop.controller.myapp.reconciler import add_myapp
from handloop.walkthrough import status_writes as story
from handloop.walkthrough.program import run_alone
from handloop.walkthrough.screen import Screen
from handloop.walkthrough.source import cut
from handloop.walkthrough.stage import Stage
from handloop.walkthrough.two_writers import two_writers


class End(NamedTuple):
    """Versions of a MyApp; ways to write; syncs and writes by a touch; refusals; an Event's count; loops."""

    versions: list[tuple[int, int, int]]
    ways: list[tuple[str, str, str]]
    touched: tuple[int, int]
    refused: int
    event_count: int
    loops: story.Loops


def chapter(screen: Screen) -> End:
    """Tell the chapter."""
    with Stage() as stage:
        screen.tell("A MyApp is created, then scaled; its controller writes the status. A watch shows:")
        with stage.running(add_myapp):
            rows = story.versions(stage)
        screen.table(("resourceVersion", "generation", "status.observedGeneration"), rows)
        screen.tell(
            "Each write raises the version, only a new spec raises the generation. The status says which "
            "generation its writer had seen: if the numbers differ, it speaks of an older spec."
        )
        screen.ask("You read a Service, another writer changes it, you update it. What of that change?")
        ways = two_writers(stage)
        screen.table(("we add a label by", "answer", "the other's sessionAffinity"), ways)
        screen.reveal(
            "An update sends all that we know. With a version it is refused, without one it erases. An apply "
            "sends only our fields, and the server notes whose they are: so a MyApp's children are written."
        )
        runnables: list[FooRunnable] = []
        with stage.running(lambda manager: runnables.append(add_foo(manager, workers=1))):
            touched, refused, count = _foo(screen, stage, controller := story.started(stage, runnables[0]))
            return End(
                rows, ways, touched, refused, count, story.without_comparison(screen, stage, controller)
            )


def _foo(screen: Screen, stage: Stage, controller: FooController) -> tuple[tuple[int, int], int, int]:
    screen.ask("A Foo's controller writes its status. The write wakes it again. Why does that ever end?")
    before, writes = controller.outcomes.statistics(), stage.counts["PUT"]
    story.touch(stage)
    story.settle(stage, controller)
    touched = controller.outcomes.statistics().synced - before.synced, stage.counts["PUT"] - writes
    screen.show(syncs_after_an_event=touched[0], status_writes=touched[1])
    screen.reveal("A sync that finds no difference writes nothing. Without a write, no event comes:")
    screen.code(cut(FooController.update_foo_status, "status == foo.status", "return False"))
    screen.tell("Now the Foo is scaled to 2, then to 3; the server refuses one status write with 409.")
    stage.sandbox.faults.conflict(verbs=["update"], resources=["foos/status"], count=1)
    story.scale(stage, 2)
    story.scale(stage, 3)
    refused = controller.outcomes.statistics().failed - before.failed
    count = story.event_count(stage, at_least=2)
    screen.show(syncs_that_failed=refused, available=story.available(stage), Events=f"1, count {count}")
    screen.tell("409: that write was based on an old Foo; the retry read the new one. Equal Events are one.")
    return touched, refused, count


if __name__ == "__main__":
    run_alone(__file__)
