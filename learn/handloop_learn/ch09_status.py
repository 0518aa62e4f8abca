"""Chapter 9: two writers change one object, and a controller's own writes trigger further syncs."""

from __future__ import annotations

import time
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from handloop.apis.apps_v1 import Deployment
from handloop.client.resource_client import Client
from handloop.controller.foo.production import ProductionFooController
from handloop.controller.foo.runnable import PlainFooRunnable, add_plain_foo
from handloop.controller.foo.types import Foo, FooStatus
from handloop.controller.myapp.reconciler import add_myapp
from handloop.controller.myapp.types import MyApp
from handloop.informers.factory import SharedInformerFactory
from handloop_learn.prediction import NO, YES, Words
from handloop_learn.screen import Screen
from handloop_learn.source import cut
from handloop_learn.stage import FOOS, Stage, started
from handloop_learn.sync_log import SyncLog
from handloop_learn.two_writers import NAME, OF_FOO, OF_SERVICE, answer_to, labelled, ways_to_write
from handloop_learn.waiting import until

ENOUGH_WRITES: Final = 30
FOO: Final = f"{FOOS}/example-foo"
EVENTS: Final = "/api/v1/namespaces/default/events"
MYAPPS: Final = MyApp.resource.path(namespace="default")
MYAPP: Final[dict[str, Any]] = {
    "apiVersion": "example.com/v1",
    "kind": "MyApp",
    "metadata": {"name": "example-app"},
    "spec": {"image": "nginx:1.27"},
}
RECAP: Final = (
    "Send the version that you read. Then no write is lost, and a 409 means that you must read again.",
    "Or use apply: you send only your own fields, and the server records who owns each field.",
    (
        "A controller's own writes trigger syncs. They stop because a write that changes nothing causes no "
        "event."
    ),
)


class End(NamedTuple):
    """
    The chapter's results.

    versions = a MyApp's versions; ways = the server's response to each way of writing an object; retries =
    its response to each retry after a 409; touched = the syncs after a change of an annotation; loop = the
    endless syncs; error = a failed sync's error; event_count = the count of the Event `Synced`.
    """

    versions: list[tuple[int, int, int]]
    ways: list[tuple[str, str, str, str]]
    retries: list[tuple[str, str]]
    touched: Syncs
    loop: Loop
    error: str
    event_count: int


class Syncs(NamedTuple):
    """How many syncs succeeded, and how many times they wrote the status."""

    syncs: int
    writes: int


class Loop(NamedTuple):
    """The number of status writes, and how many seconds they took."""

    writes: int
    seconds: float


def chapter(screen: Screen) -> End:
    """Run the chapter."""
    with Stage() as stage:
        screen.tell(
            "A MyApp is created and then scaled. Its controller writes the status. A watch shows these "
            "versions:"
        )
        with stage.running(add_myapp):
            rows = versions(stage)
        screen.table(("resourceVersion", "generation", "status.observedGeneration"), rows)
        # apiextensions-apiserver: pkg/registry/customresource/strategy.go, PrepareForUpdate; kubernetes:
        # pkg/registry/apps/deployment/strategy.go, PrepareForUpdate
        screen.tell(
            "Each write raises the resourceVersion. A custom resource's generation counts the changes "
            "outside metadata and status; a Deployment's also counts changes to annotations. "
            "observedGeneration is the generation that the status describes. If the two differ, the status "
            "describes an older spec. -1 means that no generation has been observed yet."
        )
        ways = _two_writers(screen, stage)
        retries = _after_a_conflict(screen, stage)
        runnables: list[PlainFooRunnable] = []
        with SyncLog() as log, stage.running(lambda each: runnables.append(add_plain_foo(each, workers=1))):
            stage.apply()
            until(lambda: available(stage) == 1, "the status")
            log.settle()
            touched = _touched(screen, stage, log)
            loop = _looping(screen, stage, runnables[0])
            error, count = _refused(screen, stage, log)
    return End(rows, ways, retries, touched, loop, error, count)


def _two_writers(screen: Screen, stage: Stage) -> list[tuple[str, str, str, str]]:
    screen.ask(
        "You read a Service, and then another writer changes it. What must your update contain so that the "
        "other writer's change is not lost?"
    )
    ways = [("Service", *way) for way in ways_to_write(stage, OF_SERVICE)]
    ways += [("Foo", *way) for way in ways_to_write(stage, OF_FOO)]
    screen.table(("kind", "we add a label by", "response", "the other writer's change"), ways)
    screen.reveal(
        "The version that you read. With it, the server refuses the update. Without it, the update "
        "overwrites the other writer's change. (For a custom resource such as a Foo, the server refuses an "
        "update without a version.) An apply sends only our fields. The MyApp controller writes its "
        "children this way.",
        Words(("version", "resourceversion", "versions"), ("generation", "uid", "name", "nothing")),
    )
    return ways


def _after_a_conflict(screen: Screen, stage: Stage) -> list[tuple[str, str]]:
    screen.break_it("after a 409 for a Foo, we send the same update again.", "Is it accepted this time?")
    foos = stage.client.resource(Foo)
    stage.apply(NAME)
    factory = SharedInformerFactory(stage.client)
    lister = factory.lister_for(Foo)
    with started(factory):
        read = foos.get(NAME, namespace="default")
        changed = stage.send("PATCH", f"{FOOS}/{NAME}", {"spec": {"replicas": 5}})
        version = changed["metadata"]["resourceVersion"]

        def cached() -> Foo:
            return next(foo for foo in lister if foo.metadata.name == NAME)

        rows = [("the Foo that we read before", answer_to(lambda: labelled(stage, read)))]
        until(lambda: cached().metadata.resource_version == version, "the change in the cache")
        rows.append(
            ("the cached Foo, once the cache has caught up", answer_to(lambda: labelled(stage, cached())))
        )
        fresh = foos.get(NAME, namespace="default")
        rows.append(("a Foo read from the server for the retry", answer_to(lambda: labelled(stage, fresh))))
    foos.delete(NAME, namespace="default")
    screen.table(("the retry is based on", "response"), rows)
    screen.reveal(
        "No, and it never will be, because its version stays old. A controller's retry reads the cache "
        "again. That costs no request, and the back-off gives the cache time to catch up. A read from the "
        "server is up to date at once, but costs a request.",
        NO,
    )
    return rows


def _touched(screen: Screen, stage: Stage, log: SyncLog) -> Syncs:
    screen.ask(
        "Like sample-controller, the plain Foo controller writes the status in every sync, and a write can "
        "trigger another sync. We change an annotation. Do the syncs ever end?"
    )
    before, writes = log.succeeded, stage.counts["PUT"]
    touch(stage)
    log.settle()
    touched = Syncs(log.succeeded - before, stage.counts["PUT"] - writes)
    screen.show(syncs_after_the_change=touched.syncs, status_writes=touched.writes)
    screen.reveal(
        "Yes. A write that changes nothing leaves the version unchanged, and causes no event. The "
        "production controller compares first, which saves the request:",
        YES,
    )
    screen.code(cut(ProductionFooController._sync_status, "status == foo.status", "return False"))
    return touched


def _looping(screen: Screen, stage: Stage, runnable: PlainFooRunnable) -> Loop:
    screen.break_it("each sync writes a new status, such as a counter or the time.", "Do the syncs end now?")
    controller, status = runnable.controller, CountingStatus(stage.client)
    assert controller is not None
    own = controller.update_foo_status
    controller.update_foo_status = status  # type: ignore[method-assign] # on purpose: the bug
    try:
        began = time.monotonic()
        touch(stage)
        until(lambda: status.writes >= ENOUGH_WRITES, "the writes")
        loop = Loop(status.writes, time.monotonic() - began)
    finally:
        controller.update_foo_status = own  # type: ignore[method-assign]
    screen.show(status_writes=loop.writes, per_second=round(loop.writes / loop.seconds))
    screen.reveal("No. Each write causes another sync. A single Foo keeps a worker and the server busy.", NO)
    return loop


def _refused(screen: Screen, stage: Stage, log: SyncLog) -> tuple[str, int]:
    screen.tell("Now the bug is fixed. The Foo is scaled to 2, then to 3, and a status write gets a 409.")
    log.settle()
    log.take_errors()
    stage.sandbox.faults.conflict(verbs=["update"], resources=["foos/status"], count=1)
    for replicas in (2, 3):
        stage.send("PATCH", FOO, {"spec": {"replicas": replicas}})
        until(lambda replicas=replicas: available(stage) == replicas, f"{replicas} replicas")  # type: ignore[misc]
    error = log.once_failed()
    count = event_count(stage, at_least=2)
    screen.show(a_failed_sync=error, failed_syncs=len(log.errors), available=available(stage))
    screen.show(Events=f"1, count {count}")
    screen.tell(
        "The failed sync was retried with the new Foo. Even without an injected fault, a sync gets a "
        "409 if it runs before the watch delivers the last write, because the cache still has the old Foo. "
        "Identical Events become one Event with a count. A burst of Events of one type about a Foo is "
        "limited to 25."
    )
    return error, count


class CountingStatus:
    """
    A replacement for update_foo_status that writes a new number each time.

    State: writes counts the writes so far. Threads: the only worker changes that count, and the chapter's
    thread reads it.
    """

    def __init__(self, client: Client) -> None:
        self.writes = 0
        self._foos = client.resource(Foo)

    def __call__(self, foo: Foo, deployment: Deployment) -> None:
        """Write the status. Raises: the same errors as update_status."""
        del deployment
        self._foos.update_status(replace(foo, status=FooStatus(available_replicas=self.writes)))
        self.writes += 1


def available(stage: Stage) -> int | None:
    """Return the available replicas in the Foo's status, or None if it has no status."""
    replicas: int | None = stage.send("GET", FOO).get("status", {}).get("availableReplicas")
    return replicas


def touch(stage: Stage) -> None:
    """Change an annotation of the Foo that its controller ignores."""
    stage.send("PATCH", FOO, {"metadata": {"annotations": {"touched": str(time.monotonic())}}})


def event_count(stage: Stage, *, at_least: int) -> int:
    """Return the count of the Foo's Event `Synced`. Blocks: until it has reached at_least."""

    def counts() -> list[int]:
        return [event["count"] for event in stage.send("GET", EVENTS)["items"] if event["reason"] == "Synced"]

    until(lambda: sum(counts()) >= at_least, "the Events")
    (count,) = counts()
    return count


def versions(stage: Stage) -> list[tuple[int, int, int]]:
    """
    Create a MyApp, and scale it once its controller has observed it.

    Returns: the resource version, generation and observed generation (-1 = none) of each state in a watch.
    Blocks: until the controller has observed the second generation.
    """
    rows: list[tuple[int, int, int]] = []
    created = stage.send("POST", MYAPPS, MYAPP)
    before = str(int(created["metadata"]["resourceVersion"]) - 1)
    with stage.watch(MYAPPS, before) as events:
        for event in events:
            metadata, status = event["object"]["metadata"], event["object"].get("status", {})
            version, seen = int(metadata["resourceVersion"]), status.get("observedGeneration", 0)
            rows.append((version, metadata["generation"], seen))
            if rows[-1][1:] == (1, 1) and rows[-2][1:] != (1, 1):
                stage.send("PATCH", f"{MYAPPS}/example-app", {"spec": {"replicas": 2}})
            if rows[-1][1:] == (2, 2):
                break
    return rows
